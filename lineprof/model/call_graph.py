"""Call graphs: edges, totals of functions, self time of lines, call paths.

All of it is computed from a profile's call tree. No function here recurses, as trees
may be very deep.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from operator import add
from typing import TYPE_CHECKING, NamedTuple

from lineprof.model.gpu import GPU_TIME_KINDS, NO_PATH
from lineprof.model.host_memory import MemoryNumbers
from lineprof.model.records import DEEPER, NO_NODE, node_columns

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Collection,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )
    from typing import TypeVar

    K = TypeVar("K")
    Number = TypeVar("Number", int, MemoryNumbers)

    from lineprof.model.profile import Profile
    from lineprof.model.records import CallNode, CallNodes, CallTree, Key, MergedCall

    Line = tuple[Key, int]  # function, its line

    CallSite = tuple[Key | None, int]  # caller, its line; (None, 0): from outside

    EdgeKey = tuple[Key | None, int, Key]  # caller, its line, callee

# Numbers of an edge, and of a function.
COUNTS_OF_CALLS = ("calls", "primitive_calls")
TIMES_OF_CALLS = ("total_ns", "inclusive_ns")
_NUMBERS = (*COUNTS_OF_CALLS, *TIMES_OF_CALLS)
TOTALS = (*COUNTS_OF_CALLS, "self_ns", "total_ns")

_C_KEY = ("", 0)  # first two fields of the keys of C functions

_MAX_C_CALLS = 100  # one below the other, between two lines of a call path

_MAX_SEARCHED = 2_000_000  # functions, between the lines of all call paths: 1 s

# Shares of a callee that leave its caller nothing to show: see `branch_point`.
_MIN_SHARE_OF_CALLER, _MIN_SHARE_OF_ALL = 0.8, 0.5


class Edge(NamedTuple):
    """All calls of one function from one line."""

    caller: Key | None  # None: from outside of every profiled function
    line: int  # of the caller; 0 from outside
    callee: Key
    calls: int = 0
    primitive_calls: int = 0  # while no other call of the callee was open
    total_ns: int = 0  # of primitive calls: a function's edges add up to its total
    inclusive_ns: int = 0  # of every call: the callee's part of the line's time

    @property
    def ends(self) -> tuple[Key | None, int, Key]:
        """The caller, its line and the callee, which no other edge has."""
        return self.caller, self.line, self.callee

    @property
    def recurses(self) -> bool:
        """Whether some calls began while another one of the callee was open."""
        return self.primitive_calls != self.calls


class FunctionTotals(NamedTuple):
    """One function, summed over all its call paths."""

    calls: int = 0
    primitive_calls: int = 0  # while no other call of it was open
    self_ns: int = 0  # in its own lines, without profiled functions that these called
    total_ns: int = 0  # with callees; recursion counts once

    @property
    def recurses(self) -> bool:
        """Whether some calls began while another one of the function was open."""
        return self.primitive_calls != self.calls

    @property
    def per_call(self) -> tuple[int, int] | None:
        """Time (ns) with callees, over the primitive calls; None without a call."""
        return (self.total_ns, self.primitive_calls) if self.primitive_calls else None


def edges(tree: CallTree) -> tuple[Edge, ...]:
    """Return the edges of `tree`, in the order in which they first appear.

    Each is the sum of its nodes and merged calls, over all threads and all call paths.
    """
    nodes = node_columns(tree.nodes)
    keys = zip(nodes.callers, nodes.column("line"), nodes.column("function"))
    columns = [nodes.column(name) for name in _NUMBERS]
    functions = nodes.functions
    found = [
        Edge(
            caller=None if caller == NO_NODE else functions[caller],
            line=line,
            callee=functions[callee],
            **dict(zip(_NUMBERS, numbers)),
        )
        for (caller, line, callee), numbers in _sums(keys, columns)
    ]
    if tree.merged:
        return _with_merged(found, tree.merged)
    return tuple(found)


def _with_merged(
    known: Iterable[Edge], merged: Iterable[MergedCall]
) -> tuple[Edge, ...]:
    """Return the edges of nodes with merged calls added to them."""
    found = {one.ends: one for one in known if one.callee != DEEPER}
    for one in merged:
        none = Edge(caller=one.caller, line=one.line, callee=one.function)
        edge = found.get(none.ends, none)
        found[edge.ends] = edge._replace(
            **{name: getattr(edge, name) + getattr(one, name) for name in _NUMBERS}
        )
    return tuple(found.values())


def _sums(
    keys: Iterable[K], columns: Iterable[Iterable[int]]
) -> Iterator[tuple[K, tuple[int, ...]]]:
    """Return each different key with the sums of the columns' numbers."""
    indexes: dict[K, int] = {}
    rows = [indexes.setdefault(key, len(indexes)) for key in keys]
    sums = []
    for column in columns:
        totals = [0] * len(indexes)
        for index, number in zip(rows, column):
            totals[index] += number
        sums.append(totals)
    return zip(indexes, zip(*sums))


