"""Findings about loops: one that dominates the run, and calls that repeat in one."""

from __future__ import annotations

import ast
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from lineprof.advice.finding import Evidence, Finding, Line, counted, in_words
from lineprof.advice.source_trees import Loop, bound_names, walk_scope

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.advice.source_trees import Function, Statement
    from lineprof.model.call_graph import Edge
    from lineprof.model.records import Key

LOOP_DOMINATES, REPEATED_CALL = "loop-dominates", "repeated-call"

# Of the run: there cannot be two such loops, unless one runs in the other.
MIN_LOOP_SHARE = 0.5

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
    first: int
    last: int
    ns: int
    node: Loop

    def lines(self) -> Iterator[Line]:
        """Yield all lines of the loop."""
        return ((self.key, line) for line in range(self.first, self.last + 1))

    def contains(self, other: _HotLoop) -> bool:
        """Return whether another loop begins on a later line of this one."""
        return self.key == other.key and self.first < other.first <= self.last


def dominating_loops(evidence: Evidence) -> Iterator[Finding]:
    """Yield the loops that took most of the run, only the innermost of several."""
    hot = [*_hot_loops(evidence)]
    keys = {loop.key for loop in hot}
    min_ns = MIN_LOOP_SHARE * evidence.run_ns
    # A loop comes before those inside it.
    for loop, following in zip(hot, [*hot[1:], None]):
        is_innermost = following is None or not loop.contains(following)
        if is_innermost and not evidence.leads_to(loop.lines(), min_ns, keys):
            yield _of_loop(evidence, loop)


def _hot_loops(evidence: Evidence) -> Iterator[_HotLoop]:
    min_ns = MIN_LOOP_SHARE * evidence.run_ns
    for function in evidence.profile.functions:
        key = function.key
        if evidence.recursed(key) or function.total_ns <= min_ns:
            continue
        times = function.line_ns
        for one in evidence.trees.statements(key):
            node = one.node
            if isinstance(node, Loop):
                first, last = node.lineno, node.body[-1].end_lineno or node.lineno
                ns = sum(time for line, time in times.items() if first <= line <= last)
                if ns > min_ns:
                    yield _HotLoop(key=key, first=first, last=last, ns=ns, node=node)


def _of_loop(evidence: Evidence, loop: _HotLoop) -> Finding:
    lines = evidence.lines(loop.key)
    inside = [row for line, row in lines.items() if loop.first <= line <= loop.last]
    longest = max(inside, key=lambda row: (row.time_ns, -row.line))
    rounds = _rounds(evidence, loop)
    words = "while" if isinstance(loop.node, ast.While) else "for"
    numbers: list[tuple[str, int | float | str]] = [
        *(("loop_ns", loop.ns), ("first_line", loop.first), ("last_line", loop.last)),
        *(("longest_line", longest.line), ("longest_line_ns", longest.time_ns)),
    ]
    each = ""
    if rounds:
        numbers += [("rounds", rounds), ("round_ns", loop.ns // rounds)]
        each = (
            f" in {counted(rounds, 'round')}, {in_words(loop.ns / rounds)} for each on"
            " average"
        )
    places = dict.fromkeys([(loop.key, loop.first), (loop.key, longest.line)])
    return Finding(
        kind=LOOP_DOMINATES,
        places=tuple(places),
        cost_ns=loop.ns,
        share=evidence.share(loop.ns),
        numbers=tuple(numbers),
        measured=(
            f"The lines {loop.first} to {loop.last} of this {words} loop took"
            f" {in_words(loop.ns)}, {evidence.of_run(loop.ns)}, with what they called"
            f"{each}; {in_words(longest.time_ns)} of it on line {longest.line}."
        ),
        advice=(
            "It usually helps to take work that is the same in each round out of the"
            " loop, or to give many elements to one call that works on all of them."
        ),
    )


def _rounds(evidence: Evidence, loop: _HotLoop) -> int:
    """Return how often the body was executed; 0 if its lines do not tell."""
    first = loop.node.body[0]
    tree = evidence.trees.of(loop.key[0])
    if not isinstance(first, _ONCE) or tree is None or not tree.is_alone(first):
        return 0
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
