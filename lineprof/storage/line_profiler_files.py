"""Reader of line_profiler's files, versions 1 to 5: pickles, which may be hostile.

A pickle is a program. `_check` admits only the instructions that make texts, numbers,
lists, dicts and flat tuples, and `_Unpickler` only one class, a stand-in for
line_profiler's. So no pickle can run code, and its length limits the time and the
memory that reading takes.
"""

from __future__ import annotations

import io
import os
import pickle
import pickletools
from typing import TYPE_CHECKING

from lineprof.errors import LineprofError
from lineprof.model.profile import Profile
from lineprof.model.units import MAX_UNIT, MIN_UNIT

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
_MAX_BYTES = 1 << 26  # of a file
_LINES_END = 1 << 31
_HITS_END = 1 << 63
_TICKS_END = 1 << 63
# Limits of the whole profile: many functions can share one list or text of a file.
_MAX_ROWS = 1 << 20
_MAX_CHARACTERS = 1 << 25  # of files and names of functions

_MAX_STEPS = 1 << 22  # instructions of a pickle: 800,000 lines
_MAX_DIGITS = 8  # bytes of a number: few such numbers share a hash
_MAX_TEXT = 1 << 15  # bytes
_MAX_NAME = 256  # characters of a class, in messages
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
    """A reason why a pickle is not read: damage, or more than a profile has."""


class _Profile:
    """Stand-in for line_profiler's LineStats: keeps the state that the pickle has."""

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
    """An unpickler that finds only the class of profiles."""

    def find_class(self, module: str, name: str) -> type[_Profile]:
        _check_class(module, name)
        return _Profile


def _check_class(module: str, name: str) -> None:
    """Raise NotAllowed unless the class is that of profiles."""
    if (module, name) not in _CLASSES:
        what = f"{module[:_MAX_NAME]}.{name[:_MAX_NAME]}"
        raise NotAllowed(f"it asks for {what}, which no profile needs")


def load_pickle(name: str) -> Profile:
    """Return the profile in the file called `name`.

    Nothing in the file is executed or trusted: invalid content raises LineprofError
    with the file's name and a remedy, and a file that cannot be read OSError. Such
    files have no source, so the profile warns of source files that are newer.
    """
    with open(name, "rb") as stream:
        data = stream.read(_MAX_BYTES + 1)
        written_ns = os.fstat(stream.fileno()).st_mtime_ns
    try:
        if len(data) > _MAX_BYTES:
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
    """Raise NotAllowed, or ValueError, for instructions that no profile's pickle has.

    Tuples may have only scalars, because they are used as keys: hashing nested tuples
    recurses, and a long file could nest them deeply. The memo must be filled in order,
    as picklers do (Python 2's from 1 on), because the unpickler allocates room up to
    the highest index.
    """
    memo: dict[int, list[object]] = {}  # one scalar, or [] for any other object
    scalars: list[object] = []  # pushed last, one right after the other
    for step, (code, argument, _) in enumerate(pickletools.genops(data)):
        name: str = code.name
        value: Any = argument
        if step == _MAX_STEPS:
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
    """Raise NotAllowed for a text, number or protocol that no profile has."""
    if name in _TEXTS and len(value) > _MAX_TEXT:
        raise NotAllowed("a text in it is too long")
    if name == "LONG1" and value.bit_length() >= 8 * _MAX_DIGITS:
        raise NotAllowed("a number in it is too big")
    if name == "PROTO" and value not in _PROTOCOLS:
        raise NotAllowed(f"it is of protocol {value}")


def _of(value: object, kind: type) -> Any:  # noqa: ANN401
    """Return `value`; NotAllowed unless its type is exactly `kind`."""
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
        if rows > _MAX_ROWS or characters > _MAX_CHARACTERS:
            raise NotAllowed("it is too big")
        _natural(first, _LINES_END, "line")
        yield (file, first, name), [_line(_parts(line)) for line in lines]


def _parts(value: object) -> tuple[Any, Any, Any]:
    """Return the three items of `value`; NotAllowed unless it has three."""
    if type(value) not in (tuple, list) or len(value) != 3:  # type: ignore[arg-type]  # noqa: PLR2004
        raise NotAllowed(f"a {type(value).__name__} where three values are due")
    return tuple(value)  # type: ignore[arg-type,return-value]


def _line(values: tuple[Any, Any, Any]) -> LineTicks:
    number, hits, ticks = values
    _natural(number, _LINES_END, "line")
    _natural(hits, _HITS_END, "number of hits")
    _natural(ticks, _TICKS_END, "time", float if type(ticks) is float else int)
    return number, hits, ticks


def _natural(value: object, end: int, what: str, kind: type = int) -> None:
    """Raise NotAllowed unless `value` is a number from 0 on and below `end`."""
    if not 0 <= _of(value, kind) < end:  # nor NaN
        raise NotAllowed(f"a {what} in it is impossible")


def _unit(value: object) -> float:
    if type(value) is int and 0 < value <= MAX_UNIT:
        return float(value)
    unit: float = _of(value, float)
    if not MIN_UNIT <= unit <= MAX_UNIT:  # nor NaN
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
