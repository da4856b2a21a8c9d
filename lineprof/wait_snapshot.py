"""From the core's raw waits to a profile's values."""

from __future__ import annotations

from lineprof.own_records import PARTS, OwnTime
from lineprof.records import UNKNOWN_THREAD
from lineprof.wait_records import CAUSES, OTHER, READY, Wait

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from lineprof.records import FunctionStats, Key

    # serial of the code, line, the core's thread, index in CAUSES, ns
    RawWait = tuple[int, int, int, int, int]
    Line = tuple[Key, int]
    Place = tuple[Key, int, int]  # with the index of a thread

_UNSEEN = len(CAUSES)  # the core's number: blocked while nobody looked
_SUBSTANTIAL = 0.1  # of the time of all lines


def waits_of(
    rows: Iterable[RawWait],
    keys: Mapping[int, Key],
    place_of: Callable[[int], int],
    functions: Iterable[FunctionStats],
) -> tuple[Wait, ...]:
    """Return the waits of the lines of `functions`, from ``Tracer.waits``.

    `keys` has the function of each of the core's code objects; waits of others
    are left out. `place_of` gives a thread's index in the profile. What a line
    waited while nobody looked is taken to be as what was seen of it. Waits are
    never longer than the line's time.
    """
    most = {
        (function.key, cell.line, cell.thread): cell.time_ns
        for function in functions
        for cell in function.cells
    }
    found: dict[Place, list[int]] = {}
    for serial, line, thread, cause, ns in rows:
        if serial in keys and cause <= _UNSEEN:
            place = (keys[serial], line, place_of(thread))
            found.setdefault(place, [0] * (_UNSEEN + 1))[cause] += ns
    seen = _seen(found)
    return tuple(
        Wait(function=key, line=line, thread=thread, cause=cause, ns=ns)
        for (key, line, thread), times in found.items()
        for cause, ns in _capped(
            _named(times, seen[key, line]), most.get((key, line, thread), 0)
        )
    )


def own_times_of(
    rows: Iterable[RawWait],
    keys: Mapping[int, Key],
    place_of: Callable[[int], int],
) -> tuple[OwnTime, ...]:
    """Return what lines were themselves, from the same rows; one if there is none."""
    first = 1 + _UNSEEN
    found: dict[tuple[Key, int, int, str], int] = {}
    for serial, line, thread, number, ns in rows:
        if serial in keys and number >= first:
            part = PARTS[number - first]
            place = (keys[serial], line, place_of(thread), part)
            found[place] = found.get(place, 0) + ns
    for key in () if found else keys.values():
        unknown = OwnTime(
            function=key, line=key[1], thread=UNKNOWN_THREAD, part=PARTS[0], ns=0
        )
        return (unknown,)
    return tuple(
        OwnTime(function=key, line=line, thread=thread, part=part, ns=ns)
        for (key, line, thread, part), ns in found.items()
    )


def warnings_of(
    waits: Iterable[Wait], functions: Iterable[FunctionStats], *, blind: bool
) -> list[str]:
    """Return a sentence where the system hides what threads waited for.

    None where they hardly waited.
    """
    unknown = sum(wait.ns for wait in waits if wait.cause == OTHER) if blind else 0
    all_ns = sum(cell.time_ns for function in functions for cell in function.cells)
    if not unknown or unknown < all_ns * _SUBSTANTIAL:
        return []
    why = "this system does not tell (/proc/self/task/*/syscall)"
    return [f"what lines waited for is not known: {why}"]


def _seen(found: Mapping[Place, Sequence[int]]) -> dict[Line, list[int]]:
    """Return what was seen of each line, all threads together; none is ready."""
    sums: dict[Line, list[int]] = {}
    for (key, line, _), times in found.items():
        total = sums.setdefault((key, line), [0] * _UNSEEN)
        for cause, ns in enumerate(times[:_UNSEEN]):
            if CAUSES[cause] != READY:
                total[cause] += ns
    return sums


def _named(times: Sequence[int], seen: Sequence[int]) -> list[int]:
    """Return the times (ns) by cause, what was unseen split as `seen` is."""
    named, unseen, all_seen = list(times[:_UNSEEN]), times[_UNSEEN], sum(seen)
    for cause, ns in enumerate(seen):
        part = unseen * ns // all_seen if all_seen else 0
        named[cause] += part
        times_left = unseen - part
        unseen, all_seen = times_left, all_seen - ns
    named[CAUSES.index(OTHER)] += unseen
    return named


def _capped(times: Sequence[int], most: int) -> Iterator[tuple[str, int]]:
    """Yield the causes' names and times, less where they are `most` in all."""
    total = sum(times)
    for cause, ns in zip(CAUSES, times):
        kept = ns if total <= most else ns * most // total
        if kept:
            yield cause, kept
