"""Who called whom, summed: edges, numbers of functions, lines without callees.

All of it is worked out from a profile's call tree; nothing here recurses, for
trees may be very deep.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lineprof.model.gpu import GRAPH, KERNEL, MEMSET, NO_PATH
from lineprof.model.records import NO_NODE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from lineprof.model.profile import Profile
    from lineprof.model.records import CallNode, CallTree, Key

    Place = tuple[Key | None, int]  # caller, its line

    EdgeKey = tuple[Key | None, int, Key]  # caller, its line, what it called

    Step = tuple[int, Key | None]

_OF_C = ("", 0)  # what keys of functions of C begin with

_GPU_TIME = frozenset({KERNEL, MEMSET, GRAPH})  # copies are apart


class Edge(NamedTuple):
    """All calls of one function from one line."""

    caller: Key | None  # None: from outside of every profiled function
    line: int  # of the caller; 0 from outside
    callee: Key
    calls: int
    primitive_calls: int  # while no other call of the callee was open
    total_ns: int  # of primitive calls' time: a function's edges make its total
    inclusive_ns: int  # of every call's: what they are of the line's time


class FunctionTotals(NamedTuple):
    """One function in all, from wherever it was called."""

    calls: int
    primitive_calls: int  # while no other call of it was open
    self_ns: int  # in its own lines, without profiled functions that these called
    total_ns: int  # with these; recursion counts once


def edges(tree: CallTree) -> tuple[Edge, ...]:
    """Return the edges of `tree`, in the order in which they first appear.

    Each is the sum of its nodes, over all threads and all ways there.
    """
    nodes = tree.nodes
    sums: dict[EdgeKey, list[int]] = {}
    for node in nodes:
        caller = None if node.parent == NO_NODE else nodes[node.parent].function
        mine = sums.setdefault((caller, node.line, node.function), [0, 0, 0, 0])
        mine[0] += node.calls
        mine[1] += node.primitive_calls
        mine[2] += node.total_ns
        mine[3] += node.inclusive_ns
    return tuple(
        [
            Edge(
                caller=caller,
                line=line,
                callee=callee,
                calls=calls,
                primitive_calls=primitive,
                total_ns=total,
                inclusive_ns=inclusive,
            )
            for (caller, line, callee), (calls, primitive, total, inclusive) in (
                sums.items()
            )
        ]
    )


def function_totals(stats: Profile) -> dict[Key, FunctionTotals]:
    """Return the numbers of every function, those that only the tree has last.

    They are the tree's. For a function that it does not have, and so for all of
    a profile without one, every call counts as primitive, and all time that the
    function took as its own.
    """
    sums: dict[Key, list[int]] = {}
    for node in stats.calls.nodes:
        mine = sums.setdefault(node.function, [0, 0, 0, 0])
        mine[0] += node.calls
        mine[1] += node.primitive_calls
        mine[2] += node.self_ns
        mine[3] += node.total_ns
    numbers: dict[Key, FunctionTotals] = {}
    for function in stats.functions:
        found = sums.pop(function.key, None)
        if found is None:
            total = function.total_ns
            found = [function.calls, function.calls, total, total]
        numbers[function.key] = FunctionTotals(*found)
    numbers.update((key, FunctionTotals(*found)) for key, found in sums.items())
    return numbers


def line_self_ns(stats: Profile) -> dict[Key, dict[int, int]]:
    """Return the time (ns) of each line without what it called.

    It is there for each line of each function that has a cell, and never below
    0: in old files, and where greenlets took turns, edges may be more than a line.
    """
    called: dict[Place, int] = {}
    for edge in edges(stats.calls):
        place = (edge.caller, edge.line)
        called[place] = called.get(place, 0) + edge.inclusive_ns
    own: dict[Key, dict[int, int]] = {}
    for function in stats.functions:
        key = function.key
        times: dict[int, int] = {}
        for cell in function.thread_lines:
            times[cell.line] = times.get(cell.line, 0) + cell.time_ns
        own[key] = {
            line: max(0, times[line] - called.get((key, line), 0))
            for line in sorted(times)
        }
    return own


def edge_gpu_ns(stats: Profile) -> dict[EdgeKey, int]:
    """Return the GPU time (ns) of each edge that caused any.

    That is the time of kernels, memsets and whole graphs, as `GpuNumbers.gpu_ns`
    is. It counts once for each edge on the path of what was launched. A path has
    a line that was open several times only where it was innermost: so an edge
    that goes back to a function further out has nothing of it.
    """
    gpu = stats.gpu
    times: dict[int, int] = {}
    for one in gpu.sums:
        if one.kind in _GPU_TIME and one.path != NO_PATH:
            times[one.path] = times.get(one.path, 0) + one.ns
    callees: dict[Place, dict[Key, None]] = {}
    for edge in edges(stats.calls):
        callees.setdefault((edge.caller, edge.line), {})[edge.callee] = None
    found: dict[EdgeKey, int] = {}
    for path, ns in times.items():
        for key in dict.fromkeys(_steps(gpu.paths[path].lines, callees)):
            found[key] = found.get(key, 0) + ns
    return found


def _steps(
    lines: Collection[tuple[Key, int]], callees: Mapping[Place, Collection[Key]]
) -> Iterator[EdgeKey]:
    """Yield the edges along the lines of a path, the outermost first."""
    place: Place = (None, 0)
    on_path = {key for key, _ in lines}
    for key, line in lines:
        for callee in _between(place, key, callees, on_path):
            yield (*place, callee)
            place = (callee, 0)
        place = (key, line)


def _between(
    place: Place,
    key: Key,
    callees: Mapping[Place, Collection[Key]],
    on_path: Collection[Key],
) -> list[Key]:
    """Return what was called, one by the other, from a line to the path's next.

    Functions of C are on no path: the tree tells which lie between. Where it has
    no such edge all the same, lines between the two are left out, for they stand
    further in: it is the edge to one of these, if there is just one.
    """
    known = callees.get(place, ())
    if not known or key in known:
        return [key]
    ways: list[list[Key]] = [[one] for one in known if one[:2] == _OF_C]
    seen = {way[-1] for way in ways}
    for way in ways:
        for one in callees.get((way[-1], 0), ()):
            if one == key:
                return [*way, key]
            if one[:2] == _OF_C and one not in seen:
                seen.add(one)
                ways.append([*way, one])
    others = [one for one in known if one in on_path]
    return others if len(others) == 1 else [key]


# A call tree laid out: what lies in what, the longest first.


def widths(nodes: Sequence[CallNode]) -> list[int]:
    """Return what each node took with all nodes below it (ns)."""
    found = [node.self_ns for node in nodes]
    for index in range(len(nodes) - 1, -1, -1):
        parent = nodes[index].parent
        if parent != NO_NODE:
            found[parent] += found[index]
    return found


def children(nodes: Sequence[CallNode], by: Sequence[int]) -> dict[int, list[int]]:
    """Return the nodes below each, and below NO_NODE, the greatest `by` first."""
    found: dict[int, list[int]] = {}
    for index in sorted(range(len(nodes)), key=by.__getitem__, reverse=True):
        found.setdefault(nodes[index].parent, []).append(index)
    return found


def in_depth(nodes: Sequence[CallNode]) -> Iterator[int]:
    """Yield all nodes' indexes, each followed by those below it, the longest first."""
    below = children(nodes, widths(nodes))
    todo = below.get(NO_NODE, [])[::-1]
    while todo:
        index = todo.pop()
        yield index
        todo += below.get(index, [])[::-1]


