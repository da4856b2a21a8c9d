"""Reading a profile of line_profiler 1 to 5: a pickle, which anyone may have made."""

from __future__ import annotations

import os

from lineprof.errors import LineprofError
from lineprof.pickles import NotAllowed, read_instance
from lineprof.stats import Profile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from lineprof.records import Key
    from lineprof.stats_timings import Ticked

_CLASSES = frozenset(
    {
        ("line_profiler.line_profiler", "LineStats"),  # 5
        ("line_profiler._line_profiler", "LineStats"),  # 3 and 4
        ("_line_profiler", "LineStats"),  # 1 and 2
    }
)
_MOST_BYTES = 1 << 26  # of a file
_MOST_LINES = 1 << 31
_MOST_HITS = 1 << 63
_MOST_TICKS = 1 << 63
_SHORTEST, _LONGEST = 1e-15, 1e6  # tick, in seconds
# In all, for one list or text of a file can be that of many functions:
_MOST_ROWS = 1 << 20
_MOST_CHARACTERS = 1 << 25  # of places of functions


def load(name: str) -> Profile:
    """Return the profile in the file called `name`.

    Nothing in it is executed or believed: whatever is in it, the answer is a
    profile or LineprofError, with the file's name and what to do; OSError
    where it cannot be read. Source that is newer than the file is said in a
    warning: such files hold none.
    """
    with open(name, "rb") as stream:
        data = stream.read(_MOST_BYTES + 1)
        written_ns = os.fstat(stream.fileno()).st_mtime_ns
    try:
        if len(data) > _MOST_BYTES:
            raise NotAllowed("it is too long")  # noqa: TRY301
        state = read_instance(data, _CLASSES)
        timings = dict(_functions(_of(state.get("timings"), dict)))
        unit = _unit(state.get("unit"))
    except (NotAllowed, MemoryError) as reason:
        why = str(reason) or "it is too big"
        raise LineprofError(
            f"{name} is not a profile that can be read ({why})",
            hint="give a file that kernprof -l wrote, or record it again",
        ) from None
    files = dict.fromkeys(file for file, _, _ in timings)
    return Profile(timings, unit, warnings=_newer(files, written_ns))


def _of(value: object, kind: type) -> Any:  # noqa: ANN401
    """Return `value`; NotAllowed unless it is of that very type."""
    if type(value) is not kind:
        raise NotAllowed(f"{type(value).__name__} where {kind.__name__} is due")
    return value


def _functions(timings: dict[Any, Any]) -> Iterator[tuple[Key, list[Ticked]]]:
    """Yield the functions, each value checked."""
    rows = characters = 0
    for key, lines in timings.items():
        file, first, name = _parts(key)
        characters += len(_of(file, str)) + len(_of(name, str))
        rows += len(_of(lines, list))
        if rows > _MOST_ROWS or characters > _MOST_CHARACTERS:
            raise NotAllowed("it is too big")
        _natural(first, _MOST_LINES, "line")
        yield (file, first, name), [_line(_parts(line)) for line in lines]


def _parts(value: object) -> tuple[Any, Any, Any]:
    """Return the three things that `value` is."""
    if type(value) not in (tuple, list) or len(value) != 3:  # type: ignore[arg-type]  # noqa: PLR2004
        raise NotAllowed(f"a {type(value).__name__} where three values are due")
    return tuple(value)  # type: ignore[arg-type,return-value]


def _line(values: tuple[Any, Any, Any]) -> Ticked:
    number, hits, ticks = values
    _natural(number, _MOST_LINES, "line")
    _natural(hits, _MOST_HITS, "number of hits")
    if type(ticks) is float:
        if not 0 <= ticks < _MOST_TICKS:  # nor NaN
            raise NotAllowed("a time in it is impossible")
    else:
        _natural(ticks, _MOST_TICKS, "time")
    return number, hits, ticks


def _natural(value: object, most: int, what: str) -> None:
    """Raise NotAllowed unless `value` is a whole number from 0 and below `most`."""
    if not 0 <= _of(value, int) < most:
        raise NotAllowed(f"a {what} in it is impossible")


def _unit(value: object) -> float:
    if type(value) is int and 0 < value <= _LONGEST:
        return float(value)
    unit: float = _of(value, float)
    if not _SHORTEST <= unit <= _LONGEST:  # nor NaN
        raise NotAllowed("the unit in it is impossible")
    return unit


def _newer(files: dict[str, None], written_ns: int) -> Iterator[str]:
    """Yield a warning for each file that was changed after the profile."""
    for file in files:
        try:
            changed_ns = os.stat(file).st_mtime_ns
        except (OSError, ValueError):
            continue
        if changed_ns > written_ns:
            yield (
                f"{file} is newer than the profile; the lines shown may not be"
                " those measured"
            )
