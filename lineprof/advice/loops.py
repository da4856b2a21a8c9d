"""Findings about loops: those with most of the time, and calls that repeat in one."""

from __future__ import annotations

import ast
from bisect import bisect, bisect_left
from collections import Counter
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from lineprof.advice.finding import Evidence, Finding, Line, counted, in_words
from lineprof.advice.scopes import bound_names, walk_scope
from lineprof.advice.source_trees import Loop

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lineprof.advice.source_trees import Function, SourceTree, Statement
    from lineprof.model.call_graph import Edge
    from lineprof.model.records import Key

HOT_LOOP, REPEATED_CALL = "hot-loop", "repeated-call"

# Of the run, in the lines of the loop themselves: at most four loops have more, and
# others are not worth a look before these.
MIN_LOOP_SHARE = 0.25

_MOST = 0.5  # of a loop's time: then a finding about a line in it is enough

# Of the run, in calls that repeat: less is lost in the spread of run times.
MIN_REPEATED_SHARE = 0.05

# Calls for each call of the function with the loop, which enters it once at most: then
# nine of ten are certainly not the first one.
MIN_REPEATS = 10

# Statements that are executed once in each round if they are the first of a body.
_ONCE = (
    *(ast.AnnAssign, ast.Assign, ast.AugAssign, ast.Assert, ast.Delete, ast.Expr),
    *(ast.If, ast.Raise, ast.Return),
)


class _HotLoop(NamedTuple):
    key: Key
    node: Loop
    own_ns: int  # of its lines themselves

    @property
    def first(self) -> int:
        """The line of its head."""
        return self.node.lineno

    @property
    def last(self) -> int:
        """The last line of its body."""
        return self.node.body[-1].end_lineno or self.node.lineno

    def contains(self, line: Line) -> bool:
        """Return whether a line is one of the loop."""
        return line[0] == self.key and self.first <= line[1] <= self.last


def hot_loops(evidence: Evidence, explained: Sequence[Finding]) -> Iterator[Finding]:
    """Yield the loops whose own lines took a large part of the run.

    Of loops that are one in the other it is the innermost. A loop is left out if a
    finding of `explained` is about a line of it, or about calls of its function, and
    about most of its time.
    """
    found = [*_hot_loops(evidence)]
    for loop, following in zip(found, [*found[1:], None]):
        # A loop comes before those inside it.
        if following and loop.contains((following.key, following.first)):
            continue
        known = [
            one.cost_ns
            for one in explained
            if loop.contains(one.places[0]) or loop.key in _callees(one)
        ]
        if max(known, default=0) < _MOST * loop.own_ns:
            yield from _of_loop(evidence, loop)


def _callees(one: Finding) -> list[Key]:
    """Return the function that is called for no reason, by a finding, if any."""
    return [key for key, _ in one.places[1:]] if one.kind == REPEATED_CALL else []


def _hot_loops(evidence: Evidence) -> Iterator[_HotLoop]:
    min_ns = MIN_LOOP_SHARE * evidence.run_ns
    for key, times in evidence.own_ns.items():
        if sum(times.values()) <= min_ns:
            continue
        lines = sorted(times)
        sums = [0, *accumulate(times[line] for line in lines)]  # up to each line
        for one in evidence.trees.statements(key):
            if isinstance(one.node, Loop):
                loop = _HotLoop(key=key, node=one.node, own_ns=0)
                start, end = bisect_left(lines, loop.first), bisect(lines, loop.last)
                own_ns = sums[end] - sums[start]
                if own_ns > min_ns:
                    yield loop._replace(own_ns=own_ns)