def sum_of_nodes(
    nodes: Collection[CallNode | MergedCall | FunctionTotals],
) -> FunctionTotals:
    """Return the totals of nodes of one function, and of merged calls of it."""
    return FunctionTotals(
        **{name: sum([getattr(node, name) for node in nodes]) for name in TOTALS}
    )


def function_totals(profile: Profile) -> dict[Key, FunctionTotals]:
    """Return the totals of every function: registered ones first, then C functions.

    They come from the call tree. For a function that is not in the tree, and so for
    all functions of a profile without one, every call counts as primitive, and the
    function's whole time as self time.
    """
    nodes = node_columns(profile.calls.nodes)
    columns = [nodes.column(name) for name in TOTALS]
    in_tree = {
        nodes.functions[index]: FunctionTotals(**dict(zip(TOTALS, numbers)))
        for index, numbers in _sums(nodes.column("function"), columns)
    }
    in_tree.pop(DEEPER, None)
    merged: dict[Key, list[MergedCall]] = {}
    for one in profile.calls.merged:
        merged.setdefault(one.function, []).append(one)
    for key, ones in merged.items():
        known = [in_tree[key]] if key in in_tree else []
        in_tree[key] = sum_of_nodes([*known, *ones])
    totals: dict[Key, FunctionTotals] = {}
    for function in profile.functions:
        found = in_tree.pop(function.key, None)
        totals[function.key] = found or FunctionTotals(
            calls=function.calls,
            primitive_calls=function.calls,
            self_ns=function.total_ns,
            total_ns=function.total_ns,
        )
    return totals | in_tree


def uncounted(profile: Profile) -> frozenset[Key]:
    """Return the functions that ran, but whose number of calls nobody counted.

    Those are all functions of a profile that line_profiler wrote.
    """
    in_tree = {*node_columns(profile.calls.nodes).functions}
    in_tree.update([one.function for one in profile.calls.merged])
    return frozenset(
        function.key
        for function in profile.functions
        if function.thread_lines and not function.calls and function.key not in in_tree
    )


def line_self_ns(
    profile: Profile, every: Iterable[Edge] | None = None
) -> dict[Key, dict[int, int]]:
    """Return the self time (ns) of each line: without its callees.

    It has each measured line of each function, and is never below 0: in old files,
    and if greenlets took turns, edges may take longer than their line. `every` has
    the `edges` of the profile's calls, if the caller knows them.
    """
    called: dict[CallSite, int] = defaultdict(int)
    for edge in edges(profile.calls) if every is None else every:
        called[edge.caller, edge.line] += edge.inclusive_ns
    self_ns: dict[Key, dict[int, int]] = {}
    for function in profile.functions:
        key, times = function.key, function.line_ns
        self_ns[key] = {
            line: max(0, times[line] - called.get((key, line), 0))
            for line in sorted(times)
        }
    return self_ns


# GPU time of edges.


