"""Hits of a program that counts its own executions, without tracing.

The source is rewritten so that each part of a statement says that it runs, and the
program is run as usual.  What counts as a hit is thus stated in terms of the source;
no rule depends on the version of Python.

A *logical line* is what the tokenizer calls so: a statement over several lines, or
the head of one, is as if it stood on its first line, with everything that shares a
line with it.  A call *visits* a logical line: the visit begins when it comes from
another line, or when a part runs that ran before in the same visit.  Each visit is
one hit, of the first line.  The parts of a line are

- each simple statement, except those without code: ``global``, ``nonlocal``, the
  annotation of a name without a value, the docstring
- the head of ``for`` and ``async for``, once for each ``next()``; of ``while``,
  ``if`` and ``elif``, for each test
- the head of ``with`` and ``async with``, when it is entered, and when control leaves
  the block, in whatever way
- ``try:``; each clause ``except`` whose type is examined, and one without a type when
  it is entered; not ``else:`` and ``finally:``
- ``match``, and each ``case`` that is tried
- each decorator, and the line of the ``def`` or ``class``, but where defaults on lines
  below come first: there it counts once the function is made
- the first line of a function that has no statement with code, for each call

A lambda is one line of its own code, with one hit for each call.
"""

from __future__ import annotations

import ast
import functools
import inspect
import io
import sys
import tokenize
from collections import Counter
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import (
        AsyncIterable,
        AsyncIterator,
        Awaitable,
        Callable,
        Iterable,
        Iterator,
    )

Key = tuple[int, str]
"""First line and qualified name of a function."""

Hits = dict[Key, dict[int, int]]
Place = tuple[int, int]
"""Line and column where a part begins."""

T = TypeVar("T")
Located = ast.stmt | ast.expr | ast.ExceptHandler | ast.pattern

# Names in the rewritten program: of its globals, and of a local variable.
VISIT, LAMBDA, TURNS, ASYNC_TURNS = "__visit__", "__lambda__", "__turns__", "__aturns__"
AT = "__at__"
SAME = "__same__"


# --- while the program runs -----------------------------------------------------


class Visit:
    """The visits of one call of a function to its lines."""

    __slots__ = ("code", "hits", "last", "owner", "seen")

    def __init__(self, owner: Executions, code: CodeType) -> None:
        self.owner = owner
        self.code = code
        self.hits: Counter[int] = Counter()
        self.last = 0  # the line of the present visit
        self.seen: set[int] = set()  # parts of the line that it has run

    def at(self, line: int, part: int) -> bool:
        """Count a hit of *line*, unless *part* belongs to the present visit."""
        if line != self.last or part in self.seen:
            self.last = line
            self.seen = set()
            if self.owner.counts(self.code):
                self.hits[line] += 1
        self.seen.add(part)
        self.owner.runs[part] += 1
        return False


class Turns:
    """An iterable whose iterator counts each ``next()``, the first excepted."""

    __slots__ = ("at", "begun", "iterator", "line", "part")

    def __init__(
        self,
        at: Callable[[int, int], bool],
        line: int,
        part: int,
        iterable: Iterable[object],
    ) -> None:
        self.at, self.line, self.part = at, line, part
        self.iterator: Iterator[object] = iter(iterable)
        self.begun = False

    def __iter__(self) -> Self:
        """Return itself: it is used once."""
        return self

    def __next__(self) -> object:
        """Count, except for the first time, and go on."""
        if self.begun:
            self.at(self.line, self.part)
        self.begun = True
        return next(self.iterator)


class AsyncTurns:
    """The same for ``async for``."""

    __slots__ = ("at", "begun", "iterator", "line", "part")

    def __init__(
        self,
        at: Callable[[int, int], bool],
        line: int,
        part: int,
        iterable: AsyncIterable[object],
    ) -> None:
        self.at, self.line, self.part = at, line, part
        self.iterator: AsyncIterator[object] = aiter(iterable)
        self.begun = False

    def __aiter__(self) -> Self:
        """Return itself: it is used once."""
        return self

    def __anext__(self) -> Awaitable[object]:
        """Count, except for the first time, and go on."""
        if self.begun:
            self.at(self.line, self.part)
        self.begun = True
        return self.iterator.__anext__()


