"""Findings about loops: one that dominates the run, and calls that repeat in one."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from lineprof.advice.finding import Finding, counted, in_words, percent
from lineprof.advice.pure_calls import (
    Constants,
    PureCalls,
    is_only_read,
    may_go_on,
    sure_calls,
)
from lineprof.advice.source_trees import first_line, statements

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.advice.finding import Evidence, Line
    from lineprof.advice.source_trees import Function, Loop, SourceTree, Statement
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


def dominating_loops(evidence: Evidence) -> Iterator[Finding]:
    """Yield the loops that took most of the run, only the innermost of several."""
    hot: dict[Key, list[_HotLoop]] = {}
    for loop in _hot_loops(evidence):
        hot.setdefault(loop.key, []).append(loop)
    min_ns = MIN_LOOP_SHARE * evidence.run_ns
    for key, loops in hot.items():
        others = {*hot} - {key}
        starts = [one.first for one in loops]  # a loop comes before those inside it
        for loop, following in zip(loops, [*starts[1:], 0]):
            is_innermost = not loop.first < following <= loop.last
            if is_innermost and not evidence.leads_to(loop.lines(), min_ns, others):
                yield _of_loop(evidence, loop)


def _hot_loops(evidence: Evidence) -> Iterator[_HotLoop]:
    min_ns = MIN_LOOP_SHARE * evidence.run_ns
    for function in evidence.profile.functions:
        key = function.key
        if evidence.recursed(key) or function.total_ns <= min_ns:
            continue
        tree = evidence.trees.of(function.file)
        found = tree.function(key) if tree else None
        times = function.line_ns
        for one in statements(found) if found else ():
            node = one.node
            if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
                first, last = node.lineno, node.body[-1].end_lineno or node.lineno
                ns = sum(time for line, time in times.items() if first <= line <= last)
                if ns > min_ns:
                    yield _HotLoop(key=key, first=first, last=last, ns=ns, node=node)


def _of_loop(evidence: Evidence, loop: _HotLoop) -> Finding:
    lines = evidence.lines(loop.key)
    inside = [row for line, row in lines.items() if loop.first <= line <= loop.last]
    longest = max(inside, key=lambda row: (row.time_ns, -row.line))
    rounds = _rounds(evidence, loop)
    share = evidence.share(loop.ns)
    words = "for" if not isinstance(loop.node, ast.While) else "while"
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
        share=share,
        numbers=tuple(numbers),
        measured=(
            f"The lines {loop.first} to {loop.last} of this {words} loop took"
            f" {in_words(loop.ns)}, {percent(share)} of the run, with what they called"
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
    header = tree.header(first.lineno) if tree else None
    if not isinstance(first, _ONCE) or header is None or header.statements > 1:
        return 0
    row = evidence.lines(loop.key).get(first.lineno)
    return row.hits if row else 0


# Calls that give the same result in each round.


class _Module(NamedTuple):
    tree: SourceTree
    pure: PureCalls


def repeated_calls(evidence: Evidence) -> Iterator[Finding]:
    """Yield the calls of pure functions with the same arguments, in loops."""
    min_ns = MIN_REPEATED_SHARE * evidence.run_ns
    cut = {one.function for one in evidence.profile.cuts}
    modules: dict[str, _Module | None] = {}
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
        if key[0] not in modules:
            tree = evidence.trees.of(key[0])
            modules[key[0]] = _Module(tree, PureCalls(tree)) if tree else None
        module = modules[key[0]]
        function = module.tree.function(key) if module else None
        if module is None or function is None:
            continue
        if key not in found:
            found[key] = {one.node.lineno: one for one in statements(function)}
        statement = found[key].get(line)
        if statement and _is_repeated(module, function, statement, edge):
            yield _of_calls(evidence, edge)


def _is_often(evidence: Evidence, edge: Edge) -> bool:
    """Return whether each hit of a line is one call, and most are in one loop."""
    if edge.caller is None or edge.caller not in evidence.functions:
        return False
    calls = evidence.functions[edge.caller].calls
    row = evidence.lines(edge.caller).get(edge.line)
    return (
        calls > 0
        and row is not None
        and row.hits == edge.calls
        and edge.calls >= MIN_REPEATS * calls
    )


def _is_repeated(
    module: _Module, function: Function, statement: Statement, edge: Edge
) -> bool:
    """Return whether a statement makes the same call in all rounds of its loops."""
    node, loops = statement
    header = module.tree.header(node.lineno)
    if isinstance(node, ast.While):
        loops = (*loops, node)
    if not loops or header is None or header.statements > 1:
        return False
    name = edge.callee[2]
    calls = [call for call in sure_calls(node) if _called_name(call) == name]
    definition = module.pure.function(name)
    if len(calls) != 1 or definition is None:
        return False
    if edge.callee[1] != first_line(definition):
        return False
    if may_go_on(node, loops[0]):
        return False
    if not Constants(module.pure, function).are_same(calls[0], loops[0]):
        return False
    return is_only_read(module.pure, node, calls[0]) or module.pure.is_frozen(name)


def _called_name(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _of_calls(evidence: Evidence, edge: Edge) -> Finding:
    assert edge.caller is not None  # noqa: S101  # for mypy: the edge has a line
    callers = evidence.functions[edge.caller].calls
    share = evidence.share(edge.inclusive_ns)
    name = edge.callee[2]
    return Finding(
        kind=REPEATED_CALL,
        places=((edge.caller, edge.line), (edge.callee, edge.callee[1])),
        cost_ns=edge.inclusive_ns,
        share=share,
        numbers=(
            *(("calls", edge.calls), ("inclusive_ns", edge.inclusive_ns)),
            ("caller_calls", callers),
        ),
        measured=(
            f"{name} was called {edge.calls:,} times from this line, in"
            f" {counted(callers, 'call')} of {edge.caller[2]}, for"
            f" {in_words(edge.inclusive_ns)}, {percent(share)} of the run; the loop"
            " does not change its arguments, and it computes its result from them"
            " alone."
        ),
        advice=(
            "It usually helps to call it once before the loop, and to keep the result."
        ),
    )