def edge_gpu_ns(profile: Profile) -> dict[EdgeKey, int]:
    """Return the GPU time (ns) of each edge that caused any.

    GPU time is that of kernels, memsets and whole graphs, as in `GpuNumbers.gpu_ns`.
    It counts once for each edge on the call path of the launch. The path has a line
    that was open several times only where it was innermost, so an edge back to a
    function further out has no GPU time.
    """
    gpu = profile.gpu
    times: dict[int, int] = defaultdict(int)
    for one in gpu.sums:
        if one.kind in GPU_TIME_KINDS and one.path != NO_PATH:
            times[one.path] += one.ns
    return _edge_sums(
        profile, ((gpu.paths[path].lines, ns) for path, ns in times.items())
    )


def edge_memory(profile: Profile) -> dict[EdgeKey, MemoryNumbers]:
    """Return the memory of each edge in which any was allocated.

    It counts once for each edge on its call path, as `edge_gpu_ns` says.
    """
    memory = profile.memory
    return _edge_sums(
        profile,
        ((memory.paths[one.path].lines, one.numbers) for one in memory.sums),
        MemoryNumbers.plus,
    )


def _edge_sums(
    profile: Profile,
    paths: Iterable[tuple[Collection[tuple[Key, int]], Number]],
    plus: Callable[[Number, Number], Number] = add,
) -> dict[EdgeKey, Number]:
    """Return the sum of the numbers of all paths that have an edge, for each edge."""
    between = _Between(profile.calls)
    found: dict[EdgeKey, Number] = {}
    for lines, number in paths:
        for key in dict.fromkeys(_edges_on_path(lines, between)):
            found[key] = plus(found[key], number) if key in found else number
    return found


def _edges_on_path(
    lines: Collection[tuple[Key, int]], between: _Between
) -> Iterator[EdgeKey]:
    """Yield the edges along the lines of a path, the outermost first."""
    site: CallSite = (None, 0)
    on_path = {key for key, _ in lines}
    for key, line in lines:
        for callee in between.calls(site, key, on_path):
            yield (*site, callee)
            site = (callee, 0)
        site = (key, line)


class _Between:
    """The functions called between two lines of a call path.

    C functions are not on the path of a launch: the call tree tells which lie
    between. Programs have a few in a row; a search ends after `_MAX_C_CALLS`, and all
    searches together after `_MAX_SEARCHED` functions.
    """

    def __init__(self, tree: CallTree) -> None:
        self._callees: dict[CallSite, dict[Key, None]] = {}
        for edge in edges(tree):
            self._callees.setdefault((edge.caller, edge.line), {})[edge.callee] = None
        self._chains: dict[tuple[CallSite, Key], list[Key]] = {}
        self._room = _MAX_SEARCHED

    def calls(self, site: CallSite, key: Key, on_path: Collection[Key]) -> list[Key]:
        """Return the functions called, one by the other, from `site` down to `key`.

        If the tree has no such edge, lines between the two are missing from the path,
        as they stand further in: then it is the edge to the function of one of these,
        if there is just one.
        """
        known = self._callees.get(site, {})
        if not known or key in known:
            return [key]
        chain = self._chains.get((site, key))
        if chain is None:
            chain = self._chains[site, key] = self._chain(known, key)
        if chain:
            return chain
        fewer, more = sorted((known, on_path), key=len)
        others = [one for one in fewer if one in more]
        return others if len(others) == 1 else [key]

    def _chain(self, known: Collection[Key], key: Key) -> list[Key]:
        """Return the shortest chain of C functions, from one of `known`, and `key`.

        It is empty if there is none.
        """
        self._room -= len(known)
        if self._room < 0:
            return []
        level = [one for one in known if one[:2] == _C_KEY]
        callers: dict[Key, Key | None] = dict.fromkeys(level)
        for _ in range(_MAX_C_CALLS):
            below: list[Key] = []
            for caller in level:
                for one in self._callees.get((caller, 0), ()):
                    self._room -= 1
                    if self._room < 0:
                        return []
                    if one == key:
                        return [*_chain_to(caller, callers), key]
                    if one[:2] == _C_KEY and one not in callers:
                        callers[one] = caller
                        below.append(one)
            level = below
        return []


def _chain_to(last: Key, callers: Mapping[Key, Key | None]) -> list[Key]:
    """Return a function with its callers, the first one first."""
    chain: list[Key] = []
    one: Key | None = last
    while one is not None:
        chain.append(one)
        one = callers[one]
    return chain[::-1]


