"""The call tree, and times of its nodes that add up exactly to those of the lines.

In ticks, and in the measured cost of measuring, all sums hold (see `CallTree`). In ns
each number is rounded by itself; and where more cost was taken off than there was
time, a number becomes 0, but the sums that it is part of do not. So the times of nodes
are computed from the callees to their callers, and from the times of lines, such that:

- the nodes of a function have, together, the inclusive time of its lines;
- no node and no line takes less than its callees. One that would gets more: as little
  as possible, and only if the clock measured so much of it;
- the self time of a node or a line is the rest.

A function stands on a call path once, and calls of it further down are leaves there;
their callees are below the first. So the self time of the first node is that of all
these nodes, less what is below the first, and is divided as it was measured. If some
calls are below another call path, because there was no room for their own, the same
is done with all nodes of a function.
"""

from __future__ import annotations

from operator import add
from typing import TYPE_CHECKING, NamedTuple

from lineprof.model.records import NO_CALLS, NO_NODE, CallNode, CallTree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from lineprof.model.records import FunctionStats, Key, ThreadLine
    from lineprof.snapshot.profile import TickScale

    # As in `NodeRow`.
    RawNode = tuple[int, int, int, int, int, int, int, int, int, int, int, int]
    RawTree = tuple[int, Sequence[RawNode]]  # folded calls, nodes

_NONE: dict[Key, int] = {}


class NodeRow(NamedTuple):
    """One node of the core's tree. Times are ticks, costs parts of a tick."""

    parent: int  # index of the caller's node, or NO_NODE
    line: int  # of the caller
    serial: int  # of the code object
    thread: int  # the core's number
    calls: int
    primitive_calls: int
    self_ticks: int
    self_cost: int
    total_ticks: int
    total_cost: int
    inclusive_ticks: int
    inclusive_cost: int

    def plus(self, other: NodeRow) -> NodeRow:
        """Return this node with the numbers of `other` added."""
        return self._replace(
            calls=self.calls + other.calls,
            primitive_calls=self.primitive_calls + other.primitive_calls,
            self_ticks=self.self_ticks + other.self_ticks,
            self_cost=self.self_cost + other.self_cost,
            total_ticks=self.total_ticks + other.total_ticks,
            total_cost=self.total_cost + other.total_cost,
            inclusive_ticks=self.inclusive_ticks + other.inclusive_ticks,
            inclusive_cost=self.inclusive_cost + other.inclusive_cost,
        )

    @property
    def has_numbers(self) -> bool:
        """Whether anything was counted since the last `reset`."""
        return any(
            (
                *(self.calls, self.primitive_calls, self.self_ticks, self.self_cost),
                *(self.total_ticks, self.total_cost),
                *(self.inclusive_ticks, self.inclusive_cost),
            )
        )


class _CallPath(NamedTuple):
    """One call path of the profile, by its last call."""

    above: int  # index of the caller's path, or NO_NODE
    line: int  # of the caller
    function: Key
    thread: int  # the core's number


class _Node:
    """One node of the profile's tree, while its times (ns) are computed."""

    __slots__ = (
        *("parent", "line", "function", "thread", "calls", "primitive_calls"),
        *("self_ns", "total_ns", "inclusive_ns", "raw_ns", "is_primitive"),
    )

    def __init__(  # noqa: PLR0913
        self,
        *,
        parent: int,
        line: int,
        function: Key,
        thread: int,
        row: NodeRow,
        scale: TickScale,
    ) -> None:
        def net_ns(ticks: int, cost: int) -> int:  # below 0 if the cost is more
            return scale.ns(ticks) - scale.cost_ns(cost)

        self.parent = parent
        self.line = line
        self.function = function
        self.thread = thread  # its index in the profile
        self.calls = row.calls
        self.primitive_calls = row.primitive_calls
        self.self_ns = net_ns(row.self_ticks, row.self_cost)
        self.total_ns = net_ns(row.total_ticks, row.total_cost)
        self.inclusive_ns = net_ns(row.inclusive_ticks, row.inclusive_cost)
        self.raw_ns = scale.ns(row.inclusive_ticks)  # with the cost of measuring
        total = (row.total_ticks, row.total_cost)
        self.is_primitive = total == (row.inclusive_ticks, row.inclusive_cost)

    def frozen(self) -> CallNode:
        """Return the node as a profile has it."""
        return CallNode(
            parent=self.parent,
            line=self.line,
            function=self.function,
            thread=self.thread,
            calls=self.calls,
            primitive_calls=self.primitive_calls,
            self_ns=self.self_ns,
            total_ns=self.total_ns,
            inclusive_ns=self.inclusive_ns,
        )


