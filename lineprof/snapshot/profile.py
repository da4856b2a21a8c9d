"""From the core's raw counters to a profile's values."""

from __future__ import annotations

import itertools
from array import array
from typing import TYPE_CHECKING, NamedTuple

from lineprof.model.gpu import NO_GPU
from lineprof.model.profile import Profile
from lineprof.model.records import (
    CAUSES,
    NO_CALLS,
    OTHER,
    PARTS,
    RUNNABLE,
    UNKNOWN_THREAD,
    FunctionStats,
    LineBreakdown,
    Thread,
    ThreadLine,
    Wait,
)
from lineprof.model.timelines import SLICES_PER_BATCH, Trace, pack_slices
from lineprof.process_info import thread_names
from lineprof.snapshot.calls import of_c, remarks, tree_of
from lineprof.source import read_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from types import ModuleType

    from lineprof._core import Tracer
    from lineprof.model.gpu import Gpu
    from lineprof.model.records import Key, Process
    from lineprof.model.timelines import Batch
    from lineprof.snapshot.calls import RawTree
    from lineprof.snapshot.gpu import Taken

    # number, thread, hits, ticks, cost, awaited, least, most, cost of a hit
    Line = tuple[int, int, int, int, int, int, int, int, int]
    # key, calls, total, its cost, recursed, lines, serial
    Code = tuple[tuple[object, ...], int, int, int, int, Sequence[Line], int]

    # serial of the code, line, the core's thread, index in CAUSES, ns
    RawWait = tuple[int, int, int, int, int]
    KeyLine = tuple[Key, int]
    Place = tuple[Key, int, int]  # with the index of a thread


