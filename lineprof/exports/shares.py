"""A line's own time, shared out among the ways by which its function was called.

The profile knows what each line cost, and what each call did; not how much of
a line each call was. So a line is shared out in proportion to the calls' own
times. Nothing is lost or made: the shares of a line add up to the line, those
of a call to the call, to the nanosecond.
"""

from __future__ import annotations

from lineprof.call_edges import own_line_ns
from lineprof.call_records import NO_NODE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.call_records import CallNode
    from lineprof.records import Key
    from lineprof.stats import LineStats

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

    def settle(self) -> None:
        """Find whether lines and calls have the same time, but for rounding."""
        lines = sum(self.ns)
        slack = _SLACK_NS + max(lines, self.nodes) // _SLACK_PART
        self.is_whole = bool(self.calls) and abs(lines - self.nodes) <= slack
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

    def __init__(self, stats: LineStats) -> None:
        self._places: dict[Place, _Function] = {}
        for place, lines in _own(stats).items():
            function = self._places.setdefault(place, _Function())
            for line, (ns, hits) in sorted(lines.items()):
                function.lines.append(line)
                function.ns.append(ns)
                function.hits.append(hits)
        for node in stats.calls.nodes:
            place = (node.function, node.thread)
            function = self._places.setdefault(place, _Function())
            function.nodes += node.self_ns
            function.calls += _weight(node)
        for function in self._places.values():
            function.settle()

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


def _own(stats: LineStats) -> Own:
    """Return the own time and the hits of each line, by function and thread."""
    below: dict[tuple[Place, int], int] = {}
    nodes = stats.calls.nodes
    for node in nodes:
        if node.parent != NO_NODE:
            line = ((nodes[node.parent].function, node.thread), node.line)
            below[line] = below.get(line, 0) + node.inclusive_ns
    own: Own = {}
    of_line: dict[tuple[Key, int], list[list[int]]] = {}
    for function in stats.functions:
        key = function.key
        for cell in function.cells:
            place = (key, cell.thread)
            ns = max(0, cell.time_ns - below.get((place, cell.line), 0))
            numbers = own.setdefault(place, {}).setdefault(cell.line, [0, 0])
            numbers[0] += ns
            numbers[1] += cell.hits
            of_line.setdefault((key, cell.line), []).append(numbers)
    _level(of_line, own_line_ns(stats))
    return own


def _level(
    of_line: dict[tuple[Key, int], list[list[int]]], own: dict[Key, dict[int, int]]
) -> None:
    """Take from a line's threads what they have, together, more than the line."""
    for (key, line), numbers in of_line.items():
        more = sum(ns for ns, _ in numbers) - own[key][line]
        for one in sorted(numbers, reverse=True) if more > 0 else ():
            less = min(more, one[0])
            one[0] -= less
            more -= less
