"""Tables of a code object, from which the tracer interprets its line events.

A line event carries only a line number. Whether it starts a statement, returns to a
statement that spans several lines, or repeats in a comprehension, is looked up in
these tables. They are built once per function, from its source and its bytecode.
"""

from __future__ import annotations

import opcode
import sys
from bisect import bisect_left
from collections import namedtuple

from lineprof.bytecode.code_flags import ASYNC_GENERATOR, COROUTINE, GENERATOR
from lineprof.bytecode.instructions import (
    COMPREHENSION,
    are_far,
    jump_marks,
    with_starts,
)
from lineprof.source import FileContent, content_of, in_linecache, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import CodeType

    from lineprof._core import Tracer

    FindSpans = Callable[[bytes], bytes]
    Span = tuple[int, int]

_LONG_SEARCH = 64  # lines; see line_of() of csrc/hooks/trace_function.c
_MAX_LINES = 1 << 22  # of one function: line numbers further apart are invalid
_MAX_FILES = 4096  # whose statements are kept
_ESCAPED = ("'", '"', "\n", "N{")  # what may follow a backslash
_PYTHON = (".py", ".pyw")  # ends of names of files whose text is Python
_ONLY_AST = 0x400  # `ast.PyCF_ONLY_AST`; importing ast takes 8 ms
_AWAITS = COROUTINE | ASYNC_GENERATOR
_STEPS = GENERATOR | _AWAITS

# LP_CODE_... in csrc/engine/code.h
_GENERATOR, _ACTIVATES_TRACER, _HAS_COMPREHENSION, _FAR = 1, 2, 4, 16

_INLINED = sys.version_info >= (3, 12)  # comprehensions run in their function
_COUNTS_INSTRUCTIONS = sys.version_info < (3, 12)  # tracing slows each of them
_RESUME = opcode.opmap.get("RESUME", -1)
_EXTENDED_ARG = opcode.opmap.get("EXTENDED_ARG", -1)  # untraced, with what follows
_FOR_ITER = opcode.opmap.get("FOR_ITER", -1)
_YIELD = opcode.opmap.get("YIELD_VALUE", -1)
_CACHE = opcode.opmap.get("CACHE", -1)
_OWN_SCOPES = frozenset(("<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>"))


class CodeTables(
    namedtuple(
        "CodeTables",
        (
            "first_line",
            "n_lines",
            "flags",
            "awaits",
            "start",
            "statements",
            "instructions",
            "marks",
            "resumes",
        ),
    )
):
    """The arguments of ``Tracer.add_code`` after the code object and its key.

    Tables are packed integers in native byte order, one for each line or for each
    instruction (two bytes of bytecode); None stands for an empty table.
    """

    __slots__ = ()

    first_line: int
    n_lines: int
    flags: int
    awaits: bool
    start: int  # byte offset of the instruction at which a call begins, or -1
    statements: bytes | None  # uint32 a line: 1 + index of its statement's first line
    instructions: bytes | None  # uint16 a line: number of bytecode instructions
    marks: bytes | None  # uint8 an instruction: see `instructions.jump_marks`
    resumes: bytes | None  # uint32 an instruction: its line


def runs_in_steps(code: CodeType) -> bool:
    """Return whether calls of `code` make a generator or coroutine."""
    return bool(code.co_flags & _STEPS)


def register(  # noqa: PLR0913  # the properties of a code object
    tracer: Tracer,
    code: CodeType,
    key: object = None,
    source: FileContent | str | None = None,
    *,
    labelled: bool = True,
    enables: bool = False,
) -> bool:
    """Register `code` with `tracer`; False if its line numbers are invalid.

    A code object that is already registered, perhaps by another thread just now,
    stays as it is. `source` is the content of its file, or the text of code that is in
    no file; None reads the file. If NVTX ranges are on and `labelled` is true, calls
    and lines of `code` are ranges. With `enables`, calls of `code` enable the tracer,
    from the first call on.
    """
    tables = build_tables(code, source, tracer.statement_spans)
    if tables is None or not _add(tracer, code, key, tables, enables=enables):
        return tracer.has_code(code)
    if labelled and tracer.has_nvtx_ranges:
        from lineprof.bytecode.labels import labels_of  # noqa: PLC0415  # for NVTX tools only

        lines = range(tables.first_line, tables.first_line + tables.n_lines)
        tracer.set_labels(code, *labels_of(code, lines, source))
    return True


def _add(
    tracer: Tracer, code: CodeType, key: object, tables: CodeTables, *, enables: bool
) -> bool:
    return tracer.add_code(
        code,
        key,
        tables.first_line,
        tables.n_lines,
        tables.flags | _ACTIVATES_TRACER * enables,
        tables.awaits,
        tables.start,
        tables.statements,
        tables.instructions,
        tables.marks,
        tables.resumes,
    )


def build_tables(
    code: CodeType, source: FileContent | str | None, find_spans: FindSpans
) -> CodeTables | None:
    """Return the tables of `code`, or None if its line numbers are invalid.

    `source` is the content of its file, or the text of code that is in no file; None
    reads the file. `find_spans` is that of the core's tracers.
    """
    ranges = _within(code, list(_merged(code.co_lines())))
    numbers = [line for _, _, line in ranges]
    if not numbers:
        return None
    numbers.append(max(1, code.co_firstlineno))  # a lambda may start above its body
    first, last = min(numbers), max(numbers)
    if last - first >= _MAX_LINES:
        return None
    n_lines = last - first + 1
    statements = _statement_table(code, first, n_lines, source, find_spans)
    in_steps = runs_in_steps(code)
    far = are_far(code, ranges)
    marks = jump_marks(code, statements=far or statements is not None)
    has_comprehension = marks is not None and COMPREHENSION in marks
    if far:
        marks = with_starts(marks, code, ranges)
    return CodeTables(
        first_line=first,
        n_lines=n_lines,
        flags=_GENERATOR * in_steps
        | _HAS_COMPREHENSION * has_comprehension
        | _FAR * far,
        awaits=bool(code.co_flags & _AWAITS),
        start=_start(code),
        statements=statements,
        instructions=_instruction_table(code, ranges, first, n_lines)
        if _COUNTS_INSTRUCTIONS
        else None,
        marks=marks,
        resumes=_line_table(code, ranges)
        if _INLINED and (in_steps or marks is not None or n_lines > _LONG_SEARCH)
        else None,
    )