def same(target: T) -> T:
    """Decorate nothing: its place in the order of decorators is the line of def."""
    return target


def begins_below(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef,
) -> bool:
    """Return whether a definition's line runs after other lines of its head.

    The defaults of a function are evaluated first; its line makes the function.
    """
    if isinstance(node, ast.ClassDef):
        return False
    defaults = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
    return bool(defaults) and defaults[0].lineno != node.lineno


def codes_of(target: object) -> list[CodeType]:
    """Return the code objects of any target that `@profile` may decorate."""
    if isinstance(target, FunctionType):
        return [target.__code__]
    if isinstance(target, type):
        members = list(vars(target).values())
        return [code for member in members for code in codes_of(member)]
    if isinstance(target, property):
        accessors = (target.fget, target.fset, target.fdel)
        return [code for accessor in accessors for code in codes_of(accessor)]
    kinds = (functools.partial, functools.partialmethod, functools.cached_property)
    if isinstance(target, kinds):
        return codes_of(target.func)
    if isinstance(target, (classmethod, staticmethod)) or inspect.ismethod(target):
        return codes_of(target.__func__)
    return codes_of(getattr(target, "__wrapped__", None)) if target else []


class Executions:
    """A stand-in for a profiler, for rewritten programs.

    Run the code that `compile` makes with the names of `namespace` among its globals,
    and the object itself as ``profile``; then read `hits`.
    """

    def __init__(self) -> None:
        self.enable_count = 0
        self._decorated: dict[int, CodeType] = {}
        self._added: dict[int, CodeType] = {}
        self._visits: list[Visit] = []
        self.runs: Counter[int] = Counter()  # of each part
        self.places: list[Place] = []  # where each part begins

    def __call__(self, target: T) -> T:
        """Count *target* from now on; return *target* unchanged."""
        self._register(target, self._decorated)
        return target

    def add_function(self, target: object) -> None:
        """Count *target* while enabled."""
        self._register(target, self._added)

    @staticmethod
    def _register(target: object, where: dict[int, CodeType]) -> None:
        for code in codes_of(target):
            where[id(code)] = code  # equal code objects may be different ones

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

    def counts(self, code: CodeType) -> bool:
        """Return whether a line of *code* counts now."""
        return id(code) in self._decorated or (
            self.enable_count > 0 and id(code) in self._added
        )

    def _visit(self) -> Callable[[int, int], bool]:
        """Begin the first visit of the calling function."""
        visit = Visit(self, sys._getframe(1).f_code)
        self._visits.append(visit)
        return visit.at

    def _lambda(self, line: int) -> bool:
        """Count a call of the calling lambda."""
        visit = Visit(self, sys._getframe(1).f_code)
        self._visits.append(visit)
        return visit.at(line, -1)

    def namespace(self) -> dict[str, object]:
        """Return the globals that a rewritten program needs."""
        return {
            VISIT: self._visit,
            LAMBDA: self._lambda,
            TURNS: Turns,
            ASYNC_TURNS: AsyncTurns,
            SAME: same,
        }

    def compile(self, text: str, file: str) -> CodeType:
        """Return the code of a program, rewritten."""
        rewriter = Rewriter(text)
        self.places = rewriter.places
        return compile(rewriter.program(), file, "exec", dont_inherit=True)

    def ran(self) -> set[Place]:
        """Return where the parts begin that have run."""
        return {self.places[part] for part in self.runs if part >= 0}

    def hits(self) -> Hits:
        """Return the hits by line of every registered function, called or not."""
        total: dict[Key, Counter[int]] = {
            (code.co_firstlineno, code.co_qualname): Counter()
            for code in [*self._decorated.values(), *self._added.values()]
        }
        for visit in self._visits:
            if visit.hits:
                key = (visit.code.co_firstlineno, visit.code.co_qualname)
                total[key].update(visit.hits)
        return {key: dict(sorted(lines.items())) for key, lines in total.items()}


# --- before it runs -----------------------------------------------------------


