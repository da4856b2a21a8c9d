"""Nanoseconds that add up: who called whom, corrected once, so that it fits the lines.

In ticks, and in what measuring cost of them, all sums hold (see `CallTree`). In ns
each number is rounded by itself; and where more was taken off as cost than there
was, a number stays at 0, but those that it is part of go on. So nodes are worked
out from their callees to their callers, and from the times of lines, such that:

- a function's nodes have, together, the inclusive time of its lines;
- none takes less than what it called, nor does a line. One that would gets more: as
  little as will do, and only if the clock saw so much of it;
- own time, of a node or a line, is what is left.

A function stands on a way once, and calls of it below are leaves there; what these
call is below the first. So a node's own time is that of all these nodes, less what
is below the first, and is shared out as it was measured. Where some calls hang
below another way, for want of room, that is so of all nodes of a function.
"""

from __future__ import annotations

from operator import add
from typing import TYPE_CHECKING

from lineprof.model.records import NO_CALLS, NO_NODE, CallNode, CallTree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from lineprof.model.records import FunctionStats, Key, ThreadLine
    from lineprof.snapshot.profile import TickScale

    # parent, line, serial of the code, thread, calls, primitive, self, its cost,
    # total, its cost, inclusive, its cost
    RawNode = tuple[int, int, int, int, int, int, int, int, int, int, int, int]
    RawTree = tuple[int, Sequence[RawNode]]  # folded calls, nodes
    Way = tuple[int, int, Key, int]  # parent, line, function, thread
    Row = list[Any]  # see `snapshot_sums`


# From the core's tree of calls to a profile's.


_SELF, _SELF_COST = 2, 3  # places in a node's numbers
_NONE: dict[Key, int] = {}


def tree_of(
    raw: RawTree,
    keys: Mapping[int, Key],
    place_of: Callable[[int], int],
    scale: TickScale,
    functions: Sequence[FunctionStats] = (),
) -> tuple[CallTree, Sequence[FunctionStats]]:
    """Return the tree of what ``Tracer.snapshot`` gives, and `functions` to it.

    `keys` has the functions that are shown, those of C, too, by the serials of
    their code objects; `place_of` a thread's place by the core's number;
    `functions` the profile's, which the nodes' times are to fit. Where a line
    would take less than what it called, it gets more.
    """
    folded, nodes = raw
    if not nodes:
        return NO_CALLS, functions
    builder = _Builder(keys)
    for node in nodes:
        builder.add(node)
    rows = builder.rows(place_of, scale)
    functions = reconcile(rows, functions, folded=folded > 0)
    return CallTree(nodes=tuple(map(_node, rows)), folded=folded), functions


def _node(row: Row) -> CallNode:
    parent, line, key, thread, calls, primitive, own, total, inclusive, *_ = row
    return CallNode(
        parent=parent,
        line=line,
        function=key,
        thread=thread,
        calls=calls,
        primitive_calls=primitive,
        self_ns=own,
        total_ns=total,
        inclusive_ns=inclusive,
    )


def of_c(natives: Iterable[tuple[int, str]]) -> dict[int, Key]:
    """Return functions of C, which have no file and no line, by their serials."""
    return {serial: ("", 0, name) for serial, name in natives}


def remarks(tree: CallTree) -> list[str]:
    """Return what a reader should know of `tree`."""
    if not tree.folded:
        return []
    moved = f"{tree.folded} calls are shown below another way to their caller"
    return [f"{moved}: there were too many ways to keep"]


