"""The truth about hits, told by `sys.settrace` in pure Python.

It shares nothing with lineprof but the rules, which are these:

R1  Every ``line`` event is one hit of its line, except for R2, R3 and R6.
R2  (3.12 and later, comprehensions that live in their function's own code,
    and loops that all() and its like become) A jump back to such a loop is no
    hit: an expression is part of its line.
R3  A simple statement (one that holds no other) which spans lines a to b:
    events of one frame that follow each other within a..b are one execution.
    In one execution line a counts exactly one hit, whichever line came first,
    and every other line at most one.  An event after one outside a..b, or by
    a loop's jump back (R2's do not count), begins the next execution.
    Statements that share a line are one span.  A lambda is one span in its own code;
    generator expressions and comprehensions with a code object of their own
    are not folded.  Without source there is no R3.
R4  Headers of compound statements count as `sys.settrace` counts them.
R5  A resumed generator or coroutine goes on in its line without a hit.
R6  (3.12 and later) So does a frame whose next event names the line that it is
    on, where no jump back led there: some lines are told of twice, like
    `x = a() or b()` by 3.12, or one that an exception is thrown into by 3.13.
    What is resumed is on the line where it was suspended, told of or not: 3.14
    says nothing of where control goes at the end of a comprehension's loop.

Whether an event came by a jump back is seen, not guessed: ``opcode`` events
tell the instruction that ran just before.
"""

from __future__ import annotations

import ast
import dis
import functools
import inspect
import linecache
import sys
import threading
from collections import Counter
from collections.abc import Callable
from types import CodeType, FrameType, FunctionType
from typing import Optional, Self, TypeVar

from flow import loop_jumps

Key = tuple[int, str]
"""First line and qualified name of a function."""

Hits = dict[Key, dict[int, int]]
Span = tuple[int, int]
T = TypeVar("T")
LocalTrace = Callable[[FrameType, str, object], Optional["LocalTrace"]]

UNFOLDED = frozenset({"<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>"})


def key_of(code: CodeType) -> Key:
    """Name a function as a profile names it."""
    return code.co_firstlineno, code.co_qualname


def codes_of(target: object) -> list[CodeType]:
    """Find the code objects behind anything that `@profile` may decorate."""
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


@functools.lru_cache(maxsize=8)
def spans_of(text: str) -> dict[int, Span]:
    """Map each line of a simple statement over several lines to its span."""
    found = [
        (node.lineno, node.end_lineno or node.lineno)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.stmt)
        and not hasattr(node, "body")
        and not hasattr(node, "cases")
    ]
    spans: list[Span] = []
    for first, last in sorted(span for span in found if span[0] != span[1]):
        if spans and first <= spans[-1][1]:
            spans[-1] = spans[-1][0], max(last, spans[-1][1])
        else:
            spans.append((first, last))
    return {line: span for span in spans for line in range(span[0], span[1] + 1)}


