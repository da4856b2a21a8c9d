"""The samples of a V8 profile: which node was on top, and for how long.

Each comes three times, for readers differ: V8's own charges the time before a
sample to the one before it, VS Code's the time before that. With the times
(0, t, 0) both find t.
"""

from __future__ import annotations

from lineprof.call_records import NO_NODE
from lineprof.exports.call_order import in_depth
from lineprof.exports.shares import Shares
from lineprof.exports.timeline_clock import Clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from lineprof.exports.cpuprofile_nodes import Nodes
    from lineprof.exports.pieces import Pieces
    from lineprof.exports.shares import Share
    from lineprof.records import Key
    from lineprof.stats import Profile

# Of a program whose ways to its functions are without number: what comes after
# that many is charged to who called it.
_MOST_NODES = 200_000


class _Thread:
    """The samples of one thread."""

    def __init__(self, thread: int, nodes: Nodes, pieces: Pieces) -> None:
        self.spent_us = 0
        self._thread = thread
        self._nodes = nodes
        self._pieces = pieces
        self._ns = 0

    def spend(self, node: int, lines: Iterable[Share]) -> None:
        """Charge a node's lines, as one sample; what is rounded is kept."""
        ns, before = self._ns, self.spent_us
        us = before
        ticks = self._nodes.ticks(node)
        for line, more, _ in lines:
            ns += more
            until = (ns + 500) // 1000
            if until != us:
                ticks[line] = ticks.get(line, 0) + until - us
                us = until
        self._ns, self.spent_us = ns, us
        if us != before:
            self._nodes.hit(node, us - before)
            self._pieces.add((self._thread, "samples"), f",{node},{node},{node}")
            self._pieces.add((self._thread, "timeDeltas"), f",0,{us - before},0")


class _Samples:
    """The samples of all threads, and the nodes they are of."""

    def __init__(self, nodes: Nodes, pieces: Pieces) -> None:
        self.nodes = nodes
        self._pieces = pieces
        self._threads: dict[int, _Thread] = {}

    def of(self, thread: int) -> _Thread:
        """Return those of a thread."""
        found = self._threads.get(thread)
        if found is None:
            found = _Thread(thread, self.nodes, self._pieces)
            self._threads[thread] = found
        return found

    def end(self) -> tuple[list[int], int]:
        """Return the threads in order, and when the last one ends (us)."""
        spent = sum(one.spent_us for one in self._threads.values())
        return sorted(self._threads), spent


def of_calls(stats: Profile, nodes: Nodes, pieces: Pieces) -> tuple[list[int], int]:
    """Make nodes and samples of the sums; return the threads, and the end (us)."""
    samples, shares = _Samples(nodes, pieces), Shares(stats)
    numbers: dict[int, int] = {}
    calls = stats.calls.nodes
    for index in in_depth(calls):
        one = calls[index]
        top = one.parent == NO_NODE
        parent = nodes.thread(one.thread) if top else numbers[one.parent]
        parent = nodes.above(parent)
        node = numbers[index] = nodes.add(parent, one.function)
        samples.of(one.thread).spend(node, shares.take(one))
    for (key, thread), lines in shares.rest():
        samples.of(thread).spend(nodes.add(nodes.thread(thread), key), lines)
    return samples.end()


def of_traces(stats: Profile, nodes: Nodes, pieces: Pieces) -> tuple[list[int], int]:
    """Make nodes and samples of the traces; return the threads, and the end (us)."""
    samples = _Samples(nodes, pieces)
    tracks: dict[int, _Track] = {}
    clock = Clock(stats)
    for trace in stats.traces:
        zero = clock.zero_of(trace)
        for one in trace:
            start = zero + one.start_ns
            track = tracks.get(one.thread)
            if track is None:
                thread = samples.of(one.thread)
                track = tracks[one.thread] = _Track(one.thread, nodes, thread, start)
            track.open(one.function, one.line, start, start + one.ns)
    for track in tracks.values():
        track.close()
    return samples.end()


class _Track:
    """What is open on one thread."""

    def __init__(self, thread: int, nodes: Nodes, samples: _Thread, start: int) -> None:
        self._thread = thread
        self._nodes = nodes
        self._samples = samples
        self._now = start
        self._open: list[tuple[int, int, int, Key]] = []  # end, node, line, function
        self._ways: dict[tuple[int, Key], int] = {}  # nodes, by the one above

    def open(self, key: Key, line: int, start: int, end: int) -> None:
        """Open a function, or a line of one."""
        self._until(start)
        now = self._open
        if now and end > now[-1][0]:
            end = now[-1][0]
        now.append((end, self._node(key, line), line, key))

    def close(self) -> None:
        """Close all."""
        self._until(self._open[0][0] if self._open else self._now)

    def _node(self, key: Key, line: int) -> int:
        above = self._open[-1] if self._open else None
        if above and line and above[3] == key:
            return above[1]
        parent = above[1] if above else self._nodes.thread(self._thread)
        parent = self._nodes.above(parent)
        node = self._ways.get((parent, key))
        if node is None:
            if len(self._nodes) >= _MOST_NODES and above:
                return parent
            node = self._ways[parent, key] = self._nodes.add(parent, key)
        return node

    def _until(self, at: int) -> None:
        """Go on to `at`: what was on top until then has had its time."""
        now = self._open
        while now and now[-1][0] <= at:
            self._spend(now[-1][0])
            now.pop()
        self._spend(at)

    def _spend(self, until: int) -> None:
        ns = until - self._now
        if ns <= 0:
            return
        self._now = until
        if self._open:
            _, node, line, _ = self._open[-1]
        else:
            node, line = self._nodes.program(self._thread), 0
        self._samples.spend(node, [(line, ns, 0)])
