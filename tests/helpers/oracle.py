"""The oracle: correct hits of a program, by `sys.settrace` in pure Python.

The oracle shares no code with lineprof, only these rules:

R1  Every ``line`` event is one hit of its line, except for R2, R3, R6 and R8.
R2  (3.12 and later, comprehensions that live in their function's own code,
    and loops that all() and its like become) A jump back to such a loop is no
    hit: an expression is part of its line.
R3  A simple statement (one that holds no other), or the head of a compound one with
    its decorators, which spans lines a to b: events of one frame that follow each
    other within a..b are one execution.  In one execution line a counts exactly one
    hit, whichever line came first, and every other line at most one.  An event after
    one outside a..b, or by a loop's jump back (R2's do not count), begins the next.
    Statements that share a line are one span.  A lambda is one span in its own code;
    generator expressions and comprehensions with a code object of their own
    are not folded.  Without source there is no R3.
R4  Heads on one line count as `sys.settrace` counts them; before 3.14 it does not
    tell of the last test of a `while` (`check_lines` takes executions for that).
R5  A resumed generator or coroutine continues in its line without a hit.
R6  The same holds for a frame whose next event names its current line, unless a
    jump back led there: some lines have two events, like `x = a() or b()` in
    3.12, a line that an exception is thrown into in 3.13, and in 3.11
    `x = (a and b) if c else d` and `with a, b:` that an exception passes.
    A resumed frame is on the line where it was suspended, with or without an
    event: 3.14 has none for the end of a comprehension's loop.
R7  (3.12 and later) An instruction of another line than the last event begins
    that line, also if it has no ``line`` event: 3.14 has none for a copy of a
    statement that follows the end of a loop, if another copy stands before that end.
R8  (3.11) An event in code that the compiler adds for exceptions is none, and the
    frame stays on its line: that code has the line of whatever was compiled
    before.  It is a RERAISE, unless its line has a statement that compiles to
    nothing else (`pass`, a constant); a handler that does not begin with
    PUSH_EXC_INFO; the end of `except*`; the NOP at the end of an `async with`,
    if its line has a statement that compiles to other code; and the jump at the end
    of a `case`, which in 3.11.2 has the line of the instruction before.  (Where the
    last statement is a declaration, or never reached, the bytecode is that of a
    `pass`.)
R6 and R8 are about events that are no executions: where `sys.settrace` and
executions differ, executions count.

Jumps back are observed: ``opcode`` events name the instruction that ran just
before.
"""

from __future__ import annotations

import ast
import bisect
import dis
import functools
import inspect
import io
import itertools
import linecache
import sys
import threading
import tokenize
from collections import Counter
from collections.abc import Callable
from types import CodeType, FrameType, FunctionType
from typing import Optional, Self, TypeVar

from control_flow import loop_jumps

Key = tuple[int, str]
"""First line and qualified name of a function."""

Hits = dict[Key, dict[int, int]]
Span = tuple[int, int]
T = TypeVar("T")
Placed = ast.stmt | ast.ExceptHandler | ast.pattern
LocalTrace = Callable[[FrameType, str, object], Optional["LocalTrace"]]

UNFOLDED = frozenset({"<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>"})


def key_of(code: CodeType) -> Key:
    """Return a function's key as in a profile."""
    return code.co_firstlineno, code.co_qualname


def codes_of(target: object) -> list[CodeType]:
    """Return the code objects of any target that `@profile` may decorate."""
    if isinstance(target, FunctionType):
        return [target.__code__]
    if isinstance(target, type):
        members = list(vars(target).values())
        return [code for member in members for code in codes_of(member)]
    if isinstance(target, property):
        members = [target.fget, target.fset, target.fdel]
        return [code for member in members for code in codes_of(member)]
    kinds = (functools.partial, functools.partialmethod, functools.cached_property)
    if isinstance(target, kinds):
        return codes_of(target.func)
    if isinstance(target, (classmethod, staticmethod)) or inspect.ismethod(target):
        return codes_of(target.__func__)
    return codes_of(getattr(target, "__wrapped__", None)) if target else []