def tree_of(
    raw: RawTree,
    keys: Mapping[int, Key],
    place_of: Callable[[int], int],
    scale: TickScale,
    functions: Sequence[FunctionStats] = (),
) -> tuple[CallTree, Sequence[FunctionStats]]:
    """Return the call tree in the result of ``Tracer.snapshot``, and `functions`.

    `keys` has the functions that are shown, C functions included, by the serials of
    their code objects; `place_of` returns a thread's index by the core's number;
    `functions` are the profile's, which the nodes' times are made to fit. A line that
    would take less than its callees gets more.
    """
    folded, raw_nodes = raw
    if not raw_nodes:
        return NO_CALLS, functions
    builder = _Builder(keys)
    for node in map(NodeRow._make, raw_nodes):
        builder.add(node)
    nodes = builder.nodes(place_of, scale)
    functions = reconcile(nodes, functions, folded=folded > 0)
    tree = CallTree(nodes=tuple([node.frozen() for node in nodes]), folded=folded)
    return tree, functions


def of_c(c_functions: Iterable[tuple[int, str]]) -> dict[int, Key]:
    """Return the keys of C functions, which have no file and no line, by serial."""
    return {serial: ("", 0, name) for serial, name in c_functions}


def remarks(tree: CallTree) -> list[str]:
    """Return warnings for a report that shows `tree`."""
    if not tree.folded:
        return []
    remark = (
        f"there were more call paths than are kept: {tree.folded} calls have the right"
        " caller and line everywhere, but --tree and flame graphs show them below"
        " another path to that caller; profile fewer functions (--include, --exclude)"
        " to see each path"
    )
    return [remark]


class _Builder:
    """The profile's nodes while they are joined from the core's.

    All code objects of one function are one. The callees of a code object that is
    not shown, and its self time, go to its caller.
    """

    def __init__(self, keys: Mapping[int, Key]) -> None:
        self._keys = keys
        self._paths: list[_CallPath] = []
        self._sums: list[NodeRow] = []  # of each path: the core's nodes, added up
        self._indexes: dict[_CallPath, int] = {}
        # Of each of the core's nodes: the path below which its callees are, and the
        # line there that called them; None: the line that the callee states.
        self._below: list[tuple[int, int | None]] = []
        self._several = _several(keys.values())
        # Of each path: the first node of each function of `_several` on it.
        self._first: list[dict[Key, int]] = []

    def add(self, node: NodeRow) -> None:
        """Take the core's next node."""
        above, line = NO_NODE, node.line
        if node.parent != NO_NODE:
            above, line_above = self._below[node.parent]
            line = line if line_above is None else line_above
        if above == NO_NODE:
            line = 0
        key = self._keys.get(node.serial)
        if key is None:
            self._below.append((above, line))
            if above != NO_NODE:
                caller = self._sums[above]
                self._sums[above] = caller._replace(
                    self_ticks=caller.self_ticks + node.self_ticks,
                    self_cost=caller.self_cost + node.self_cost,
                )
            return
        path = _CallPath(above=above, line=line, function=key, thread=node.thread)
        index = self._indexes.setdefault(path, len(self._paths))
        if index == len(self._paths):
            self._add_path(path)
            self._sums.append(node)
        else:
            self._sums[index] = self._sums[index].plus(node)
        self._below.append((self._first[index].get(key, index), None))

    def _add_path(self, path: _CallPath) -> None:
        first = _NONE if path.above == NO_NODE else self._first[path.above]
        if path.function in self._several and path.function not in first:
            first = {**first, path.function: len(self._paths)}
        self._paths.append(path)
        self._first.append(first)

    def nodes(self, place_of: Callable[[int], int], scale: TickScale) -> list[_Node]:
        """Return all nodes in which anything was counted."""
        nodes: list[_Node] = []
        new = [NO_NODE] * len(self._paths)
        counted = self._counted()
        for index, path in enumerate(self._paths):
            if counted[index]:
                new[index] = len(nodes)
                node = _Node(
                    parent=NO_NODE if path.above == NO_NODE else new[path.above],
                    line=path.line,
                    function=path.function,
                    thread=place_of(path.thread),
                    row=self._sums[index],
                    scale=scale,
                )
                nodes.append(node)
        return nodes

    def _counted(self) -> list[bool]:
        """Tell of each path whether it, or one below it, has any number."""
        counted = [row.has_numbers for row in self._sums]
        for index in range(len(counted) - 1, -1, -1):
            above = self._paths[index].above
            if counted[index] and above != NO_NODE:
                counted[above] = True
        return counted