def loops_of(code: CodeType, jumps: dict[int, int]) -> list[Span]:
    """Find the offsets, first to last, of loops inside expressions of *code*.

    A loop statement begins with GET_ITER on what was just made.  Where a
    comprehension begins, the variables that it hides were put away (SWAP), and
    all(), any() and their like may loop over a generator that they called.
    Such a loop holds nothing but expressions, so that each jump back that
    lands between its head and its last jump to that head is one of its own.
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


class Shape:
    """What the rules need to know of one code object."""

    def __init__(self, code: CodeType) -> None:
        text = "".join(linecache.getlines(code.co_filename))
        self.raw = code.co_code
        self.jumps = loop_jumps(code)
        self.loops = loops_of(code, self.jumps)
        self.is_lambda = bool(text) and code.co_name == "<lambda>"
        self.whole = (code.co_firstlineno, sys.maxsize)
        folds = text and not self.is_lambda and code.co_name not in UNFOLDED
        self.spans = spans_of(text) if folds else {}

    def span(self, line: int) -> Span | None:
        """Tell the lines that count as one with *line*."""
        return self.whole if self.is_lambda else self.spans.get(line)

    def landing(self, before: int, offset: int) -> int | None:
        """Tell where the jump back led that ran before an event at *offset*.

        None when it was no jump back.  3.13 calls us from the jump itself.
        """
        while before >= 0 and self.raw[before] == dis.EXTENDED_ARG:
            before += 2
        target = self.jumps.get(before)
        return target if offset in (before, target) else None

    def in_comprehension(self, offset: int) -> bool:
        """Tell whether a jump to *offset* is part of a comprehension (R2)."""
        return any(first <= offset <= last for first, last in self.loops)


class Frame:
    """One run of a function: its hits, and what came before."""

    def __init__(self, owner: Oracle, frame: FrameType) -> None:
        self.owner = owner
        self.code = frame.f_code
        self.hits: Counter[int] = Counter()
        self.before = -1  # offset of the last instruction
        self.last = 0  # line of the last event
        self.span: Span | None = None  # of the last event
        self.seen: set[int] = set()  # lines of it that have their hit

    def __call__(self, frame: FrameType, event: str, _: object) -> Frame:
        """Take one event of this frame."""
        if event == "line" and self.owner.knows(self.code):
            shape = self.owner.shape_of(self.code)
            self.line(shape, frame.f_lineno, shape.landing(self.before, frame.f_lasti))
        if event in {"line", "opcode"}:
            self.before = frame.f_lasti
        return self

    def line(self, shape: Shape, line: int, landing: int | None) -> None:
        """Count a line event by the rules R1 to R3, and R6."""
        inner = landing is not None and shape.in_comprehension(landing)
        span = shape.span(line)
        goes_on, self.last = landing is None and line == self.last, line
        if goes_on and sys.version_info >= (3, 12):
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
        """Give *line* a hit, if its function is profiled just now."""
        if self.owner.counts(self.code):
            self.hits[line] += 1


class Oracle:
    """A stand-in for a profiler that knows nothing but hits.

    `trace` a program, hand the oracle to it as ``profile``, then ask `hits`.
    Frames of *file* and of decorated functions are watched, and those of
    registered functions counted.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self.enable_count = 0
        self._decorated: dict[int, CodeType] = {}
        self._added: dict[int, CodeType] = {}
        self._keys: dict[Key, None] = {}
        self._frames: list[Frame] = []
        self._shapes: dict[int, tuple[CodeType, Shape]] = {}

    def __call__(self, target: T) -> T:
        """Count *target* from now on; it is given back as it is."""
        self._register(target, self._decorated)
        return target

    def add_function(self, target: object) -> None:
        """Count *target* while the oracle is enabled."""
        self._register(target, self._added)

    def _register(self, target: object, where: dict[int, CodeType]) -> None:
        for code in codes_of(target):
            where[id(code)] = code  # equal code objects are not the same
            self._keys[key_of(code)] = None

    def enable_by_count(self) -> None:
        """Count functions that were added, too."""
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
        """Tell whether *code* is registered."""
        return id(code) in self._decorated or id(code) in self._added

    def counts(self, code: CodeType) -> bool:
        """Tell whether a line of *code* counts just now."""
        return id(code) in self._decorated or (
            self.enable_count > 0 and id(code) in self._added
        )

    def shape_of(self, code: CodeType) -> Shape:
        """Look at a code object once; equal ones may differ in their lines."""
        held = self._shapes.get(id(code))
        if held is None:
            held = self._shapes[id(code)] = code, Shape(code)
        return held[1]

    def _call(self, frame: FrameType, event: str, _: object) -> Frame | None:
        code = frame.f_code
        if event != "call" or not (code.co_filename == self.file or self.knows(code)):
            return None
        local: object = frame.f_trace  # a generator that is resumed has its own
        if not isinstance(local, Frame) or local.owner is not self:
            local = Frame(self, frame)
            self._frames.append(local)
        elif sys.version_info >= (3, 14):
            local.last = frame.f_lineno
        frame.f_trace = local
        frame.f_trace_opcodes = self.knows(code)
        return local

    def trace(self, run: Callable[[], T]) -> T:
        """Run a program and count; the tracer before is there again after.

        Threads that the program starts are traced, too.
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
        """Hits by line of every registered function, called or not."""
        total: dict[Key, Counter[int]] = {key: Counter() for key in self._keys}
        for frame in self._frames:
            if frame.hits:
                total[key_of(frame.code)].update(frame.hits)
        return {key: dict(sorted(lines.items())) for key, lines in total.items()}


def wake_opcode_events() -> None:
    """Let 3.12 know, before `sys.settrace`, that opcodes will be asked for."""
    frame = sys._getframe()  # the documented way to a frame
    frame.f_trace_opcodes = True