HEADS = (ast.For, ast.AsyncFor, ast.While, ast.If, ast.With, ast.AsyncWith, ast.Match)
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@functools.lru_cache(maxsize=8)
def spans_of(text: str) -> dict[int, Span]:
    """Return the span of each line of a statement, or a head, of several lines."""
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    places = [token.start for token in tokens]
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DEFINITIONS):
            first = min((d.lineno for d in node.decorator_list), default=node.lineno)
            found.append((first, head_end(tokens, places, node)))
        elif isinstance(node, (*HEADS, ast.ExceptHandler)):
            found.append((node.lineno, head_end(tokens, places, node)))
        elif isinstance(node, ast.match_case):
            first, last = case_head(tokens, places, node.pattern)
            found.append((first, last))
        elif (
            isinstance(node, ast.stmt)
            and not hasattr(node, "body")
            and not hasattr(node, "cases")
        ):
            found.append((node.lineno, node.end_lineno or node.lineno))
    spans: list[Span] = []
    for first, last in sorted(span for span in found if span[0] != span[1]):
        if spans and first <= spans[-1][1]:
            spans[-1] = spans[-1][0], max(last, spans[-1][1])
        else:
            spans.append((first, last))
    return {line: span for span in spans for line in range(span[0], span[1] + 1)}


def head_end(
    tokens: list[tokenize.TokenInfo], places: list[tuple[int, int]], node: Placed
) -> int:
    """Return the line of the last token before the colon that ends a head."""
    depth = lambdas = 0
    last = node.lineno
    for token in tokens[bisect.bisect_left(places, (node.lineno, node.col_offset)) :]:
        if token.string == ":" and depth == 0 and lambdas == 0:
            break
        if token.type in {tokenize.COMMENT, tokenize.NL}:
            continue
        if token.type == tokenize.OP:
            depth += (token.string in "([{") - (token.string in ")]}")
        lambdas += (token.string == "lambda") if depth == 0 else 0
        lambdas -= (token.string == ":") if depth == 0 else 0
        last = token.end[0]
    return last


def case_head(
    tokens: list[tokenize.TokenInfo], places: list[tuple[int, int]], node: Placed
) -> Span:
    """Return the lines of the head of a case by its pattern."""
    at = bisect.bisect_left(places, (node.lineno, node.col_offset))
    while tokens[at].string != "case" or tokens[at].line[: tokens[at].start[1]].strip():
        at -= 1
    first = ast.Pass(lineno=places[at][0], col_offset=places[at][1])
    return places[at][0], head_end(tokens, places, first)


def loops_of(code: CodeType, jumps: dict[int, int]) -> list[Span]:
    """Return the first and last offsets of the loops inside expressions of *code*.

    A loop statement begins with GET_ITER on a new value.  At the start of a
    comprehension the variables that it hides were saved (SWAP), and all(), any()
    and similar functions may loop over a generator that they called.  Such a loop
    consists of expressions alone, so each jump back that lands between its head and
    the last jump to that head belongs to the loop.
    """
    if sys.version_info < (3, 12):
        return []
    heads: set[int] = set()
    before, earlier = "", ""
    for step in dis.get_instructions(code):
        if before in {"GET_ITER", "GET_AITER"}:
            inside = earlier == "SWAP"
        else:
            inside = before in {"SWAP", "CALL", "PUSH_NULL"}
        if step.opname in {"FOR_ITER", "GET_ANEXT"} and inside:
            heads.add(step.offset)
        earlier, before = before, step.opname
    last = {target: source for source, target in jumps.items() if target in heads}
    return list(last.items())


@functools.lru_cache(maxsize=8)
def empty_lines(text: str) -> frozenset[int]:
    """Return the lines of statements that compile to a NOP, or to nothing."""
    simple = (ast.Pass, ast.Break, ast.Continue, ast.Return)
    return frozenset(
        node.lineno
        for node in ast.walk(ast.parse(text))
        if isinstance(node, simple)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    )