def _of_loop(evidence: Evidence, loop: _HotLoop) -> Iterator[Finding]:
    """Yield the finding about a loop, unless it is known to have few rounds."""
    key, rounds = loop.key, _rounds(evidence, loop)
    if rounds is not None and rounds < MIN_REPEATS:
        return
    own_ns = evidence.own_ns[key]
    inside = [line for line in own_ns if loop.contains((key, line))]
    itself = evidence.itself((key, line) for line in inside)
    longest = max(inside, key=lambda line: (own_ns[line], -line))
    calls = evidence.functions[key].calls
    numbers: list[tuple[str, int | float | str]] = [
        *(("own_ns", loop.own_ns), ("first_line", loop.first)),
        *(("last_line", loop.last), ("function_calls", calls)),
        *(("longest_line", longest), ("longest_line_ns", own_ns[longest])),
    ]
    each = ""
    if rounds:
        numbers += [("rounds", rounds), ("round_ns", loop.own_ns // rounds)]
        each = (
            f", in {counted(rounds, 'round')} of {in_words(loop.own_ns / rounds)} on"
            " average"
        )
    if calls > 1:
        each += f", in {calls:,} calls of {key[2]}"
    where = most = ""
    if loop.first < loop.last:
        where = f", lines {loop.first} to {loop.last},"
        most = f"; {in_words(own_ns[longest])} of it on line {longest}"
    words = "while" if isinstance(loop.node, ast.While) else "for"
    yield Finding(
        kind=HOT_LOOP,
        places=tuple(dict.fromkeys([(key, loop.first), (key, longest)])),
        cost_ns=loop.own_ns,
        share=evidence.share(loop.own_ns),
        numbers=tuple(numbers),
        measured=(
            f"This {words} loop{where} took {in_words(loop.own_ns)} {itself},"
            f" {evidence.of_run(loop.own_ns)}{each}{most}."
        ),
        advice=(
            "It usually helps to take work that is the same in each round out of the"
            " loop, or to give many elements to one call that works on all of them."
        ),
    )


def _rounds(evidence: Evidence, loop: _HotLoop) -> int | None:
    """Return how often the body was executed; None if its lines do not tell."""
    first = loop.node.body[0]
    tree = evidence.trees.of(loop.key[0])
    if not isinstance(first, _ONCE) or tree is None or not tree.is_alone(first):
        return None
    return evidence.hits((loop.key, first.lineno))


# Calls with the same arguments in each round.


def repeated_calls(evidence: Evidence) -> Iterator[Finding]:
    """Yield the calls in loops whose arguments are the same in each round."""
    min_ns = MIN_REPEATED_SHARE * evidence.run_ns
    cut = {one.function for one in evidence.profile.cuts}
    found: dict[Key, dict[int, Statement]] = {}
    for (key, line), edges in evidence.calls.items():
        called = [edge for edge in edges if edge.callee[0]]
        if len(called) != 1 or not called[0].inclusive_ns or not key[0]:
            continue
        [edge] = called
        if edge.inclusive_ns < min_ns or cut & {key, edge.callee}:
            continue
        if edge.callee[0] != key[0] or not _is_often(evidence, edge):
            continue
        if key not in found:
            statements = evidence.trees.statements(key)
            found[key] = {one.node.lineno: one for one in statements}
        statement = found[key].get(line)
        if statement and _is_repeated(statement, edge.callee[2]):
            yield _of_calls(evidence, edge)


def _is_often(evidence: Evidence, edge: Edge) -> bool:
    """Return whether each hit of a line is one call, and most are in one loop."""
    if edge.caller is None or edge.caller not in evidence.functions:
        return False
    calls = evidence.functions[edge.caller].calls
    hits = evidence.hits((edge.caller, edge.line))
    return calls > 0 and hits == edge.calls >= MIN_REPEATS * calls


def _is_repeated(statement: Statement, name: str) -> bool:
    """Return whether a statement calls a function alike in all rounds of its loops.

    The arguments of its only call of `name` are constants, and variables that are set
    to constants before the loops.
    """
    node, loops = statement.node, statement.loops
    if isinstance(node, ast.While):
        loops = (*loops, node)
    if not loops or not statement.is_alone:
        return False
    calls = [
        one
        for one in walk_scope(node)
        if isinstance(one, ast.Call)
        and isinstance(one.func, ast.Name)
        and one.func.id == name
    ]
    if len(calls) != 1 or any(one.arg is None for one in calls[0].keywords):
        return False
    arguments = [*calls[0].args, *(one.value for one in calls[0].keywords)]
    if not arguments or not all(map(_is_constant, arguments)):
        return False
    names = {
        part.id
        for one in arguments
        for part in ast.walk(one)
        if isinstance(part, ast.Name)
    }
    in_loop = {name for part in ast.walk(loops[0]) for name in bound_names(part)}
    return names <= _constants(statement.function) - in_loop


# Calls of other modules, whose lines are not known, with the same arguments each time.


def constant_calls(evidence: Evidence) -> Iterator[Finding]:
    """Yield the lines that do nothing but call an imported function with constants."""
    for line, ns in evidence.hot_lines(MIN_REPEATED_SHARE * evidence.run_ns):
        hits = evidence.hits(line)
        name = _constant_call(evidence, line) if hits >= MIN_REPEATS else ""
        if name:
            yield Finding(
                kind=REPEATED_CALL,
                places=(line,),
                cost_ns=ns,
                share=evidence.share(ns),
                numbers=(("own_ns", ns), ("hits", hits), ("callee", name)),
                measured=(
                    f"This line took {in_words(ns)} {evidence.itself([line])},"
                    f" {evidence.of_run(ns)}, in {hits:,} executions,"
                    f" {in_words(ns / hits)} each; all of them call {name} with the"
                    " same arguments."
                ),
                advice=(
                    "If all may use one result, it usually helps to make it once, at"
                    " the top of the module for example, and to keep it."
                ),
            )


def _constant_call(evidence: Evidence, line: Line) -> str:
    """Return the name of the only call on a line that sets a variable, or ""."""
    tree = evidence.trees.of(line[0][0])
    statements = tree.statements_on(line[1]) if tree else ()
    node = statements[0][0] if len(statements) == 1 else None
    value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
    if tree is None or not isinstance(value, ast.Call):
        return ""
    names: list[str] = []
    function = value.func
    while isinstance(function, ast.Attribute):
        names.append(function.attr)
        function = function.value
    if not isinstance(function, ast.Name) or function.id not in tree.types.imported:
        return ""
    names.append(function.id)
    arguments = [*value.args, *(one.value for one in value.keywords)]
    is_plain = arguments and all(one.arg for one in value.keywords)
    if not is_plain or not _CHANGING.isdisjoint(names):
        return ""
    constants = all(map(_is_constant, arguments)) and all(
        _is_set_once(tree, part.id)
        for one in arguments
        for part in ast.walk(one)
        if isinstance(part, ast.Name)
    )
    return ".".join(reversed(names)) if constants else ""


def _is_set_once(tree: SourceTree, name: str) -> bool:
    """Return whether only one statement of a file, of the module, sets a variable."""
    if len(tree.types.origins.get(name, ())) != 1:
        return False
    found, _ = tree.types.bindings(name, (tree.module,))
    return [isinstance(one, ast.Constant) for one in found] == [True]


# Parts of the names of functions with another result for each call.
_CHANGING = frozenset(
    (
        *("datetime", "now", "perf_counter", "time", "today"),
        *("rand", "randint", "randn", "random", "secrets", "urandom"),
        *("uuid", "uuid1", "uuid4"),
    )
)


def _is_constant(value: ast.expr) -> bool:
    """Return whether an expression is computed from constants and variables alone."""
    return all(isinstance(part, _CONSTANT_PARTS) for part in ast.walk(value))


_CONSTANT_PARTS = (
    *(ast.BinOp, ast.Constant, ast.Name, ast.Tuple, ast.UnaryOp),
    *(ast.expr_context, ast.operator, ast.unaryop),
)


def _constants(function: Function) -> set[str]:
    """Return the variables of a function that are only ever set to constants."""
    bound: Counter[str] = Counter()
    for node in () if isinstance(function, ast.Module) else ast.walk(function):
        bound.update(bound_names(node))
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [one.id for one in targets if isinstance(one, ast.Name)]
            is_plain = not any(isinstance(p, ast.Name) for p in ast.walk(node.value))
            if is_plain and _is_constant(node.value):
                bound.subtract(names)
    return {name for name, others in bound.items() if not others}


def _of_calls(evidence: Evidence, edge: Edge) -> Finding:
    assert edge.caller is not None  # noqa: S101  # for mypy: the edge has a line
    callers = evidence.functions[edge.caller].calls
    ns = edge.inclusive_ns
    return Finding(
        kind=REPEATED_CALL,
        places=((edge.caller, edge.line), (edge.callee, edge.callee[1])),
        cost_ns=ns,
        share=evidence.share(ns),
        numbers=(
            ("calls", edge.calls),
            ("inclusive_ns", ns),
            ("caller_calls", callers),
        ),
        measured=(
            f"{edge.callee[2]} was called {edge.calls:,} times from this line, in"
            f" {counted(callers, 'call')} of {edge.caller[2]}, for {in_words(ns)},"
            f" {evidence.of_run(ns)}; the loop does not change its arguments."
        ),
        advice=(
            "If its result depends on them alone, it usually helps to call it once"
            " before the loop, and to keep the result."
        ),
    )