class _Builder:
    """Nodes while they are joined.

    Code objects of one function are one here. What a code object that is not
    shown has called, and its own time, go to what called it.
    """

    def __init__(self, keys: Mapping[int, Key]) -> None:
        self._keys = keys
        self._ways: list[Way] = []
        self._numbers: list[list[int]] = []  # of each way: the core's, added up
        self._places: dict[Way, int] = {}
        # Of each of the core's nodes: below which of ours its calls are, and from
        # which line there; None: from the one that the call says.
        self._below: list[tuple[int, int | None]] = []
        self._several = _several(keys.values())
        self._open: list[dict[Key, int]] = []  # of `_several`, on each way, its node

    def add(self, node: RawNode) -> None:
        """Take the core's next node."""
        parent, line, serial, thread, *numbers = node
        above = NO_NODE
        if parent != NO_NODE:
            above, instead = self._below[parent]
            line = line if instead is None else instead
        if above == NO_NODE:
            line = 0
        key = self._keys.get(serial)
        if key is None:
            self._below.append((above, line))
            if above != NO_NODE:
                mine = self._numbers[above]
                mine[_SELF] += numbers[_SELF]
                mine[_SELF_COST] += numbers[_SELF_COST]
            return
        way = (above, line, key, thread)
        place = self._places.setdefault(way, len(self._ways))
        if place == len(self._ways):
            self._add_way(way)
            self._numbers.append(numbers)
        else:
            self._numbers[place] = list(map(add, self._numbers[place], numbers))
        self._below.append((self._open[place].get(key, place), None))

    def _add_way(self, way: Way) -> None:
        """Take what is to be a node of ours."""
        above, _, key, _ = way
        on_way = _NONE if above == NO_NODE else self._open[above]
        if key in self._several and key not in on_way:
            on_way = {**on_way, key: len(self._ways)}
        self._ways.append(way)
        self._open.append(on_way)

    def rows(self, place_of: Callable[[int], int], scale: TickScale) -> list[Row]:
        """Return all nodes in which anything was counted, times in ns."""
        rows: list[Row] = []
        new = [NO_NODE] * len(self._ways)
        counted = self._counted()
        for place, (above, line, key, thread) in enumerate(self._ways):
            if not counted[place]:
                continue
            new[place] = len(rows)
            parent = above if above == NO_NODE else new[above]
            calls, primitive, *times = self._numbers[place]
            rows.append(
                [
                    *(parent, line, key, place_of(thread), calls, primitive),
                    *(_net(scale, *times[at : at + 2]) for at in (0, 2, 4)),
                    *(scale.ns(times[4]), times[2:4] == times[4:]),
                ]
            )
        return rows

    def _counted(self) -> list[bool]:
        """Tell of each node whether it, or one below it, has any number.

        Those of before `reset` have none.
        """
        counted = [any(numbers) for numbers in self._numbers]
        for place in range(len(counted) - 1, -1, -1):
            above = self._ways[place][0]
            if counted[place] and above != NO_NODE:
                counted[above] = True
        return counted


def _net(scale: TickScale, ticks: int, cost: int) -> int:
    """Return `ticks` less their cost in ns; below 0 if that is more."""
    return scale.ns(ticks) - scale.cost_ns(cost)


def _several(keys: Iterable[Key]) -> set[Key]:
    """Return the functions that have more than one code object.

    A way has each code object once; where a function calls itself by way of
    another one, what it calls is below its first node on the way, too.
    """
    seen: set[Key] = set()
    several: set[Key] = set()
    for key in keys:
        (several if key in seen else seen).add(key)
    return several


# Functions and lines whose times are made to add up, and how these are shared out.


PARENT, LINE, KEY, THREAD, _, _, SELF, TOTAL, INCLUSIVE, RAW, ONCE = range(11)


class Line:
    """A line that called anything."""

    __slots__ = ("called", "measured", "more", "nodes", "ns", "raw", "raw_called")

    def __init__(self) -> None:
        self.nodes: list[int] = []  # what it called
        self.ns = self.raw = 0  # its time, and that with the cost
        self.called = self.raw_called = 0  # and of that what it called
        self.more = 0  # ns that it is to get
        self.measured = 0  # cells; without one it has no time

    @property
    def is_sound(self) -> bool:
        """Whether it took, by the clock, what it called: frames may take turns."""
        return self.measured > 0 and self.raw_called <= self.raw + self.measured