def added_code(code: CodeType, text: str) -> set[int]:
    """Return the offsets of the instructions that rule R8 is about."""
    steps = list(dis.get_instructions(code))
    known = [step.positions for step in steps]
    lines = [(one.lineno if one else None) or 0 for one in known]
    times = Counter(lines)
    places = {step.offset: place for place, step in enumerate(steps)}
    empty = empty_lines(text)
    heads = {
        lines[place]
        for place, step in enumerate(steps)
        if step.opname == "BEFORE_ASYNC_WITH"
    }
    handlers = {
        places[entry.target]
        for entry in dis._parse_exception_table(code)  # type: ignore[attr-defined]
    }
    found: set[int] = set()
    for place, step in enumerate(steps):
        inner = place in handlers and step.opname not in {
            "PUSH_EXC_INFO",
            "END_ASYNC_FOR",
        }
        star = step.opname == "PREP_RERAISE_STAR"
        if star:
            found.add(steps[place - 1].offset)
        if inner or star:
            found.add(step.offset)
            rest = itertools.takewhile(lambda one: not is_last(one), steps[place + 1 :])
            if inner:  # the next clause of an `except*` may follow
                rest = itertools.takewhile(lambda one: not one.is_jump_target, rest)
            found.update(one.offset for one in rest)
        if step.opname == "RERAISE" and lines[place] not in empty:
            found.add(step.offset)
        if step.opname == "NOP" and lines[place] not in empty:
            after, line = lines[place + 1], lines[place]
            if after in heads and times[line] > 1 and after < line:
                found.add(step.offset)
        whole = itertools.dropwhile(is_extended, steps[place:])
        ends = next(whole).opname in {"NOP", "JUMP_FORWARD"}
        if ends and place and lines[place - 1] == lines[place]:
            found.add(step.offset)
    return found


def is_extended(step: dis.Instruction) -> bool:
    """Return whether the instruction is a part of the next one."""
    return step.opname == "EXTENDED_ARG"


def is_last(step: dis.Instruction) -> bool:
    """Return whether the code that R8 is about ends at this instruction."""
    return step.opname in {"RERAISE", "JUMP_FORWARD", "JUMP_BACKWARD", "RETURN_VALUE"}


class CodeTables:
    """Spans and jumps of one code object, which the rules need."""

    def __init__(self, code: CodeType) -> None:
        text = "".join(linecache.getlines(code.co_filename))
        self.raw = code.co_code
        self.jumps = loop_jumps(code)
        self.loops = loops_of(code, self.jumps)
        self.is_lambda = bool(text) and code.co_name == "<lambda>"
        self.all_lines = (code.co_firstlineno, sys.maxsize)
        folds = text and not self.is_lambda and code.co_name not in UNFOLDED
        self.spans = spans_of(text) if folds else {}
        self.added = added_code(code, text) if sys.version_info < (3, 12) else set()

    def span(self, line: int) -> Span | None:
        """Return the span of lines that counts as one with *line*."""
        return self.all_lines if self.is_lambda else self.spans.get(line)

    def landing(self, before: int, offset: int) -> int | None:
        """Return the target of the jump back that ran before an event at *offset*.

        Returns None if it was another instruction.  In 3.13 the event is at the
        jump itself.
        """
        while before >= 0 and self.raw[before] == dis.EXTENDED_ARG:
            before += 2
        target = self.jumps.get(before)
        return target if offset in (before, target) else None

    def in_comprehension(self, offset: int) -> bool:
        """Return whether a jump to *offset* is part of a comprehension (R2)."""
        return any(first <= offset <= last for first, last in self.loops)


class Frame:
    """One run of a function: its hits, and its previous event."""

    def __init__(self, owner: Oracle, frame: FrameType) -> None:
        self.owner = owner
        self.code = frame.f_code
        self.hits: Counter[int] = Counter()
        self.before = -1  # offset of the last instruction
        self.last = 0  # line of the last event
        self.span: Span | None = None  # that the last event is in
        self.seen: set[int] = set()  # lines of the span that have their hit

    def __call__(self, frame: FrameType, event: str, _: object) -> Frame:
        """Handle one event of this frame."""
        hidden = event == "opcode" and self.is_hidden(frame)
        if (event == "line" or hidden) and self.owner.knows(self.code):
            tables = self.owner.tables_of(self.code)
            landing = tables.landing(self.before, frame.f_lasti)
            if frame.f_lasti not in tables.added:
                self.line(tables, frame.f_lineno, landing)
        if event in {"line", "opcode"}:
            self.before = frame.f_lasti
        return self

    def is_hidden(self, frame: FrameType) -> bool:
        """Return whether a line begins without a line event (R7)."""
        known: int | None = frame.f_lineno  # None where the compiler gives none
        return sys.version_info >= (3, 12) and known not in {None, self.last}

    def line(self, tables: CodeTables, line: int, landing: int | None) -> None:
        """Count a line event by the rules R1 to R3 and R6 to R8."""
        inner = landing is not None and tables.in_comprehension(landing)
        span = tables.span(line)
        continues, self.last = landing is None and line == self.last, line
        if continues:
            return
        if span is None:
            self.span = None
            if not inner:
                self.count(line)
            return
        if span != self.span or (landing is not None and not inner):
            self.span, self.seen = span, {span[0]}
            self.count(span[0])
        if line not in self.seen and not inner:
            self.seen.add(line)
            self.count(line)

    def count(self, line: int) -> None:
        """Give *line* a hit if its function is being profiled."""
        if self.owner.counts(self.code):
            self.hits[line] += 1


