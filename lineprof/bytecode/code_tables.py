"""What the tracer has to know of a code object before it runs.

A line event names a line and no more. Whether it begins a statement anew,
comes back to one that is under way, or goes round in a comprehension, is told
by tables made here, once per function, from its source and its bytecode.
"""

from __future__ import annotations

import opcode
import os
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from lineprof.bytecode.code_flags import ASYNC_GENERATOR, COROUTINE, GENERATOR
from lineprof.bytecode.instructions import WITHIN, are_far, jump_marks, with_starts
from lineprof.source import file_state, text_of

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterable, Iterator
    from types import CodeType

    from lineprof._core import Tracer

    Span = tuple[int, int]


# What a function and its lines are called in the timeline of an NVTX tool.


_MOST = 80  # characters of a line's source


def labels_of(
    code: CodeType, lines: range, text: str | None = None
) -> tuple[bytes, list[bytes | None]]:
    """Return the label of `code` and those of `lines`, as UTF-8.

    None for a line that has no code. `text` is the source of its file where
    that can't be read.
    """
    file = os.path.basename(code.co_filename)
    source = _lines_of(text_of(code.co_filename) if text is None else text)
    running = {line for _, _, line in code.co_lines() if line}
    labels = [
        _encoded(f"{file}:{line}", _source_line(source, line))
        if line in running
        else None
        for line in lines
    ]
    return _encoded(f"{code.co_name} ({file}:{code.co_firstlineno})"), labels


def _source_line(source: list[str], line: int) -> str:
    return source[line - 1].strip()[:_MOST] if line <= len(source) else ""


def _encoded(name: str, source: str = "") -> bytes:
    label = f"{name}  {source}" if source else name
    return label.encode("utf-8", "backslashreplace").replace(b"\0", b"\\x00")


@lru_cache(maxsize=16)  # a module's functions come in a row
def _lines_of(text: str | None) -> list[str]:
    return text.split("\n") if text else []


# Registration of code objects with a tracer of the core.


_CODE_ENABLES = 2  # in csrc/engine/code.h


def register(  # noqa: PLR0913  # the properties of a code object
    tracer: Tracer,
    code: CodeType,
    key: object = None,
    text: str | None = None,
    *,
    labelled: bool = True,
    enables: bool = False,
) -> bool:
    """Register `code` with `tracer`; False if its line numbers make no sense.

    A code object that is already registered, perhaps by another thread just now,
    stays as it is. `text` is the source of code that is in no file. If NVTX ranges
    are on and `labelled` is true, calls and lines of `code` are ranges. With
    `enables`, calls of `code` enable the tracer, from the first call on.
    """
    shape = build_tables(code, text)
    if shape is None or not _add(tracer, code, key, shape, enables=enables):
        return tracer.has_code(code)
    if labelled and tracer.ranged:
        lines = range(shape.first_line, shape.first_line + shape.n_lines)
        tracer.set_labels(code, *labels_of(code, lines, text))
    return True


def _add(
    tracer: Tracer, code: CodeType, key: object, shape: CodeTables, *, enables: bool
) -> bool:
    return tracer.add_code(
        code,
        key,
        shape.first_line,
        shape.n_lines,
        shape.flags | _CODE_ENABLES * enables,
        shape.awaits,
        shape.start,
        shape.statements,
        shape.instructions,
        shape.marks,
        shape.resumes,
    )


MOST_LINES = 1 << 22  # of one function; more is a generated file's fiction

_ONLY_AST = 0x400  # `ast.PyCF_ONLY_AST`; importing ast takes 8 ms
_AWAITS = COROUTINE | ASYNC_GENERATOR
_STEPS = GENERATOR | _AWAITS

_CODE_STEPS, _CODE_GATHERS, _CODE_FAR = 1, 4, 16  # in csrc/engine/code.h

_INLINED = sys.version_info >= (3, 12)  # comprehensions run in their function
_TAXED = sys.version_info < (3, 12)  # tracing slows every instruction
_RESUME = opcode.opmap.get("RESUME")
_EXTENDED_ARG = opcode.opmap.get("EXTENDED_ARG", -1)  # untraced, with what follows
_FOR_ITER = opcode.opmap.get("FOR_ITER", -1)
_YIELD = opcode.opmap.get("YIELD_VALUE", -1)
_CACHE = opcode.opmap.get("CACHE")
_PARTS = ("body", "orelse", "finalbody", "handlers", "cases")  # of a statement
_OWN_SCOPES = frozenset(("<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>"))


class CodeTables(NamedTuple):
    """The arguments of ``Tracer.add_code`` after the code object and its key.

    Tables are packed integers of the machine, by line or by instruction (two
    bytes of bytecode each), or None where there is nothing to tell.
    """

    first_line: int
    n_lines: int
    flags: int
    awaits: bool
    start: int  # byte offset of the instruction that begins a call
    statements: bytes | None  # uint32 a line: 1 + offset of its statement's first
    instructions: bytes | None  # uint16 a line: how many bytecode instructions
    marks: bytes | None  # uint8 an instruction: how control came there
    resumes: bytes | None  # uint32 an instruction: its line


def runs_in_steps(code: CodeType) -> bool:
    """Tell whether calls of `code` make a generator or coroutine."""
    return bool(code.co_flags & _STEPS)


