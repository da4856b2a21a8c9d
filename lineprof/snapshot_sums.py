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

from lineprof.snapshot_parts import (
    INCLUSIVE,
    KEY,
    LINE,
    ONCE,
    PARENT,
    RAW,
    SELF,
    THREAD,
    TOTAL,
    Function,
    Line,
    heads_of,
    shared,
    spread,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lineprof.records import FunctionStats, Key
    from lineprof.snapshot_parts import Row


def settle(
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
            for cell in function.cells:
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
        for cell in function.cells:
            times[cell.line] = times.get(cell.line, 0) + cell.time_ns
        for thread in {cell.thread for cell in function.cells}:
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
        threads = {cell.thread for cell in function.cells}
        mine = [self.functions.get((function.key, thread)) for thread in threads]
        if not all(one and one.is_whole for one in mine):
            return function.recursive_ns
        nodes = [index for one in mine if one for index in one.nodes]
        total: int = sum([self.rows[index][TOTAL] for index in nodes])
        return total

    def more_of(self, function: FunctionStats) -> dict[tuple[int, int], int]:
        """Return what lines are to get (ns), by line and thread."""
        more: dict[tuple[int, int], int] = {}
        for thread in {cell.thread for cell in function.cells}:
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
    for cell in function.cells:
        ns = cell.time_ns + more.pop((cell.line, cell.thread), 0)
        cells.append(cell._replace(time_ns=ns))
    return function._replace(cells=tuple(cells), recursive_ns=total)