class Oracle:
    """A stand-in for a profiler, which counts hits alone.

    `trace` a program that has the oracle as ``profile``, then read `hits`.
    Frames of *file* and of decorated functions are traced; those of registered
    functions are counted.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self.enable_count = 0
        self._decorated: dict[int, CodeType] = {}
        self._added: dict[int, CodeType] = {}
        self._keys: dict[Key, None] = {}
        self._frames: list[Frame] = []
        self._tables: dict[int, tuple[CodeType, CodeTables]] = {}

    def __call__(self, target: T) -> T:
        """Count *target* from now on; return *target* unchanged."""
        self._register(target, self._decorated)
        return target

    def add_function(self, target: object) -> None:
        """Count *target* while the oracle is enabled."""
        self._register(target, self._added)

    def _register(self, target: object, where: dict[int, CodeType]) -> None:
        for code in codes_of(target):
            where[id(code)] = code  # equal code objects may be different ones
            self._keys[key_of(code)] = None

    def enable_by_count(self) -> None:
        """Also count functions that were added."""
        self.enable_count += 1

    def disable_by_count(self) -> None:
        """Undo one `enable_by_count`."""
        self.enable_count -= 1

    def __enter__(self) -> Self:
        """Enable until the block ends."""
        self.enable_by_count()
        return self

    def __exit__(self, *_: object) -> None:
        """Disable."""
        self.disable_by_count()

    def knows(self, code: CodeType) -> bool:
        """Return whether *code* is registered."""
        return id(code) in self._decorated or id(code) in self._added

    def counts(self, code: CodeType) -> bool:
        """Return whether a line of *code* counts now."""
        return id(code) in self._decorated or (
            self.enable_count > 0 and id(code) in self._added
        )

    def tables_of(self, code: CodeType) -> CodeTables:
        """Return the tables of a code object; equal ones may differ in their lines."""
        held = self._tables.get(id(code))
        if held is None:
            held = self._tables[id(code)] = code, CodeTables(code)
        return held[1]

    def _call(self, frame: FrameType, event: str, _: object) -> Frame | None:
        code = frame.f_code
        if event != "call" or not (code.co_filename == self.file or self.knows(code)):
            return None
        local: object = frame.f_trace  # that of a resumed generator
        if not isinstance(local, Frame) or local.owner is not self:
            local = Frame(self, frame)
            self._frames.append(local)
        elif sys.version_info >= (3, 14):
            local.last = frame.f_lineno
        frame.f_trace = local
        frame.f_trace_opcodes = self.knows(code)
        return local

    def trace(self, run: Callable[[], T]) -> T:
        """Run a program and count its hits; then restore the previous trace function.

        Threads that the program starts are also traced.
        """
        earlier = sys.gettrace()
        wake_opcode_events()
        threading.settrace(self._call)
        sys.settrace(self._call)
        try:
            return run()
        finally:
            sys.settrace(earlier)
            threading.settrace(None)

    def hits(self) -> Hits:
        """Return the hits by line of every registered function, called or not."""
        total: dict[Key, Counter[int]] = {key: Counter() for key in self._keys}
        for frame in self._frames:
            if frame.hits:
                total[key_of(frame.code)].update(frame.hits)
        return {key: dict(sorted(lines.items())) for key, lines in total.items()}


def wake_opcode_events() -> None:
    """Tell 3.12, before `sys.settrace`, that opcode events will be needed."""
    frame = sys._getframe()  # the documented way to get a frame
    frame.f_trace_opcodes = True