class Function:
    """One function on one thread."""

    __slots__ = ("cells", "is_whole", "lines", "nodes", "ns", "over", "raw")

    def __init__(self) -> None:
        self.nodes: list[int] = []
        self.lines: dict[int, Line] = {}
        self.cells = self.ns = self.raw = 0  # of all its lines
        self.is_whole = False  # nodes and lines are of the same calls
        self.over = 0  # what its nodes took so far beyond their part of that

    def add(self, cell: ThreadLine) -> None:
        """Take one of its lines' times."""
        self.cells += 1
        self.ns += cell.time_ns
        self.raw += cell.raw_ns
        line = self.lines.get(cell.line)
        if line is not None:
            line.measured += 1
            line.ns += cell.time_ns
            line.raw += cell.raw_ns

    def raise_lines(self) -> int:
        """Give lines what they lack of what they called; return what nodes lack."""
        sound = [line for line in self.lines.values() if line.is_sound]
        for line in sound:
            line.more = max(0, line.called - line.ns)
        raised = sum([line.more for line in sound])
        if sound and self.over > raised:
            max(sound, key=lambda line: line.called).more += self.over - raised
            raised = self.over
        self.ns += raised
        return raised - self.over


def spread(whole: int, weights: Sequence[int]) -> list[int]:
    """Return `whole` in parts that are as `weights` to each other, to the ns."""
    total = sum(weights)
    if total == whole:
        return list(weights)
    if not total:
        weights, total = [1] * len(weights), len(weights)
    parts, before, given = [], 0, 0
    for weight in weights:
        before += weight
        upto = whole * before // total
        parts.append(upto - given)
        given = upto
    return parts


def shared(whole: int, nets: Sequence[int], raws: Sequence[int]) -> list[int]:
    """Return `whole` in parts that are about `nets`, and at most `raws`."""
    more = whole - sum(nets)
    if more <= 0:
        return spread(whole, nets)
    costs = [max(0, raw - net) for net, raw in zip(nets, raws)]
    return list(map(add, nets, spread(more, costs if any(costs) else nets)))


def heads_of(rows: Sequence[Row], order: Sequence[int], *, folded: bool) -> list[int]:
    """Return for each node the first of its function on its way.

    Where some are not where they were called, it is the last of all in `order`.
    """
    if folded:
        last = {(rows[index][KEY], rows[index][THREAD]): index for index in order}
        return [last[row[KEY], row[THREAD]] for row in rows]
    below: dict[int, list[int]] = {}
    for index, row in enumerate(rows):
        below.setdefault(row[PARENT], []).append(index)
    heads = list(range(len(rows)))
    on_way: dict[Key, int] = {}
    todo = [(index, True) for index in below.get(-1, ())]
    while todo:
        index, begins = todo.pop()
        key = rows[index][KEY]
        if not begins:
            del on_way[key]
            continue
        heads[index] = on_way.setdefault(key, index)
        if heads[index] == index:
            todo.append((index, False))
        todo += [(one, True) for one in below.get(index, ())]
    return heads


def reconcile(
    rows: Sequence[Row], functions: Iterable[FunctionStats], *, folded: bool
) -> list[FunctionStats]:
    """Make the times (ns) of nodes, in place, fit each other and those of `functions`.

    Returns these, with more time for lines that would have less than what they
    called. `folded` tells that not all nodes are where they were called.
    """
    found = list(functions)
    tree = _Tree(rows, found)
    tree.share_out()
    tree.work_up(heads_of(rows, tree.order, folded=folded))
    tree.take_selves(found)
    tree.take_totals(found)
    return [_with_more(function, tree) for function in found]