# Walks over the nodes of a call tree, the longest first.


def subtree_ns(nodes: Sequence[CallNode]) -> list[int]:
    """Return the time (ns) of each node with all nodes below it."""
    columns = node_columns(nodes)
    return with_children(columns.column("self_ns"), columns.column("parent"))


def with_children(numbers: Iterable[int], parents: Sequence[int]) -> list[int]:
    """Return the sum of a number over each node and all nodes below it."""
    sums = [*numbers]
    for index in range(len(sums) - 1, -1, -1):  # children before their parents
        if parents[index] != NO_NODE:
            sums[parents[index]] += sums[index]
    return sums


def calling_lines(nodes: Sequence[CallNode]) -> list[Line | None]:
    """Return the line of each call in Python; None if it is from outside.

    A call from within a C function is of the line that called the C function.
    """
    columns = node_columns(nodes)
    keys, called = columns.functions, columns.column("function")
    lines: list[Line | None] = []
    for parent, line in zip(columns.column("parent"), columns.column("line")):
        place = None
        if parent != NO_NODE:
            caller = keys[called[parent]]
            place = (caller, line) if caller[0] else lines[parent]
        lines.append(place)
    return lines


def children(nodes: Sequence[CallNode], by: Sequence[int]) -> dict[int, list[int]]:
    """Return the nodes below each node and below NO_NODE, the greatest `by` first."""
    found: dict[int, list[int]] = {}
    for index in sorted(range(len(nodes)), key=by.__getitem__, reverse=True):
        found.setdefault(nodes[index].parent, []).append(index)
    return found


def deeper_note(tree: CallTree) -> str:
    """Return what a drawing of call paths has to say of those that were not kept.

    It is empty if all were kept.
    """
    if tree.merged:
        nodes = node_columns(tree.nodes)
        deeper = {i for i, key in enumerate(nodes.functions) if key == DEEPER}
        kept = sum(called not in deeper for called in nodes.column("function"))
        return f"calls below the first {kept:,} call paths are shown as {DEEPER[2]!r}"
    if tree.folded:  # written by version 0.1
        return (
            f"{tree.folded:,} calls are shown below another call path to their caller"
        )
    return ""


def depth_first(nodes: Sequence[CallNode]) -> Iterator[int]:
    """Yield the index of each node, followed by its children's, the longest first."""
    below = children(nodes, subtree_ns(nodes))
    todo = below.get(NO_NODE, [])[::-1]
    while todo:
        index = todo.pop()
        yield index
        todo += below.get(index, [])[::-1]


def depths(nodes: Sequence[CallNode]) -> list[int]:
    """Return the number of nodes above each node."""
    found: list[int] = []
    for node in nodes:
        found.append(0 if node.parent == NO_NODE else found[node.parent] + 1)
    return found


# Call paths: the call tree with all threads together.


@dataclass(eq=False, slots=True, repr=False)  # a repr would walk the whole tree
class CallPath:
    """One function at the end of one call path; the root has no function."""

    parent: CallPath | None
    line: int  # of the parent, from where it was called
    function: Key | None
    calls: int = 0
    self_ns: int = 0
    inclusive_ns: int = 0  # the sum of `self_ns` here and below
    children: dict[tuple[int, Key | None], CallPath] = field(default_factory=dict)
    folded: set[Key] | None = None  # functions of its library that count as this one

    def child(self, line: int, function: Key) -> CallPath:
        """Return the path from here by a call from `line`; made at its first use."""
        key = (line, function)
        found = self.children.get(key)
        if found is None:
            found = self.children[key] = CallPath(self, line, function)
        return found