def build_tables(code: CodeType, text: str | None = None) -> CodeTables | None:
    """Return the shape of `code`, or None when its lines can't be counted.

    `text` is the source of its file where that can't be read.
    """
    ranges = list(_merged(code.co_lines()))
    numbers = [line for _, _, line in ranges]
    if not numbers:
        return None
    numbers.append(max(1, code.co_firstlineno))  # of a lambda whose body is below
    first, last = min(numbers), max(numbers)
    if last - first >= MOST_LINES:
        return None
    n_lines = last - first + 1
    statements = _statement_table(code, first, n_lines, text)
    steps = runs_in_steps(code)
    far = are_far(code, ranges)
    marks = jump_marks(code, statements=far or statements is not None)
    gathers = marks is not None and WITHIN in marks
    if far:
        marks = with_starts(marks, code, ranges)
    return CodeTables(
        first_line=first,
        n_lines=n_lines,
        flags=_CODE_STEPS * steps | _CODE_GATHERS * gathers | _CODE_FAR * far,
        awaits=bool(code.co_flags & _AWAITS),
        start=_start(code),
        statements=statements,
        instructions=_instruction_table(code, ranges, first, n_lines)
        if _TAXED
        else None,
        marks=marks,
        resumes=_line_table(code, ranges)
        if _INLINED and (steps or marks is not None)
        else None,
    )


def _merged(
    ranges: Iterable[tuple[int, int, int | None]],
) -> Iterator[tuple[int, int, int]]:
    """Yield (start, end, line) of the runs of instructions of one line, in bytes.

    `ranges` has one for each place within a line, and some that have no line.
    """
    begin = last = current = 0
    for start, end, line in ranges:
        if line == current and start == last:
            last = end
            continue
        if current > 0 and begin < last:
            yield begin, last, current
        begin, last, current = start, end, line or 0
    if current > 0 and begin < last:
        yield begin, last, current


def _start(code: CodeType) -> int:
    """Return the byte offset of the RESUME that begins a call, or -1."""
    raw = code.co_code
    for offset in range(0, len(raw), 2):
        if raw[offset] == _RESUME and raw[offset + 1] & 3 == 0:
            return offset
    return -1


def _zeros(kind: str, count: int) -> memoryview[int]:
    """Return a table of `count` zeros: "H" of 16 bits, "I" of 32."""
    size = 2 if kind == "H" else 4
    return memoryview(bytearray(size * count)).cast(kind)  # type: ignore[call-overload,no-any-return]


def _instruction_table(
    code: CodeType, ranges: Iterable[tuple[int, int, int]], first: int, n_lines: int
) -> bytes:
    from lineprof.bytecode.jumps import for_loops  # noqa: PLC0415  # later versions do without

    table = _zeros("H", n_lines)
    opcodes = code.co_code[::2]
    # What stands before the head of a for loop runs once, the rest every turn.
    loops = for_loops(code) if _FOR_ITER in opcodes else []
    for begin, end, line in ranges:
        start = max((head for head in loops if begin <= head < end), default=begin)
        run = opcodes[start // 2 : end // 2]
        count = len(run) - run.count(_EXTENDED_ARG) - run.count(_CACHE)
        if _YIELD in run:
            count = (count + 1) // 2  # run in two stays, before and after the yield
        table[line - first] = min(table[line - first] + count, 0xFFFF)
    return table.tobytes()


def _line_table(code: CodeType, ranges: Iterable[tuple[int, int, int]]) -> bytes:
    table = _zeros("I", len(code.co_code) // 2)
    for start, end, line in ranges:
        for place in range(start // 2, end // 2):
            table[place] = line
    return table.tobytes()


def _statement_table(
    code: CodeType, first: int, n_lines: int, text: str | None
) -> bytes | None:
    if code.co_name in _OWN_SCOPES or n_lines == 1:
        return None
    spans: Iterable[Span]
    if code.co_name == "<lambda>":
        spans = ((first, first + n_lines - 1),)
    else:
        spans = statement_spans(code.co_filename, text)
    table = _zeros("I", n_lines)
    for start, end in spans:
        if start < first or start >= first + n_lines:
            continue
        for line in range(start, min(end, first + n_lines - 1) + 1):
            table[line - first] = 1 + start - first
    return table.tobytes() if any(table) else None


def statement_spans(file: str, text: str | None = None) -> tuple[Span, ...]:
    """Return (first line, last line) of each simple statement of several lines.

    Statements that share a line make one span. `text` is the source, None to
    read it. Empty where there is none.
    """
    if text is None:
        state = file_state(file)
        if state is not None:
            return _spans_in(file, state)
        text = text_of(file)
    return _spans_of(text) if text else ()


@lru_cache(maxsize=4096)
def _spans_in(file: str, _state: tuple[int, ...]) -> tuple[Span, ...]:
    """Return the spans of a file, for as long as it stays as it is.

    Functions of a whole program come as they are first called, in any order: each
    file is to be parsed once. Its text is not kept.
    """
    text = text_of(file)
    return tuple(_joined(sorted(_find_spans(text)))) if text else ()


@lru_cache(maxsize=16)
def _spans_of(text: str) -> tuple[Span, ...]:
    """Return the spans of a text that is in no file, such as a cell of a notebook."""
    return tuple(_joined(sorted(_find_spans(text))))


def _find_spans(text: str) -> Iterator[Span]:
    try:
        flags = _ONLY_AST  # as ast.parse
        waiting: list[ast.AST] = [compile(text, "?", "exec", flags, dont_inherit=True)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    while waiting:
        node = waiting.pop()
        parts = [part for name in _PARTS for part in getattr(node, name, ())]
        waiting.extend(parts)
        if not parts:  # a simple statement, or an empty file, which has no lines
            start, end = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
            if end > start:
                yield start, end


def _joined(spans: Iterable[Span]) -> Iterator[Span]:
    open_span: Span | None = None
    for start, end in spans:
        if open_span is not None and start <= open_span[1]:
            open_span = (open_span[0], max(end, open_span[1]))
            continue
        if open_span is not None:
            yield open_span
        open_span = (start, end)
    if open_span is not None:
        yield open_span