class TickScale(NamedTuple):
    """From ticks of the core's clock, and costs in parts of one, to ns."""

    ns_per_tick: int  # times 2**32
    cost_one: int  # parts in a tick
    holds: float = 1.0  # how much of a calibrated cost is taken out

    def ns(self, ticks: int) -> int:
        """Return `ticks` in ns, as the clock saw them."""
        return (ticks * self.ns_per_tick) >> 32

    def cost_ns(self, cost: int) -> int:
        """Return a cost in ns."""
        return self.ns(int(cost * self.holds) // self.cost_one)

    def net_ns(self, ticks: int, cost: int) -> int:
        """Return `ticks` less their cost in ns, never below 0."""
        return max(0, self.ns(ticks) - self.cost_ns(cost))


class Parts(NamedTuple):
    """What there may be beside lines, as the core gives it."""

    gpu: Taken | None = None
    blocks: Sequence[Code] = ()  # shown as functions, too
    calls: RawTree | None = None
    natives: Iterable[tuple[int, str]] = ()  # functions of C, by their serials
    trace: RawTrace | None = None
    waits: Iterable[RawWait] = ()
    blind: bool = False  # nobody could look what threads waited for
    split: bool = False  # `waits` have lines' own times, too


def profile_of(  # noqa: PLR0913, PLR0917  # the parts of what was measured
    ids: Sequence[tuple[int, str]],
    codes: Sequence[Code],
    scale: TickScale,
    process: Process,
    warnings: Iterable[str],
    parts: Parts,
) -> Profile:
    """Return the profile of a process from what ``Tracer.snapshot`` gives.

    `ids` has the native ids and the names of threads when they were first seen.
    Of the core's tree and trace all but `codes` and functions of C is left out.
    """
    everything = [*codes, *parts.blocks]
    places = _places(everything)
    functions = _functions(everything, scale, places)
    files = dict.fromkeys(function.file for function in functions)
    place_of = _placing(places, len(ids))
    own, shown = {**_keys(codes), **of_c(parts.natives)}, _keys(everything)
    tree, gpu = NO_CALLS, NO_GPU
    traces: tuple[Trace, ...] = ()
    if parts.calls:
        tree, functions = tree_of(parts.calls, own, place_of, scale, functions)
    if parts.trace:
        traces = parts.trace.read(own, place_of, scale.ns_per_tick)
        warnings = [*warnings, *parts.trace.warnings(traces)]
    if parts.gpu:
        gpu = _gpu(parts.gpu, shown, place_of, scale)
    rows = list(parts.waits)
    waits = waits_of(rows, shown, place_of, functions)
    said = warnings_of(waits, functions, blind=parts.blind)
    return Profile.from_functions(
        functions,
        processes=(process,),
        threads=_threads(ids, places, thread_names()),
        sources={file: read_source(file) for file in files},
        warnings=[*warnings, *remarks(tree), *said],
        gpu=gpu,
        calls=tree,
        traces=traces,
        waits=waits,
        breakdowns=own_times_of(rows, shown, place_of) if parts.split else (),
    )


def _placing(places: dict[int, int], known: int) -> Callable[[int], int]:
    """Return what gives a thread its place: one without lines, too, the next one."""

    def place_of(number: int) -> int:
        if not 0 <= number < known:
            return UNKNOWN_THREAD
        return places.setdefault(number, len(places))

    return place_of


def _key(code: Code) -> Key:
    """Return what tells the function of a code object from others."""
    file, line, name, *_ = code[0]
    return (str(file), int(str(line)), str(name))


def _keys(codes: Iterable[Code]) -> dict[int, Key]:
    """Return the functions of code objects by their serials."""
    return {code[6]: _key(code) for code in codes}


def _gpu(
    taken: Taken,
    keys: Mapping[int, Key],
    place_of: Callable[[int], int],
    scale: TickScale,
) -> Gpu:
    """Return the GPU data; threads that only launched get places, too."""
    from lineprof.snapshot.gpu import gpu_of  # noqa: PLC0415  # only with a GPU

    return gpu_of(taken, keys, place_of, scale)


def _functions(
    codes: Sequence[Code], scale: TickScale, threads: Mapping[int, int]
) -> Sequence[FunctionStats]:
    """Return a `FunctionStats` per function, in order of registration.

    Code objects of the same file, line and name are one function. `threads`
    maps the core's thread numbers to the profile's.
    """
    parts: dict[Key, list[Code]] = {}
    for code in codes:
        parts.setdefault(_key(code), []).append(code)
    return tuple(
        _function(name, group, scale, threads) for name, group in parts.items()
    )


def _function(
    key: Key, codes: Sequence[Code], scale: TickScale, threads: Mapping[int, int]
) -> FunctionStats:
    file, line, name = key
    total = sum(scale.net_ns(code[2], code[3]) for code in codes)
    return FunctionStats(
        file=file,
        name=name,
        line=line,
        thread_lines=tuple(
            ThreadLine(
                line=number,
                thread=threads.get(thread, UNKNOWN_THREAD),
                hits=hits,
                time_ns=scale.net_ns(ticks, cost),
                await_ns=scale.ns(awaited),
                raw_ns=scale.ns(ticks),
                min_ns=None if least < 0 else scale.net_ns(least, weight),
                max_ns=None if most < 0 else scale.net_ns(most, weight),
            )
            for code in codes
            for number, thread, hits, ticks, cost, awaited, least, most, weight in (
                code[5]
            )
        ),
        calls=sum(code[1] for code in codes),
        recursive_ns=total if any(code[4] for code in codes) else None,
    )


def _places(codes: Sequence[Code]) -> dict[int, int]:
    """Return the place of each of the core's threads that ran profiled lines."""
    used = {line[1] for code in codes for line in code[5]} - {UNKNOWN_THREAD}
    return {thread: place for place, thread in enumerate(sorted(used))}


def _threads(
    known: Sequence[tuple[int, str]], places: Iterable[int], names: Mapping[int, str]
) -> Iterator[Thread]:
    """Yield the threads of the core's numbers in `places`, in that order.

    `known` has the core's native ids and names of when the threads were first
    seen; `names` what those that still run are called now.
    """
    for number in places:
        native_id, name = known[number]
        yield Thread(process=0, native_id=native_id, name=names.get(native_id) or name)


# From the core's slices to a profile's traces.


_WINDOW = 4 * SLICES_PER_BATCH  # slices that are read out at once, about


class RawTrace(NamedTuple):
    """What the core has of one profiler, before it is read out."""

    core: ModuleType
    tracer: Tracer
    began: int  # ticks: when the profiler asked for it
    origin_ns: int | None  # where the time of GPU work begins, on CLOCK_MONOTONIC
    memory_mb: int

    def read(
        self,
        keys: Mapping[int, Key],
        place_of: Callable[[int], int],
        scale: int,
    ) -> tuple[Trace, ...]:
        """Return all slices as one trace, or none at all.

        `keys` has the functions by the serials of their codes; `place_of` gives
        the place of the core's thread of a number; `scale` is what the core makes ns of
        ticks by. Slices are packed as they are read: that takes no more memory
        than a window of them, and what is packed.
        """
        functions: dict[Key, int] = {}
        wanted = array("I", bytes(4 * (max(keys, default=0) + 1)))
        for serial, key in keys.items():
            wanted[serial] = functions.setdefault(key, len(functions)) + 1
        windows = self.tracer.trace_windows(wanted.tobytes(), _WINDOW)
        used: set[int] = set()
        batches = tuple(self._batches(wanted.tobytes(), windows, scale, used))
        count, left_out = sum(batch.events for batch in batches), windows[1]
        if not count and not left_out:
            return ()
        began_ns = self.core.monotonic_ns(self.began, scale)
        return (
            Trace(
                process=0,
                count=count,
                left_out=left_out,
                origin_ns=min(self.origin_ns or began_ns, began_ns),
                functions=tuple(functions),
                threads=tuple(
                    place_of(number) if number in used else UNKNOWN_THREAD
                    for number in range(max(used, default=-1) + 1)
                ),
                batches=batches,
            ),
        )

    def _batches(
        self,
        wanted: bytes,
        windows: tuple[int, int, list[int]],
        scale: int,
        used: set[int],
    ) -> Iterator[Batch]:
        """Yield all slices, window by window; the threads' numbers go to `used`."""
        until, _, starts = windows
        for low, high in itertools.pairwise(starts):
            columns = self.tracer.trace_slices(wanted, until, low, high, scale)
            used.update(array("I", columns[0]))
            yield from pack_slices(columns)

    def warnings(self, traces: Iterable[Trace]) -> list[str]:
        """Return what the traces lack, a sentence each."""
        return [
            f"the timeline ends early: its memory ({self.memory_mb} MB) was full;"
            f" {trace.left_out} later stays in functions and on lines are left out"
            " of it (kernprof -l --trace-memory MB keeps more)"
            for trace in traces
            if trace.left_out
        ]


# From the core's raw waits to a profile's values.


_UNSEEN = len(CAUSES)  # the core's number: blocked while nobody looked
_SUBSTANTIAL = 0.1  # of the time of all lines


def waits_of(
    rows: Iterable[RawWait],
    keys: Mapping[int, Key],
    place_of: Callable[[int], int],
    functions: Iterable[FunctionStats],
) -> tuple[Wait, ...]:
    """Return the waits of the lines of `functions`, from ``Tracer.off_cpu``.

    `keys` has the function of each of the core's code objects; waits of others
    are left out. `place_of` gives a thread's index in the profile. What a line
    waited while nobody looked is taken to be as what was seen of it. Waits are
    never longer than the line's time.
    """
    most = {
        (function.key, cell.line, cell.thread): cell.time_ns
        for function in functions
        for cell in function.thread_lines
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
) -> tuple[LineBreakdown, ...]:
    """Return what lines were themselves, from the same rows; one if there is none."""
    first = 1 + _UNSEEN
    found: dict[tuple[Key, int, int, str], int] = {}
    for serial, line, thread, number, ns in rows:
        if serial in keys and number >= first:
            part = PARTS[number - first]
            place = (keys[serial], line, place_of(thread), part)
            found[place] = found.get(place, 0) + ns
    for key in () if found else keys.values():
        unknown = LineBreakdown(
            function=key, line=key[1], thread=UNKNOWN_THREAD, part=PARTS[0], ns=0
        )
        return (unknown,)
    return tuple(
        LineBreakdown(function=key, line=line, thread=thread, part=part, ns=ns)
        for (key, line, thread, part), ns in found.items()
    )


def warnings_of(
    waits: Iterable[Wait], functions: Iterable[FunctionStats], *, blind: bool
) -> list[str]:
    """Return a sentence where the system hides what threads waited for.

    None where they hardly waited.
    """
    unknown = sum(wait.ns for wait in waits if wait.cause == OTHER) if blind else 0
    all_ns = sum(
        cell.time_ns for function in functions for cell in function.thread_lines
    )
    if not unknown or unknown < all_ns * _SUBSTANTIAL:
        return []
    why = "this system does not tell (/proc/self/task/*/syscall)"
    return [f"what lines waited for is not known: {why}"]


def _seen(found: Mapping[Place, Sequence[int]]) -> dict[KeyLine, list[int]]:
    """Return what was seen of each line, all threads together; none is ready."""
    sums: dict[KeyLine, list[int]] = {}
    for (key, line, _), times in found.items():
        total = sums.setdefault((key, line), [0] * _UNSEEN)
        for cause, ns in enumerate(times[:_UNSEEN]):
            if CAUSES[cause] != RUNNABLE:
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