def call_path_tree(
    profile: Profile, library_of: Callable[[str], str] = lambda _: ""
) -> CallPath:
    """Return the root of all call paths; its `children` are sorted, longest first.

    If the profile has no call tree, each function is a child of the root, and its
    self time includes its callees. Functions that are called from within the library
    of their file, if `library_of` names one, are folded into the function by which
    that library was entered. C functions are of their caller's library.
    """
    nodes = node_columns(profile.calls.nodes)
    keys = map(nodes.functions.__getitem__, nodes.column("function"))
    parents, *columns = map(nodes.column, ("parent", "line", "calls", "self_ns"))
    rows = [*zip(parents, keys, *columns)] or [
        (NO_NODE, one.key, 0, one.calls, one.total_ns) for one in profile.functions
    ]
    root = CallPath(None, 0, None)
    paths: list[CallPath] = []
    libraries: list[str] = []
    names = {file: library_of(file) for file in {key[0] for _, key, *_ in rows}}
    for parent, key, line, calls, self_ns in rows:
        above = root if parent == NO_NODE else paths[parent]
        around = "" if parent == NO_NODE else libraries[parent]
        library = names[key[0]] if key[0] or key == DEEPER else around
        if library and library == around:
            path = above
            path.folded = path.folded or set()
            path.folded.add(key)
        else:
            is_shown = parent == NO_NODE or rows[parent][1] == above.function
            path = above.child(line if is_shown else 0, key)
            path.calls += calls
        path.self_ns += self_ns
        paths.append(path)
        libraries.append(library)
    _add_up([root, *dict.fromkeys(paths)])
    return root


def branch_point(root: CallPath) -> tuple[CallPath, int]:
    """Return the call path below which the time divides, and its depth below `root`.

    Down to it each function has most of its time from one callee. It is `root` itself
    if the calls from outside take similar times.
    """
    path, depth = root, 0
    while path.children:
        longest = next(iter(path.children.values()))
        if longest.function == DEEPER:
            break
        if _divides(longest.inclusive_ns, path.inclusive_ns, root.inclusive_ns):
            break
        path, depth = longest, depth + 1
    return path, depth


def functions_to_branch(nodes: Sequence[CallNode]) -> list[Key]:
    """Return the functions on the call path from a root to the `branch_point`.

    If that is where calls come from outside, the list has the longest root alone. All
    call paths need not be made for it, which takes long if they are many.
    """
    columns = node_columns(nodes)
    functions, lines = columns.column("function"), columns.column("line")
    times, below = subtree_ns(columns), _kept_children(columns)
    found: list[Key] = []
    path = [NO_NODE]  # its nodes: one for each thread, and for each path to its caller
    all_ns = path_ns = sum(times[index] for index in below[NO_NODE])
    while True:
        callees: dict[tuple[int, int], list[int]] = {}
        for node in path:
            for index in below.get(node, ()):
                callees.setdefault((lines[index], functions[index]), []).append(index)
        if not callees:
            return found
        sums = {key: sum(times[one] for one in some) for key, some in callees.items()}
        longest = max(sums, key=sums.__getitem__)
        ns, path, function = sums[longest], callees[longest], longest[1]
        divides = _divides(ns, path_ns, all_ns)
        if not divides or not found:
            found.append(columns.functions[function])
        if divides:
            return found
        path_ns = ns


def _kept_children(columns: CallNodes) -> dict[int, list[int]]:
    """Return the nodes below each node and below NO_NODE, without deeper calls."""
    below: dict[int, list[int]] = {NO_NODE: []}
    functions = columns.functions
    called = columns.column("function")
    for index, parent in enumerate(columns.column("parent")):
        if functions[called[index]] != DEEPER:
            below.setdefault(parent, []).append(index)
    return below


def _divides(longest_ns: int, path_ns: int, all_ns: int) -> bool:
    """Return whether the time of a path divides, by that of its longest callee."""
    return (
        longest_ns < _MIN_SHARE_OF_CALLER * path_ns
        or longest_ns < _MIN_SHARE_OF_ALL * all_ns
    )


def _add_up(paths: Sequence[CallPath]) -> None:
    """Set all `inclusive_ns` and sort all children; parents come first in `paths`."""
    for path in reversed(paths):
        path.inclusive_ns += path.self_ns
        if path.parent:
            path.parent.inclusive_ns += path.inclusive_ns
        path.children = dict(
            sorted(path.children.items(), key=lambda item: -item[1].inclusive_ns)
        )