def _several(keys: Iterable[Key]) -> set[Key]:
    """Return the functions that have more than one code object.

    The core has each code object on a call path once; if a function calls itself
    through another code object, its callees are also below its first node on the path.
    """
    seen: set[Key] = set()
    several: set[Key] = set()
    for key in keys:
        (several if key in seen else seen).add(key)
    return several


# Functions and lines whose times are made to add up.


class _Line:
    """A line that called profiled functions, on one thread."""

    __slots__ = ("called", "measured", "more", "nodes", "ns", "raw", "raw_called")

    def __init__(self) -> None:
        self.nodes: list[int] = []  # its callees
        self.ns = self.raw = 0  # its time, and that with the cost of measuring
        self.called = self.raw_called = 0  # of these, the time of its callees
        self.more = 0  # ns that it is to get
        self.measured = 0  # cells; without one it has no time

    @property
    def is_sound(self) -> bool:
        """Whether its callees took no more, by the clock: greenlets may take turns."""
        return self.measured > 0 and self.raw_called <= self.raw + self.measured


class _Function:
    """One function on one thread."""

    __slots__ = ("cells", "is_complete", "lines", "nodes", "ns", "over", "raw")

    def __init__(self) -> None:
        self.nodes: list[int] = []
        self.lines: dict[int, _Line] = {}
        self.cells = self.ns = self.raw = 0  # of all its lines
        self.is_complete = False  # whether nodes and lines are of the same calls
        self.over = 0  # ns that its nodes took so far beyond their part of that

    def add(self, cell: ThreadLine) -> None:
        """Add the time of one of the function's lines."""
        self.cells += 1
        self.ns += cell.time_ns
        self.raw += cell.raw_ns
        line = self.lines.get(cell.line)
        if line is not None:
            line.measured += 1
            line.ns += cell.time_ns
            line.raw += cell.raw_ns

    def raise_lines(self) -> int:
        """Raise lines to the time of their callees; return the ns that nodes lack."""
        sound = [line for line in self.lines.values() if line.is_sound]
        for line in sound:
            line.more = max(0, line.called - line.ns)
        raised = sum([line.more for line in sound])
        if sound and self.over > raised:
            max(sound, key=lambda line: line.called).more += self.over - raised
            raised = self.over
        self.ns += raised
        return raised - self.over


def _divided(whole: int, weights: Sequence[int]) -> list[int]:
    """Divide `whole` in proportion to `weights`, exactly to the ns."""
    total = sum(weights)
    if total == whole:
        return list(weights)
    if not total:
        weights, total = [1] * len(weights), len(weights)
    parts, before, done = [], 0, 0
    for weight in weights:
        before += weight
        end = whole * before // total
        parts.append(end - done)
        done = end
    return parts


def _divided_by_cost(whole: int, nets: Sequence[int], raws: Sequence[int]) -> list[int]:
    """Divide `whole` into parts close to `nets` and not above `raws`."""
    more = whole - sum(nets)
    if more <= 0:
        return _divided(whole, nets)
    costs = [max(0, raw - net) for net, raw in zip(nets, raws)]
    return list(map(add, nets, _divided(more, costs if any(costs) else nets)))


def _heads(nodes: Sequence[_Node], order: Sequence[int], *, folded: bool) -> list[int]:
    """Return for each node the first of its function on its call path.

    If some calls are `folded` into other call paths, it is the last in `order`.
    """
    if folded:
        last = {(nodes[index].function, nodes[index].thread): index for index in order}
        return [last[node.function, node.thread] for node in nodes]
    below: dict[int, list[int]] = {}
    for index, node in enumerate(nodes):
        below.setdefault(node.parent, []).append(index)
    heads = list(range(len(nodes)))
    on_path: dict[Key, int] = {}
    todo = [(index, True) for index in below.get(-1, ())]
    while todo:
        index, begins = todo.pop()
        key = nodes[index].function
        if not begins:
            del on_path[key]
            continue
        heads[index] = on_path.setdefault(key, index)
        if heads[index] == index:
            todo.append((index, False))
        todo += [(one, True) for one in below.get(index, ())]
    return heads


