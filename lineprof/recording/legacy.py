"""Attributes of line_profiler's older versions, computed when they are read."""

from __future__ import annotations

import sys

from lineprof.decorate.code_copies import identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import CodeType, FunctionType

    from lineprof.model.profile import Timings

    Entry = dict[str, object]  # what line_profiler 3 tells of a line


def code_map(
    functions: Iterable[FunctionType], timings: Timings
) -> dict[CodeType, dict[int, Entry]]:
    """Return hits and times in ns by code object and line."""
    made: dict[CodeType, dict[int, Entry]] = {}
    for code in _codes(functions):
        file, _, name, *_ = identity(code)
        rows = timings.get((str(file), code.co_firstlineno, str(name)), ())
        made[code] = {row[0]: _entry(code, *row) for row in rows}
    return made


def c_code_map(
    functions: Iterable[FunctionType], timings: Timings
) -> dict[int, dict[int, Entry]]:
    """Return the same by the hash of each line."""
    made: dict[int, dict[int, Entry]] = {}
    for code, rows in code_map(functions, timings).items():
        numbers = dict(zip(_lines(code), _hashes(code)))
        for line, entry in rows.items():
            number = numbers.get(line, hash(code.co_code) ^ line)
            made[number] = {line: {**entry, "code": number}}
        for number in numbers.values():
            made.setdefault(number, {})
    return made


def code_hash_map(functions: Iterable[FunctionType]) -> dict[CodeType, list[int]]:
    """Return the hashes of the lines of each code object."""
    return {code: _hashes(code) for code in _codes(functions)}


def dupes_map(functions: Iterable[FunctionType]) -> dict[bytes, list[CodeType]]:
    """Return the code objects by their bytecode."""
    made: dict[bytes, list[CodeType]] = {}
    for code in _codes(functions):
        made.setdefault(code.co_code, []).append(code)
    return made


def last_time(functions: Iterable[FunctionType]) -> dict[CodeType, Entry]:
    """Return the line of each code object's innermost call on this thread."""
    known = {identity(code): code for code in _codes(functions)}
    made: dict[CodeType, Entry] = {}
    frame = sys._getframe(1)  # noqa: SLF001  # there is no public function
    while frame is not None:
        code = known.get(identity(frame.f_code))
        if code is not None:
            made.setdefault(code, {"f_lineno": frame.f_lineno})
        frame = frame.f_back  # type: ignore[assignment]
    return made


def _entry(code: CodeType, line: int, hits: int, time: float) -> Entry:
    return {"code": code, "lineno": line, "total_time": time, "nhits": hits}


def _codes(functions: Iterable[FunctionType]) -> list[CodeType]:
    """Return the code objects of functions, each once."""
    return list({id(one.__code__): one.__code__ for one in functions}.values())


def _hashes(code: CodeType) -> list[int]:
    return [hash(code.co_code) ^ line for line in _lines(code)]


def _lines(code: CodeType) -> Iterator[int]:
    import dis  # noqa: PLC0415  # it is slow

    yield from sorted({line for _, line in dis.findlinestarts(code) if line})
