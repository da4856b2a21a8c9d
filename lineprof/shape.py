"""What the tracer has to know of a code object before it runs.

A line event names a line and no more. Whether it begins a statement anew,
comes back to one that is under way, or goes round in a comprehension, is told
by tables made here, once per function, from its source and its bytecode.
"""

from __future__ import annotations

import opcode
import sys

from lineprof.far_lines import are_far, with_starts
from lineprof.loops import WITHIN, jump_marks
from lineprof.source_text import file_state, text_of
from lineprof.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast
    from collections.abc import Iterable, Iterator
    from types import CodeType

    Span = tuple[int, int]

MOST_LINES = 1 << 22  # of one function; more is a generated file's fiction

# What `inspect` and `ast` call CO_... and PyCF_ONLY_AST; importing them takes 8 ms.
_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200
_ONLY_AST = 0x400
_AWAITS = _COROUTINE | _ASYNC_GENERATOR
_STEPS = _GENERATOR | _AWAITS
_CODE_STEPS, _CODE_GATHERS, _CODE_FAR = 1, 4, 16  # in csrc/engine/code.h
_INLINED = sys.version_info >= (3, 12)  # comprehensions run in their function
_TAXED = sys.version_info < (3, 12)  # tracing slows every instruction
_RESUME = opcode.opmap.get("RESUME")
_EXTENDED_ARG = opcode.opmap["EXTENDED_ARG"]  # untraced: one with what follows
_FOR_ITER = opcode.opmap["FOR_ITER"]
_YIELDS = {
    opcode.opmap[name] for name in ("YIELD_VALUE", "YIELD_FROM") if name in opcode.opmap
}
_CACHE = opcode.opmap.get("CACHE")
_PARTS = ("body", "orelse", "finalbody", "handlers", "cases")  # of a statement
_OWN_SCOPES = frozenset(("<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>"))


class Shape(Value):
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


def describe(code: CodeType, text: str | None = None) -> Shape | None:
    """Return the shape of `code`, or None when its lines can't be counted.

    `text` is the source of its file where that can't be read.
    """
    ranges = list(_ranges(code))
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
    return Shape(
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


def _ranges(code: CodeType) -> Iterator[tuple[int, int, int]]:
    """Yield (start, end, line) of the runs of instructions, offsets in bytes."""
    if sys.version_info >= (3, 10):
        yield from _merged(code.co_lines())
        return
    from lineprof.jumps import line_starts  # noqa: PLC0415  # for 3.9 alone

    starts = line_starts(code)
    ends = [start for start, _ in starts[1:]] + [len(code.co_code)]
    for (start, line), end in zip(starts, ends):
        if line > 0 and start < end:
            yield start, end, line


def _merged(
    ranges: Iterable[tuple[int, int, int | None]],
) -> Iterator[tuple[int, int, int]]:
    """Yield the ranges that have a line, neighbours of the same line as one.

    From 3.11 on there is a range for each place within a line.
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
    """Return the byte offset of the RESUME that begins a call; -1 before 3.11."""
    if _RESUME is None:
        return -1
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
    from lineprof.jumps import for_loops  # noqa: PLC0415  # later versions do without

    table = _zeros("H", n_lines)
    opcodes = code.co_code[::2]
    # What stands before the head of a for loop runs once, the rest every turn.
    loops = for_loops(code) if _FOR_ITER in opcodes else []
    for begin, end, line in ranges:
        start = max((head for head in loops if begin <= head < end), default=begin)
        run = opcodes[start // 2 : end // 2]
        count = len(run) - run.count(_EXTENDED_ARG)
        if _CACHE is not None:
            count -= run.count(_CACHE)
        if not _YIELDS.isdisjoint(run):
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
        return _spans_in(file)
    return _spans_of(text) if text else ()


class _LastTexts:
    """The spans of the files read last.

    Functions of a whole program come as they are first called, in any order: each
    file is to be parsed once. Its text is not kept, but what tells it from others.
    """

    _MOST = 4096

    def __init__(self) -> None:
        self._spans: dict[tuple[int, int], tuple[Span, ...]] = {}

    def __call__(self, text: str) -> tuple[Span, ...]:
        key = (len(text), hash(text))
        spans = self._spans.get(key)
        if spans is None:
            if len(self._spans) >= self._MOST:
                self._spans.clear()
            spans = self._spans[key] = tuple(_joined(sorted(_find_spans(text))))
        return spans


_spans_of = _LastTexts()


class _LastFiles:
    """The spans of files, for as long as they stay as they are."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[object, tuple[Span, ...]]] = {}

    def __call__(self, file: str) -> tuple[Span, ...]:
        state = file_state(file)
        known = self._known.get(file)
        if known is not None and state is not None and known[0] == state:
            return known[1]
        text = text_of(file)
        spans = _spans_of(text) if text else ()
        self._known[file] = (state, spans)
        return spans


_spans_in = _LastFiles()


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