def reconcile(
    nodes: Sequence[_Node], functions: Iterable[FunctionStats], *, folded: bool
) -> list[FunctionStats]:
    """Make the times (ns) of `nodes`, in place, fit each other and `functions`.

    Returns the functions, with more time for lines that would have less than their
    callees. `folded`: some calls are below another call path of their caller.
    """
    found = list(functions)
    tree = _Tree(nodes, found)
    tree.divide_among_nodes()
    tree.fit_callers(_heads(nodes, tree.order, folded=folded))
    tree.set_self_times(found)
    tree.set_totals(found)
    return [_with_more(function, tree) for function in found]


class _Tree:
    """All nodes, with their functions and lines, while times are computed."""

    def __init__(
        self, nodes: Sequence[_Node], functions: Iterable[FunctionStats]
    ) -> None:
        self.nodes = nodes
        self.ns = [max(0, node.inclusive_ns) for node in nodes]
        self.functions: dict[tuple[Key, int], _Function] = {}
        self.of: list[_Function] = []  # each node's
        self.on: list[_Line | None] = []  # the line that called it
        depths: list[int] = []
        for index, node in enumerate(nodes):
            place = (node.function, node.thread)
            mine = self.functions.get(place)
            if mine is None:
                mine = self.functions[place] = _Function()
            mine.nodes.append(index)
            self.of.append(mine)
            line, depth = None, 0
            if node.parent >= 0:
                lines = self.of[node.parent].lines
                line = lines.get(node.line)
                if line is None:
                    line = lines[node.line] = _Line()
                line.nodes.append(index)
                line.raw_called += node.raw_ns
                depth = depths[node.parent] + 1
            self.on.append(line)
            depths.append(depth)
        # Callees before their callers.
        self.order = sorted(range(len(nodes)), key=depths.__getitem__, reverse=True)
        self._groups: dict[int, list[int]] = {}
        for function in functions:
            for cell in function.thread_lines:
                mine = self.functions.get((function.key, cell.thread))
                if mine is not None:
                    mine.add(cell)
        for mine in self.functions.values():
            slack = mine.cells + len(mine.nodes)
            known = sum([nodes[index].raw_ns for index in mine.nodes])
            mine.is_complete = mine.cells > 0 and abs(mine.raw - known) <= slack

    def divide_among_nodes(self) -> None:
        """Divide each function's time among its nodes.

        The more cost was taken off a node, the more it gets back of cost that was too
        much. C functions have no lines: they get no more than is left.
        """
        for mine in self.functions.values():
            if mine.is_complete:
                nets = [self.ns[index] for index in mine.nodes]
                raws = [self.nodes[index].raw_ns for index in mine.nodes]
                for index, ns in zip(mine.nodes, _divided_by_cost(mine.ns, nets, raws)):
                    self.ns[index] = ns
        for mine in self.functions.values():
            for line in mine.lines.values():
                max_ns = line.ns
                if not mine.cells:
                    max_ns = sum([self.ns[index] for index in mine.nodes])
                self._limit_c(line.nodes, max_ns)

    def _limit_c(self, called: Sequence[int], max_ns: int) -> None:
        """Limit the C functions among `called` to the rest of `max_ns`."""
        of_c = [index for index in called if not self.nodes[index].function[0]]
        times = [self.ns[index] for index in of_c]
        of_c_ns = sum(times)
        if of_c_ns:
            left = max_ns - (sum([self.ns[index] for index in called]) - of_c_ns)
            if left < of_c_ns:
                for index, ns in zip(of_c, _divided(max(0, left), times)):
                    self.ns[index] = ns

    def fit_callers(self, heads: Sequence[int]) -> None:
        """Make each node, and then each line, take at least the time of its callees.

        `heads` has for each node the first of its function on its call path.
        """
        nodes, ns = self.nodes, self.ns
        called, bound = [0] * len(nodes), self._bound(heads)
        last = {id(self.of[index]): index for index in self.order}
        for index in self.order:
            mine, head = self.of[index], heads[index]
            took = max(0, ns[index] - mine.over)
            if head == index and bound[index]:
                took = max(took, called[index])
            mine.over += took - ns[index]
            if mine.is_complete and last[id(mine)] == index:
                took = max(0, took + mine.raise_lines())
            ns[index] = took
            if head != index:
                called[head] -= took
            line, parent = self.on[index], nodes[index].parent
            if line is not None:
                line.called += took
                called[heads[parent]] += took
        for mine in self.functions.values():
            times = [ns[index] for index in mine.nodes]
            if mine.is_complete and sum(times) != mine.ns:  # frames took turns
                for index, took in zip(mine.nodes, _divided(mine.ns, times)):
                    self._change(index, took)
        for index, head in enumerate(heads):
            self._groups.setdefault(head, []).append(index)

    def _change(self, index: int, took: int) -> None:
        line = self.on[index]
        if line is not None:
            line.called += took - self.ns[index]
        self.ns[index] = took

    def _bound(self, heads: Sequence[int]) -> list[bool]:
        """Tell of each head whether its nodes took, by the clock, all their callees."""
        left = [1] * len(heads)
        for index, node in enumerate(self.nodes):
            left[heads[index]] += node.raw_ns + 1
            if node.parent >= 0:
                left[heads[node.parent]] -= node.raw_ns
        return [ns >= 0 for ns in left]

    def set_self_times(self, functions: Iterable[FunctionStats]) -> None:
        """Set the self times of nodes: in all, those of their function's lines."""
        own: dict[int, int] = {}  # by head
        below = dict.fromkeys(self._groups, 0)
        heads = {index: head for head, all_ in self._groups.items() for index in all_}
        for index, node in enumerate(self.nodes):
            if node.parent >= 0:
                below[heads[node.parent]] += self.ns[index]
        by_key: dict[Key, list[int]] = {}
        for head, group in self._groups.items():
            took = sum([self.ns[index] for index in group])
            own[head] = max(0, took - below[head])
            by_key.setdefault(self.nodes[head].function, []).append(head)
        for function in functions:
            mine = by_key.get(function.key)
            if mine and all(self.of[head].is_complete for head in mine):
                whole = self._self_of_lines(function)
                parts = [own[head] for head in mine]
                if sum(parts) != whole:
                    own.update(zip(mine, _divided(whole, parts)))
        for head, group in self._groups.items():
            weights = [max(0, self.nodes[index].self_ns) for index in group]
            for index, ns in zip(group, _divided(own[head], weights)):
                self.nodes[index].self_ns = ns

    def _self_of_lines(self, function: FunctionStats) -> int:
        """Return the self time of all lines, each with all its threads (ns)."""
        times = function.line_ns
        for thread in {cell.thread for cell in function.thread_lines}:
            mine = self.functions.get((function.key, thread))
            for number, line in mine.lines.items() if mine else ():
                if number in times:
                    times[number] += line.more - line.called
        return sum([max(0, ns) for ns in times.values()])

    def set_totals(self, functions: Iterable[FunctionStats]) -> None:
        """Set the total and the inclusive times of nodes."""
        once = {one.key for one in functions if one.recursive_ns is None}
        for node, ns in zip(self.nodes, self.ns):
            whole = node.inclusive_ns
            if node.is_primitive or node.function in once:
                node.total_ns = ns
            else:
                total = max(0, node.total_ns) * ns // whole if whole > 0 else 0
                node.total_ns = min(ns, total)
            node.inclusive_ns = ns

    def total_of(self, function: FunctionStats) -> int | None:
        """Return a function's total (ns), if it recursed and all calls are known."""
        threads = {cell.thread for cell in function.thread_lines}
        mine = [self.functions.get((function.key, thread)) for thread in threads]
        if not all(one and one.is_complete for one in mine):
            return function.recursive_ns
        nodes = [index for one in mine if one for index in one.nodes]
        total: int = sum([self.nodes[index].total_ns for index in nodes])
        return total

    def more_of(self, function: FunctionStats) -> dict[tuple[int, int], int]:
        """Return the ns that lines are to get, by line and thread."""
        more: dict[tuple[int, int], int] = {}
        for thread in {cell.thread for cell in function.thread_lines}:
            mine = self.functions.get((function.key, thread))
            for number, line in mine.lines.items() if mine else ():
                if line.more:
                    more[number, thread] = line.more
        return more


def _with_more(function: FunctionStats, tree: _Tree) -> FunctionStats:
    """Return a function with the time that its lines are to get, and its total."""
    more = tree.more_of(function)
    total = function.recursive_ns
    if total is not None:
        total = tree.total_of(function)
    if not more and total == function.recursive_ns:
        return function
    cells = []
    for cell in function.thread_lines:
        ns = cell.time_ns + more.pop((cell.line, cell.thread), 0)
        cells.append(cell._replace(time_ns=ns))
    return function._replace(thread_lines=tuple(cells), recursive_ns=total)
