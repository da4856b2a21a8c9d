"""Functions and lines whose times are made to add up, and how these are shared out."""

from __future__ import annotations

from operator import add

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from lineprof.records import Cell, Key

    # parent, line, function, thread, calls, primitive calls, self, total, inclusive;
    # inclusive with the cost; is the total, by the clock, the inclusive time?
    Row = list[Any]

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

    def add(self, cell: Cell) -> None:
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