def logical_lines(text: str) -> dict[int, int]:
    """Return the first line of the logical line that each line is part of."""
    found: dict[int, int] = {}
    first = 0
    blank = (tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in blank:
            first = first or token.start[0]
            for line in range(token.start[0], token.end[0] + 1):
                found.setdefault(line, first)
        if token.type == tokenize.NEWLINE:
            for line in range(first, token.start[0] + 1):
                found.setdefault(line, first)  # comments inside, and empty lines
            first = 0
    return found


def has_code(node: ast.stmt) -> bool:
    """Return whether a simple statement has any code."""
    if isinstance(node, ast.AnnAssign) and node.value is None:
        return not isinstance(node.target, ast.Name)
    return not isinstance(node, (ast.Global, ast.Nonlocal))


def line_of(node: Located) -> int:
    """Return the line where a node begins."""
    return node.lineno


def is_text(node: ast.stmt) -> bool:
    """Return whether a statement is a string alone."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


class Rewriter:
    """Changes the statements of a program to ones that count themselves."""

    def __init__(self, text: str) -> None:
        self.lines = logical_lines(text)
        self.text = text
        self.places: list[Place] = []  # of each part

    def program(self) -> ast.Module:
        """Return the program, to be compiled."""
        tree = ast.parse(self.text)
        tree.body = self.block(tree.body, counted=False)
        return ast.fix_missing_locations(tree)

    # --- pieces ------------------------------------------------------------------

    def arguments(self, node: Located) -> list[ast.expr]:
        """Return line and number of a new part, which begins with *node*."""
        self.places.append((node.lineno, node.col_offset))
        line = self.lines[node.lineno]
        return [ast.Constant(line), ast.Constant(len(self.places) - 1)]

    def at(self, node: Located) -> ast.expr:
        """Return a call, false, which counts a new part."""
        return ast.Call(ast.Name(AT, ast.Load()), self.arguments(node), [])

    def statement(self, node: Located) -> ast.stmt:
        """Return the same as a statement."""
        return ast.Expr(self.at(node))

    def first(self, node: Located, then: ast.expr) -> ast.expr:
        """Return an expression that counts and has the value of another one."""
        return ast.BoolOp(ast.Or(), [self.at(node), then])

    # --- blocks ------------------------------------------------------------------

    def block(self, body: list[ast.stmt], *, counted: bool) -> list[ast.stmt]:
        """Return the statements of a block; *counted*: of a function."""
        return [new for node in body for new in self.one(node, counted=counted)]

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Change the body of a function."""
        begin = ast.Assign(
            [ast.Name(AT, ast.Store())],
            ast.Call(ast.Name(VISIT, ast.Load()), [], []),
        )
        doc = node.body[:1] if is_text(node.body[0]) else []
        rest = node.body[len(doc) :]
        body = self.block(rest, counted=True)
        if not any(has_code(each) for each in rest):
            body.append(self.statement(min([node, *node.decorator_list], key=line_of)))
        node.body = [*doc, begin, *body]

    def one(self, node: ast.stmt, *, counted: bool) -> list[ast.stmt]:
        """Return the statements that take the place of *node*."""
        self.lambdas(node)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self.function(node)
            return self.definition(node, counted=counted)
        if isinstance(node, ast.ClassDef):
            node.body = self.block(node.body, counted=False)
            return self.definition(node, counted=counted)
        if counted:
            change = getattr(self, f"change_{type(node).__name__.lower()}", None)
            if change is not None:
                changed: list[ast.stmt] = change(node)
                return changed
        self.inside(node, counted=counted)
        if counted and has_code(node):
            return [self.statement(node), node]
        return [node]

    def inside(self, node: ast.AST, *, counted: bool) -> None:
        """Change the blocks of a statement."""
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            if body:
                setattr(node, name, self.block(body, counted=counted))
        for name in ("handlers", "cases"):
            for part in getattr(node, name, ()):
                self.inside(part, counted=counted)

    def lambdas(self, node: ast.stmt) -> None:
        """Change the lambdas of a statement, without those of its blocks."""
        todo: list[ast.AST] = [node]
        while todo:
            for child in ast.iter_child_nodes(todo.pop()):
                if isinstance(child, ast.stmt):
                    continue
                todo.append(child)
                if isinstance(child, ast.Lambda):
                    name = ast.Name(LAMBDA, ast.Load())
                    call = ast.Call(name, [ast.Constant(child.lineno)], [])
                    child.body = ast.BoolOp(ast.Or(), [call, child.body])

    # --- statements that hold others ------------------------------------------------

    def definition(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef,
        *,
        counted: bool,
    ) -> list[ast.stmt]:
        """Return a definition with its decorators."""
        if not counted:
            return [node]
        if not node.decorator_list:
            return [self.statement(node), node]
        decorators = [
            ast.copy_location(self.first(each, each), each)
            for each in node.decorator_list
        ]
        place: ast.expr
        if begins_below(node):
            parameters = ast.arguments([], [ast.arg("made")], None, [], [], None, [])
            made = self.first(node, ast.Name("made", ast.Load()))
            place = ast.Lambda(parameters, made)
        else:
            place = self.first(node, ast.Name(SAME, ast.Load()))
        node.decorator_list = decorators
        ast.copy_location(place, node)
        place.end_lineno = node.lineno
        node.decorator_list.append(place)
        return [node]

    def change_if(self, node: ast.If | ast.While) -> list[ast.stmt]:
        """Count each test; ``elif`` is an ``if`` in an ``else``."""
        node.test = self.first(node, node.test)
        self.inside(node, counted=True)
        return [node]

    change_while = change_if

    def change_for(self, node: ast.For | ast.AsyncFor) -> list[ast.stmt]:
        """Count each turn, and the end."""
        place = self.arguments(node)
        name = TURNS if isinstance(node, ast.For) else ASYNC_TURNS
        before = ast.Expr(ast.Call(ast.Name(AT, ast.Load()), place, []))
        node.iter = ast.Call(
            ast.Name(name, ast.Load()),
            [ast.Name(AT, ast.Load()), *place, node.iter],
            [],
        )
        self.inside(node, counted=True)
        return [before, node]

    change_asyncfor = change_for

    def change_with(self, node: ast.With | ast.AsyncWith) -> list[ast.stmt]:
        """Count entering, and leaving in whatever way."""
        self.inside(node, counted=True)
        leaving = [self.statement(node)]
        node.body = [ast.Try(node.body, [], [], leaving)]
        return [self.statement(node), node]

    change_asyncwith = change_with

    def change_try(self, node: ast.Try) -> list[ast.stmt]:
        """Count the beginning, and each clause."""
        self.inside(node, counted=True)
        for clause in node.handlers:
            if clause.type is None:
                clause.body.insert(0, self.statement(clause))
            else:
                clause.type = self.first(clause, clause.type)
        return [self.statement(node), node]

    change_trystar = change_try

    def change_match(self, node: ast.Match) -> list[ast.stmt]:
        """Count the beginning, and each case that is tried."""
        self.inside(node, counted=True)
        cases: list[ast.match_case] = []
        for case in node.cases:
            tried = self.at(case.pattern)
            cases.append(ast.match_case(ast.MatchAs(), tried, [ast.Pass()]))
            cases.append(case)
        node.cases = cases
        return [self.statement(node), node]


def differences(text: str, truth: Hits, found: Hits) -> dict[int, tuple[int, int]]:
    """Return the lines with other hits than executions: what both counted.

    The first line of each logical line must have the same hits; another one, which a
    profiler counts where Python has an event for it, at most as many, and defaults as
    many as the first decorator.  Line 0: other functions.
    """
    wrong: dict[int, tuple[int, int]] = {}
    if set(truth) != set(found):
        wrong[0] = len(truth), len(found)
    firsts = logical_lines(text)
    decorated = {
        node.lineno: node.decorator_list[0].lineno
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and node.decorator_list
        and begins_below(node)
    }
    for key in truth.keys() & found.keys():
        here, there = truth[key], found[key]
        is_lambda = key[1].endswith("<lambda>")  # one line of its own code
        for line in here.keys() | there.keys():
            first = key[0] if is_lambda else firsts.get(line, line)
            begin = first if line == first else decorated.get(first, first)
            expected, counted = here.get(begin, 0), there.get(line, 0)
            if counted > expected or (line == first and counted != expected):
                wrong[line] = expected, counted
    return dict(sorted(wrong.items()))
