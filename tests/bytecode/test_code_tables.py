"""Tables of code objects: the core builds those that an oracle in Python builds."""

from __future__ import annotations

import functools
import random
import sys
import warnings
from typing import TYPE_CHECKING, Any

import pytest
import tables_oracle
from standard_library import LIBRARY, files_of_library

from lineprof import _core
from lineprof.bytecode.opcodes import OPCODES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from types import CodeType

UNUSUAL = "listcomps generators coroutines with sys_settrace patma grammar monitoring"
MIN_CODES = 4000


def codes_in(code: CodeType) -> Iterator[CodeType]:
    yield code
    for part in code.co_consts:
        if hasattr(part, "co_consts"):
            yield from codes_in(part)


@functools.cache
def some_codes() -> list[tuple[CodeType, bytes]]:
    """Return code of the standard library, and the spans of its file's statements."""
    codes: list[tuple[CodeType, bytes]] = []
    for file in files_of_library(first=UNUSUAL):
        if len(codes) >= MIN_CODES:
            break
        codes += codes_of([file])
    return codes


def codes_of(files: Iterable[Path]) -> Iterator[tuple[CodeType, bytes]]:
    """Yield the code in some files, and the spans of its file's statements."""
    for file in files:
        data = file.read_bytes()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                code = compile(data, str(file), "exec", dont_inherit=True)
            except (SyntaxError, ValueError, RecursionError):
                continue  # a file for tests of the compiler
        spans = _core.Tracer.statement_spans(data)
        for part in codes_in(code):
            yield part, spans


def tables_of(
    code: CodeType, spans: bytes, event: int = tables_oracle.BY_INSTRUCTION
) -> dict[str, Any] | None:
    return _core.Tracer.code_tables(code, spans, OPCODES, event)


LOOPS = """\
def once(values, limit, row):
    number = limit
    while number < row.height:
        number += 1
        row.add(values[0])
    for row.width in values:
        number = values[1:2]
    while number: number -= 1
    try:
        with row:
            number = max(
                values,
                limit)
    finally:
        row = values
"""


@pytest.mark.smoke
@pytest.mark.skipif(sys.version_info >= (3, 12), reason="they cost nothing there")
def test_instructions_of_a_line_are_those_of_one_event() -> None:
    """What is before a loop's first turn, or after its last, is no cost of each."""
    module = compile(LOOPS, "loops.py", "exec", dont_inherit=True)
    [code] = [one for one in codes_in(module) if one.co_name == "once"]
    tables = tables_of(code, b"")
    assert tables
    number = [*memoryview(tables["instructions"]).cast("H")]
    some = [*memoryview(tables["specialized"]).cast("H")]
    # With jumps back to the head, and the mean of parts that have an event each: what
    # begins and ends a `with`, the name and the call of max().
    assert number[1:] == [2, 5, 4, 8, 3, 7, 6, 1, 5, 2, 1, 1, 0, 5]
    assert some[1:] == [0, 1, 0, 3, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0]  # not a slice


GLOBALS = """\
def once(values):
    number = len(values)
    len(values)
    for value in range(number):
        number = value
    while range(number):
        number -= 1
    for value in range(number): number = value
    return len
"""


@pytest.mark.smoke
@pytest.mark.skipif(sys.version_info < (3, 12), reason="each instruction counts there")
def test_lines_that_begin_with_a_global_are_marked() -> None:
    module = compile(GLOBALS, "globals.py", "exec", dont_inherit=True)
    [code] = [one for one in codes_in(module) if one.co_name == "once"]
    tables = tables_of(code, b"")
    assert tables
    # Not the head of the first `for` loop, whose later events come from its FOR_ITER.
    marks = [*memoryview(tables["specialized"]).cast("H")]
    assert marks == [0, 1, 1, 0, 0, 1, 0, 1, 1]


NO_EXECUTION = 8  # LP_MARK_NO_EXECUTION in csrc/bytecode/code_tables.h


def take_added_code(tables: dict[str, Any], statements: bytes | None) -> None:
    """Take what 3.11 has of code that the compiler added out of *tables*.

    Its lines, which are statements of one line, are not in *statements*. (Whether it
    is found is seen by hits: see tests/behaviour/test_hits_blocks.py.)
    """
    marks, found = tables["marks"], tables["statements"]
    if (
        sys.version_info >= (3, 12)
        or not marks
        or not any(m & NO_EXECUTION for m in marks)
    ):
        return
    tables["marks"] = bytes(mark & ~NO_EXECUTION for mark in marks)
    if found == statements:
        return
    known = memoryview(statements or bytes(len(found))).cast("I")
    for place, (here, there) in enumerate(
        zip(memoryview(found).cast("I"), known, strict=True)
    ):
        assert here in (there, 1 + place)
    tables["statements"] = statements


EVENTS = pytest.mark.parametrize(
    "event",
    [
        tables_oracle.BY_LINE,
        tables_oracle.BY_LINE_UNLESS_SLOW,
        tables_oracle.BY_INSTRUCTION,
    ],
)


def check_tables(codes: Iterable[tuple[CodeType, bytes]], event: int) -> dict[str, int]:
    """Compare the tables with the oracle's; return how many of each kind there are."""
    seen = dict.fromkeys(tables_oracle.Tables._fields, 0)
    for code, packed in codes:
        lines = memoryview(packed).cast("I")
        spans = list(zip(lines[::2], lines[1::2], strict=True))
        truth = tables_oracle.build_tables(code, spans, event)
        tables = tables_of(code, packed, event)
        if truth is None or tables is None:
            assert truth is tables
            continue
        assert not tables.pop("is_unread")
        take_added_code(tables, truth.statements)
        assert tables == truth._asdict(), code
        for name, table in tables.items():
            seen[name] += bool(table)
    return seen


@EVENTS
def test_tables_of_the_standard_library_are_those_of_the_oracle(event: int) -> None:
    seen = check_tables(some_codes(), event)
    assert seen["first_line"] > 400
    assert seen["statements"] > 50


@pytest.mark.smoke
@EVENTS
def test_tables_of_two_modules_are_those_of_the_oracle(event: int) -> None:
    files = [LIBRARY / "asyncio" / "base_events.py", LIBRARY / "contextlib.py"]
    seen = check_tables(codes_of(files), event)
    assert seen["first_line"] > 100
    assert seen["statements"] > 20


def test_nonsense_in_a_code_object_does_no_harm() -> None:
    source = random.Random(2026)  # noqa: S311
    for code, spans in some_codes():
        if source.random() > 0.3:
            continue
        lines, handlers = bytearray(code.co_linetable), code.co_exceptiontable
        for _ in range(3):
            lines[source.randrange(len(lines))] = source.randrange(256)
        cut = code.co_linetable[: source.randrange(len(lines))]
        noise = source.randbytes(source.randrange(80))
        for broken in (
            code.replace(co_linetable=bytes(lines)),
            code.replace(co_linetable=cut),
            code.replace(co_linetable=noise),
            code.replace(co_exceptiontable=noise + handlers),
            code.replace(co_firstlineno=source.randrange(1 << 30)),
        ):
            tables = tables_of(broken, spans)
            assert tables is None or tables["n_lines"] > 0
