"""Reads profiles of line_profiler 1 to 5: pickles, which anyone may have made.

A pickle is a program. `_check` admits the instructions that make texts, numbers,
lists, dicts and flat tuples, and `_Unpickler` one class, which is ours: so nothing
in a file can act, and what it costs is bounded by its length.
"""

from __future__ import annotations

import io
import os
import pickle
import pickletools
from typing import TYPE_CHECKING

from lineprof.errors import LineprofError
from lineprof.model.profile import Profile

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Self

    from lineprof.model.profile import LineTicks
    from lineprof.model.records import Key

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

_MOST_STEPS = 1 << 22  # instructions of a pickle: 800,000 lines
_MOST_DIGITS = 8  # bytes of a number: few such numbers have the hash of another
_LONGEST_TEXT = 1 << 15  # bytes
_LONGEST_NAME = 256  # of a class, as it is shown
_PROTOCOLS = range(2, 6)
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_TEXTS = frozenset(
    {
        *("SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"),
        *("SHORT_BINSTRING", "BINSTRING"),  # of Python 2
    }
)
_SCALARS = _TEXTS | {
    *("NONE", "NEWTRUE", "NEWFALSE"),
    *("BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT"),
}
_PUTS = frozenset({"BINPUT", "LONG_BINPUT", "MEMOIZE"})
_GETS = frozenset({"BINGET", "LONG_BINGET"})
_OTHERS = frozenset(
    {
        *("PROTO", "FRAME", "MARK", "STOP"),
        *("EMPTY_LIST", "APPEND", "APPENDS"),
        *("EMPTY_DICT", "SETITEM", "SETITEMS"),
        *("GLOBAL", "STACK_GLOBAL", "EMPTY_TUPLE", "NEWOBJ", "BUILD"),
    }
)


class NotAllowed(Exception):  # noqa: N818  # it is a reason, not an error
    """What in the pickle is damaged, or not for us."""


class _Profile:
    """Stands for line_profiler's LineStats: what the pickle fills it with."""

    state: dict[Any, Any] | None = None

    def __new__(cls, *arguments: object) -> Self:
        if arguments:
            raise NotAllowed("it makes an object that no profile has")
        return super().__new__(cls)

    def __setstate__(self, state: object) -> None:
        if self.state is not None:
            raise NotAllowed("it fills an object twice")
        self.state = _of(state, dict)


class _Unpickler(pickle.Unpickler):
    """Finds no class but that of profiles."""

    def find_class(self, module: str, name: str) -> type[_Profile]:
        _check_class(module, name)
        return _Profile


def _check_class(module: str, name: str) -> None:
    """Raise NotAllowed for any other class than a profile's."""
    if (module, name) not in _CLASSES:
        what = f"{module[:_LONGEST_NAME]}.{name[:_LONGEST_NAME]}"
        raise NotAllowed(f"it asks for {what}, which no profile needs")


def load_pickle(name: str) -> Profile:
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
        state = _state(data)
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


def _state(data: bytes) -> dict[Any, Any]:
    """Return the attributes of the profile in `data`; NotAllowed if there is none."""
    try:
        _check(data)
        found = _Unpickler(
            io.BytesIO(data), encoding="utf-8", errors="surrogateescape"
        ).load()
    except (NotAllowed, MemoryError):
        raise
    except Exception:  # noqa: BLE001  # an unpickler raises anything: its own, ValueError
        raise NotAllowed("it is cut off or damaged") from None
    if type(found) is not _Profile or found.state is None:
        raise NotAllowed("it holds no profile")
    return found.state


def _check(data: bytes) -> None:  # noqa: C901  # a case for each kind of instruction
    """Raise NotAllowed, or ValueError, for what no profile's pickle has.

    A tuple has scalars only, and so may be a key: the hash of one within another
    would go as deep as the file is long. The memo is filled in order, as picklers
    do, Python 2's from 1 on: the unpickler makes room up to the highest place.
    """
    memo: dict[int, list[object]] = {}  # one scalar, or nothing for what is none
    scalars: list[object] = []  # pushed last, one right after the other
    for step, (code, argument, _) in enumerate(pickletools.genops(data)):
        name: str = code.name
        value: Any = argument
        if step == _MOST_STEPS:
            raise NotAllowed("it is too long")
        if name in _SCALARS:
            _check_size(name, value)
            scalars.append(value)
        elif name in _GETS:
            scalars += memo[value]
            if not memo[value]:
                scalars = []
        elif name in _PUTS:
            place = len(memo) if value is None else value
            if place > len(memo) + 1:
                raise NotAllowed("it remembers things out of order")
            memo[place] = scalars[-1:]
        elif name in _TUPLES:
            if len(scalars) < _TUPLES[name]:
                raise NotAllowed("a tuple in it has more than texts and numbers")
            scalars = []
        elif name in _OTHERS:
            if name.endswith("GLOBAL"):
                texts = scalars[-2:] if value is None else value.split(" ", 1)
                _check_class(*map(str, texts))
            _check_size(name, value)
            scalars = []
        else:
            number = ord(code.code)
            raise NotAllowed(f"it has an instruction that no profile has: {number}")


def _check_size(name: str, value: Any) -> None:  # noqa: ANN401  # an opcode's argument
    """Raise NotAllowed for a text, a number or a protocol beyond what profiles have."""
    if name in _TEXTS and len(value) > _LONGEST_TEXT:
        raise NotAllowed("a text in it is too long")
    if name == "LONG1" and value.bit_length() >= 8 * _MOST_DIGITS:
        raise NotAllowed("a number in it is too big")
    if name == "PROTO" and value not in _PROTOCOLS:
        raise NotAllowed(f"it is of protocol {value}")


def _of(value: object, kind: type) -> Any:  # noqa: ANN401
    """Return `value`; NotAllowed unless it is of that very type."""
    if type(value) is not kind:
        raise NotAllowed(f"{type(value).__name__} where {kind.__name__} is due")
    return value


def _functions(timings: dict[Any, Any]) -> Iterator[tuple[Key, list[LineTicks]]]:
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


def _line(values: tuple[Any, Any, Any]) -> LineTicks:
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