def _merged(
    ranges: Iterable[tuple[int, int, int | None]],
) -> Iterator[tuple[int, int, int]]:
    """Yield (start, end, line) of adjacent instructions of one line, in bytes.

    `ranges` has several for one line, by column, and some that have no line.
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


def _within(
    code: CodeType, ranges: list[tuple[int, int, int]]
) -> list[tuple[int, int, int]]:
    """Return `ranges` up to the end of the bytecode.

    The line table of code that a program made may go on beyond it.
    """
    size = len(code.co_code)
    if not ranges or ranges[-1][1] <= size:
        return ranges
    return [
        (start, min(end, size), line) for start, end, line in ranges if start < size
    ]


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
    from lineprof.bytecode.jumps import for_loops  # noqa: PLC0415  # for Python 3.11

    table = _zeros("H", n_lines)
    opcodes = code.co_code[::2]
    # Instructions before the head of a for loop run once, the others in every turn.
    loops = for_loops(code) if _FOR_ITER in opcodes else []
    for begin, end, line in ranges:
        start = max((head for head in loops if begin <= head < end), default=begin)
        run = opcodes[start // 2 : end // 2]
        count = len(run) - run.count(_EXTENDED_ARG) - run.count(_CACHE)
        if _YIELD in run:
            count = (count + 1) // 2  # half of them run before the yield
        table[line - first] = min(table[line - first] + count, 0xFFFF)
    return table.tobytes()


def _line_table(code: CodeType, ranges: Iterable[tuple[int, int, int]]) -> bytes:
    table = _zeros("I", len(code.co_code) // 2)
    for start, end, line in ranges:
        for place in range(start // 2, end // 2):
            table[place] = line
    return table.tobytes()


def _statement_table(
    code: CodeType,
    first: int,
    n_lines: int,
    source: FileContent | str | None,
    find_spans: FindSpans,
) -> bytes | None:
    if code.co_name in _OWN_SCOPES or n_lines == 1:
        return None
    last = first + n_lines - 1
    spans: Iterable[Span]
    if code.co_name == "<lambda>":
        spans = ((first, last),)
    else:
        packed = _file_spans(code.co_filename, source, find_spans)
        lines = memoryview(packed).cast("I")
        place = bisect_left(lines, first)
        place += place % 2  # a span that began before the function is not its own
        spans = zip(lines[place::2], lines[place + 1 :: 2])
    table = None
    for start, end in spans:
        if start > last:
            break
        table = table or _zeros("I", n_lines)
        for line in range(start, min(end, last) + 1):
            table[line - first] = 1 + start - first
    return None if table is None else table.tobytes()


def _file_spans(
    file: str, source: FileContent | str | None, find_spans: FindSpans
) -> bytes:
    """Return the spans of the statements of `file`: see `statement_spans`.

    Functions of a whole program are registered at their first call, in any order, and
    each file is read once. The result is kept, the content is not.
    """
    if source is None and not in_linecache(file):
        source = content_of(file)
    if source is None:
        source = text_of(file)
    if not source:
        return b""
    if isinstance(source, FileContent):
        key: object = (file, source.state, hash(source.data))
    else:
        key = (file, hash(source))  # a cell of a notebook, for example
    spans = _spans.get(key)
    if spans is None:
        if len(_spans) >= _MAX_FILES:
            _spans.clear()
        spans = _spans[key] = statement_spans(file, source, find_spans)
    return spans


_spans: dict[object, bytes] = {}  # by the state of a file


def statement_spans(
    file: str, source: FileContent | str, find_spans: FindSpans
) -> bytes:
    """Return (first line, last line) of each simple statement of several lines.

    They are pairs of uint32 in native byte order. Statements that share a line make one
    span. There are none if `source` is not Python.
    """
    if file.endswith(_PYTHON) and isinstance(source, FileContent) and source.is_utf8:
        return find_spans(source.data)
    text = source.text() if isinstance(source, FileContent) else source
    if not file.endswith(_PYTHON) and not _is_python(text):
        return b""  # a template, whose code has the template's name
    return find_spans(text.encode("utf-8", "surrogatepass"))


def _is_python(text: str) -> bool:
    try:
        compile(
            _without_invalid_escapes(text), "?", "exec", _ONLY_AST, dont_inherit=True
        )
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _without_invalid_escapes(text: str) -> str:
    """Return `text` with the same tokens and lines, and no invalid escapes.

    Python has warned of them when it compiled the program. To switch warnings off for
    a second time is not safe: the program may do the same in another thread.
    """
    first, *parts = text.split("\\")
    made = [first]
    is_escaped = False  # by another backslash
    for part in parts:
        may_be_valid = part.startswith(_ESCAPED) or is_escaped
        made.append(f"\\{part}" if part == "" or may_be_valid else f"x{part}")
        is_escaped = part == "" and not is_escaped
    return "".join(made)