def is_deeper(nodes: Sequence[CallNode], most: int) -> bool:
    """Tell whether a node has more than `most` nodes above it."""
    depths: list[int] = []
    for node in nodes:
        depths.append(0 if node.parent == NO_NODE else depths[node.parent] + 1)
    return max(depths, default=0) > most


# The call tree with all threads together, and what each way down took.


class CallPath:
    """One function by one way down to it; without a function, all of them."""

    __slots__ = ("calls", "function", "inclusive_ns", "line", "parent", "self_ns", "to")

    def __init__(
        self, parent: CallPath | None, line: int, function: Key | None
    ) -> None:
        self.parent = parent
        self.line = line  # of the parent, from where it was called
        self.function = function
        self.calls = self.self_ns = 0
        self.inclusive_ns = 0  # the sum of `self_ns` here and below
        self.to: dict[Step, CallPath] = {}

    def next(self, line: int, function: Key) -> CallPath:
        """Return the way on from here; it is made where there was none."""
        step = (line, function)
        found = self.to.get(step)
        if found is None:
            found = self.to[step] = CallPath(self, line, function)
        return found


def call_path_tree(stats: Profile) -> CallPath:
    """Return all ways as one whose `to` are the roots, the longest first.

    Without a tree, each function is a root, with all that it called.
    """
    whole = CallPath(None, 0, None)
    found: list[CallPath] = []
    for node in stats.calls.nodes:
        above = whole if node.parent == NO_NODE else found[node.parent]
        way = above.next(node.line, node.function)
        way.calls += node.calls
        way.self_ns += node.self_ns
        found.append(way)
    if not found:
        for function in stats.functions:
            way = whole.next(0, function.key)
            way.calls += function.calls
            way.self_ns += function.total_ns
            found.append(way)
    _add_up([whole, *dict.fromkeys(found)])
    return whole


def _add_up(ways: Sequence[CallPath]) -> None:
    """Work out what is inclusive; `ways` have parents before what they call."""
    for way in reversed(ways):
        way.inclusive_ns += way.self_ns
        if way.parent:
            way.parent.inclusive_ns += way.inclusive_ns
        way.to = dict(sorted(way.to.items(), key=lambda item: -item[1].inclusive_ns))