class _Tree:
    """Nodes while they are worked out."""

    def __init__(self, rows: Sequence[Row], functions: Iterable[FunctionStats]) -> None:
        self.rows = rows
        self.ns = [max(0, row[INCLUSIVE]) for row in rows]
        self.functions: dict[tuple[Key, int], Function] = {}
        self.of: list[Function] = []  # each node's
        self.on: list[Line | None] = []  # the line that called it
        depths: list[int] = []
        for index, row in enumerate(rows):
            place = (row[KEY], row[THREAD])
            mine = self.functions.get(place)
            if mine is None:
                mine = self.functions[place] = Function()
            mine.nodes.append(index)
            self.of.append(mine)
            line, depth = None, 0
            if row[PARENT] >= 0:
                lines = self.of[row[PARENT]].lines
                line = lines.get(row[LINE])
                if line is None:
                    line = lines[row[LINE]] = Line()
                line.nodes.append(index)
                line.raw_called += row[RAW]
                depth = depths[row[PARENT]] + 1
            self.on.append(line)
            depths.append(depth)
        # Callees before their callers.
        self.order = sorted(range(len(rows)), key=depths.__getitem__, reverse=True)
        self._groups: dict[int, list[int]] = {}
        for function in functions:
            for cell in function.thread_lines:
                mine = self.functions.get((function.key, cell.thread))
                if mine is not None:
                    mine.add(cell)
        for mine in self.functions.values():
            slack = mine.cells + len(mine.nodes)
            known = sum([rows[index][RAW] for index in mine.nodes])
            mine.is_whole = mine.cells > 0 and abs(mine.raw - known) <= slack

    def share_out(self) -> None:
        """Share each function's time out among its nodes.

        The more was taken off a node as cost, the more of what was too much of it
        is given back. C functions have no lines: they get no more than is left.
        """
        for mine in self.functions.values():
            if mine.is_whole:
                nets = [self.ns[index] for index in mine.nodes]
                raws = [self.rows[index][RAW] for index in mine.nodes]
                for index, ns in zip(mine.nodes, shared(mine.ns, nets, raws)):
                    self.ns[index] = ns
        for mine in self.functions.values():
            for line in mine.lines.values():
                most = line.ns
                if not mine.cells:
                    most = sum([self.ns[index] for index in mine.nodes])
                self._hold_c(line.nodes, most)

    def _hold_c(self, called: Sequence[int], most: int) -> None:
        """Have the functions of C among `called` take what others leave of `most`."""
        of_c = [index for index in called if not self.rows[index][KEY][0]]
        times = [self.ns[index] for index in of_c]
        of_c_ns = sum(times)
        if of_c_ns:
            left = most - (sum([self.ns[index] for index in called]) - of_c_ns)
            if left < of_c_ns:
                for index, ns in zip(of_c, spread(max(0, left), times)):
                    self.ns[index] = ns

    def work_up(self, heads: Sequence[int]) -> None:
        """Make each node take what it called; and lines, once all of theirs is known.

        `heads` has for each node the first of its function on its way.
        """
        rows, ns = self.rows, self.ns
        called, bound = [0] * len(rows), self._bound(heads)
        last = {id(self.of[index]): index for index in self.order}
        for index in self.order:
            mine, head = self.of[index], heads[index]
            took = max(0, ns[index] - mine.over)
            if head == index and bound[index]:
                took = max(took, called[index])
            mine.over += took - ns[index]
            if mine.is_whole and last[id(mine)] == index:
                took = max(0, took + mine.raise_lines())
            ns[index] = took
            if head != index:
                called[head] -= took
            line, parent = self.on[index], rows[index][PARENT]
            if line is not None:
                line.called += took
                called[heads[parent]] += took
        for mine in self.functions.values():
            times = [ns[index] for index in mine.nodes]
            if mine.is_whole and sum(times) != mine.ns:  # frames took turns
                for index, took in zip(mine.nodes, spread(mine.ns, times)):
                    self._change(index, took)
        for index, head in enumerate(heads):
            self._groups.setdefault(head, []).append(index)

    def _change(self, index: int, took: int) -> None:
        line = self.on[index]
        if line is not None:
            line.called += took - self.ns[index]
        self.ns[index] = took

    def _bound(self, heads: Sequence[int]) -> list[bool]:
        """Tell of each head whether its nodes took, by the clock, what they called."""
        left = [1] * len(heads)
        for index, row in enumerate(self.rows):
            left[heads[index]] += row[RAW] + 1
            if row[PARENT] >= 0:
                left[heads[row[PARENT]]] -= row[RAW]
        return [ns >= 0 for ns in left]

    def take_selves(self, functions: Iterable[FunctionStats]) -> None:
        """Give nodes their own time: of a function's, that of its lines."""
        own: dict[int, int] = {}  # by head
        below = dict.fromkeys(self._groups, 0)
        heads = {index: head for head, all_ in self._groups.items() for index in all_}
        for index, row in enumerate(self.rows):
            if row[PARENT] >= 0:
                below[heads[row[PARENT]]] += self.ns[index]
        by_key: dict[Key, list[int]] = {}
        for head, group in self._groups.items():
            took = sum([self.ns[index] for index in group])
            own[head] = max(0, took - below[head])
            by_key.setdefault(self.rows[head][KEY], []).append(head)
        for function in functions:
            mine = by_key.get(function.key)
            if mine and all(self.of[head].is_whole for head in mine):
                whole = self._own_of_lines(function)
                parts = [own[head] for head in mine]
                if sum(parts) != whole:
                    own.update(zip(mine, spread(whole, parts)))
        for head, group in self._groups.items():
            weights = [max(0, self.rows[index][SELF]) for index in group]
            for index, ns in zip(group, spread(own[head], weights)):
                self.rows[index][SELF] = ns

    def _own_of_lines(self, function: FunctionStats) -> int:
        """Return the own time of all lines, each with all its threads (ns)."""
        times: dict[int, int] = {}
        for cell in function.thread_lines:
            times[cell.line] = times.get(cell.line, 0) + cell.time_ns
        for thread in {cell.thread for cell in function.thread_lines}:
            mine = self.functions.get((function.key, thread))
            for number, line in mine.lines.items() if mine else ():
                if number in times:
                    times[number] += line.more - line.called
        return sum([max(0, ns) for ns in times.values()])

    def take_totals(self, functions: Iterable[FunctionStats]) -> None:
        """Give nodes their times with what they called."""
        once = {one.key for one in functions if one.recursive_ns is None}
        for row, ns in zip(self.rows, self.ns):
            whole = row[INCLUSIVE]
            if row[ONCE] or row[KEY] in once:
                row[TOTAL] = ns
            else:
                total = max(0, row[TOTAL]) * ns // whole if whole > 0 else 0
                row[TOTAL] = min(ns, total)
            row[INCLUSIVE] = ns

    def total_of(self, function: FunctionStats) -> int | None:
        """Return a function's total (ns), if it recursed and all calls are known."""
        threads = {cell.thread for cell in function.thread_lines}
        mine = [self.functions.get((function.key, thread)) for thread in threads]
        if not all(one and one.is_whole for one in mine):
            return function.recursive_ns
        nodes = [index for one in mine if one for index in one.nodes]
        total: int = sum([self.rows[index][TOTAL] for index in nodes])
        return total

    def more_of(self, function: FunctionStats) -> dict[tuple[int, int], int]:
        """Return what lines are to get (ns), by line and thread."""
        more: dict[tuple[int, int], int] = {}
        for thread in {cell.thread for cell in function.thread_lines}:
            mine = self.functions.get((function.key, thread))
            for number, line in mine.lines.items() if mine else ():
                if line.more:
                    more[number, thread] = line.more
        return more


def _with_more(function: FunctionStats, tree: _Tree) -> FunctionStats:
    """Return a function with what its lines are to get, and its total."""
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
