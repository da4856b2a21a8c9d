"""From the core's tree of calls to a profile's."""

from __future__ import annotations

from operator import add

from lineprof.call_records import NO_CALLS, NO_NODE, CallNode, CallTree
from lineprof.snapshot_sums import settle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from lineprof.records import FunctionStats, Key
    from lineprof.snapshot import Scale

    # parent, line, serial of the code, thread, calls, primitive, self, its cost,
    # total, its cost, inclusive, its cost
    RawNode = tuple[int, int, int, int, int, int, int, int, int, int, int, int]
    RawTree = tuple[int, Sequence[RawNode]]  # folded calls, nodes
    Way = tuple[int, int, Key, int]  # parent, line, function, thread
    Row = list[Any]  # see `snapshot_sums`

_SELF, _SELF_COST = 2, 3  # places in a node's numbers
_NONE: dict[Key, int] = {}


def tree_of(
    raw: RawTree,
    keys: Mapping[int, Key],
    place_of: Callable[[int], int],
    scale: Scale,
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
    functions = settle(rows, functions, folded=folded > 0)
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

    def rows(self, place_of: Callable[[int], int], scale: Scale) -> list[Row]:
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


def _net(scale: Scale, ticks: int, cost: int) -> int:
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
