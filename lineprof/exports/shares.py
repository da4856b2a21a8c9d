"""A line's own time, shared out among the ways by which its function was called.

The profile knows what each line cost, and what each call did; not how much of
a line each call was. So a line is shared out in proportion to the calls' own
times. The shares of a line add up to the line, to the nanosecond; those of a
call to the call, but in files of before the two were made to fit.
"""

from __future__ import annotations

from lineprof.call_records import NO_NODE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from lineprof.call_records import CallNode
    from lineprof.records import Cell, Key
    from lineprof.stats import Profile

    Place = tuple[Key, int]  # a function, and the index of a thread
    Share = tuple[int, int, int]  # line, its time (ns), its hits
    Own = dict[Place, dict[int, list[int]]]  # time (ns) and hits of each line

# What rounding can make of a function's time: more is another function's.
_SLACK_NS = 1_000
_SLACK_PART = 1_000  # of which it may be one


class _Function:
    """One function on one thread: what of its lines and calls is left."""

    __slots__ = ("budget", "calls", "hits", "is_whole", "lines", "nodes", "ns")

    def __init__(self) -> None:
        self.lines: list[int] = []
        self.ns: list[int] = []  # of each of `lines`
        self.hits: list[int] = []  # of each of `lines`
        self.budget = 0  # of all lines' time, for the calls (ns)
        self.nodes = 0  # of the calls' own time (ns)
        self.calls = 0
        self.is_whole = False  # the lines' time is that of the calls

    def settle(self, *, is_covered: bool) -> None:
        """Find what of the lines' time is that of the calls.

        All of it, if these are all that there were, or if it differs by little.
        """
        lines = sum(self.ns)
        slack = _SLACK_NS + max(lines, self.nodes) // _SLACK_PART
        is_near = bool(lines) and abs(lines - self.nodes) <= slack
        self.is_whole = is_covered or is_near
        self.budget = lines if self.is_whole else min(lines, self.nodes)

    def time_of(self, ns: int) -> int:
        """Take for a call of `ns` its part of the lines' time."""
        part = self.budget * ns // self.nodes if self.nodes else self.budget
        self.budget -= part
        self.nodes -= ns
        return part

    def take(self, ns: int, calls: int) -> Iterator[Share]:
        """Take `ns` of the lines' time, and of their hits those of so many calls."""
        left, before, given = sum(self.ns), 0, 0
        weight, self.calls = self.calls, self.calls - calls
        for place, line in enumerate(self.lines):
            mine, hits = self.ns[place], self.hits[place]
            before += mine
            upto = before * ns // left if left else 0
            part, given = upto - given, upto
            struck = hits * calls // weight
            if part or struck:
                self.ns[place] = mine - part
                self.hits[place] = hits - struck
                yield line, part, struck


class Shares:
    """What is left of all lines while calls take theirs, each once."""

    def __init__(self, stats: Profile) -> None:
        self._places: dict[Place, _Function] = {}
        for place, lines in _own(stats).items():
            function = self._places.setdefault(place, _Function())
            for line, (ns, hits) in sorted(lines.items()):
                function.lines.append(line)
                function.ns.append(ns)
                function.hits.append(hits)
        calls: dict[Key, int] = {}
        for node in stats.calls.nodes:
            place = (node.function, node.thread)
            function = self._places.setdefault(place, _Function())
            function.nodes += node.self_ns
            function.calls += _weight(node)
            calls[node.function] = calls.get(node.function, 0) + node.calls
        covered = {
            one.key for one in stats.functions if one.calls <= calls.get(one.key, 0)
        }
        for (key, _), function in self._places.items():
            function.settle(is_covered=key in covered)

    def take(self, node: CallNode) -> list[Share]:
        """Return the lines of a call: (line, ns, hits).

        What of its time no line has is at the function's first line, as all
        of it is of one whose lines are not known.
        """
        function = self._places[node.function, node.thread]
        part = function.time_of(node.self_ns)
        shares = list(function.take(part, _weight(node)))
        if not function.is_whole and node.self_ns > part:
            shares.append((node.function[1], node.self_ns - part, 0))
        return shares

    def rest(self) -> Iterator[tuple[Place, list[Share]]]:
        """Yield, once all calls took theirs, what has no call that is known."""
        for place, function in self._places.items():
            numbers = zip(function.lines, function.ns, function.hits)
            shares = [share for share in numbers if share[1] or share[2]]
            if shares:
                yield place, shares


def _weight(node: CallNode) -> int:
    """Return how many calls a node counts for: a generator's steps are some, too."""
    return max(node.calls, 1)


def _own(stats: Profile) -> Own:
    """Return the own time and the hits of each line, by function and thread.

    A line's threads have, together, what `call_edges.own_line_ns` gives it.
    """
    below = _below(stats)
    nothing: dict[int, int] = {}
    own: Own = {}
    for function in stats.functions:
        key = function.key
        lines: dict[int, list[Cell]] = {}
        for cell in function.cells:
            lines.setdefault(cell.line, []).append(cell)
        places: dict[int, dict[int, list[int]]] = {}
        for line, cells in lines.items():
            called = below.get((key, line), nothing)
            for cell, ns in _own_cells(cells, called):
                places.setdefault(cell.thread, {})[line] = [ns, cell.hits]
        own.update(((key, thread), there) for thread, there in places.items())
    return own


def _own_cells(
    cells: Sequence[Cell], called: Mapping[int, int]
) -> Iterable[tuple[Cell, int]]:
    """Return the cells of one line, each with its own time (ns).

    `called` is what the line called, by thread (ns).
    """
    if len(cells) == 1:  # the usual case
        return ((cells[0], max(0, cells[0].time_ns - sum(called.values()))),)
    own_ns = max(0, sum([one.time_ns for one in cells]) - sum(called.values()))
    mine = [max(0, one.time_ns - called.get(one.thread, 0)) for one in cells]
    _level(mine, own_ns)
    return zip(cells, mine)


def _below(stats: Profile) -> dict[tuple[Key, int], dict[int, int]]:
    """Return the time (ns) of what each line called, by thread."""
    below: dict[tuple[Key, int], dict[int, int]] = {}
    nodes = stats.calls.nodes
    for node in nodes:
        if node.parent != NO_NODE:
            threads = below.setdefault((nodes[node.parent].function, node.line), {})
            threads[node.thread] = threads.get(node.thread, 0) + node.inclusive_ns
    return below


def _level(mine: list[int], own_ns: int) -> None:
    """Make the sum of `mine` that of the line, `own_ns`, from the greatest on."""
    for place in sorted(range(len(mine)), key=mine.__getitem__, reverse=True):
        less = min(mine[place], sum(mine) - own_ns)
        mine[place] -= less
