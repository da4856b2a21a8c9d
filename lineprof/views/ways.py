"""The call tree with all threads together, and what each way down took."""

from __future__ import annotations

from lineprof.call_records import NO_NODE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Optional

    from lineprof.records import Key
    from lineprof.stats import Profile

    Step = tuple[int, Optional[Key]]


class Way:
    """One function by one way down to it; without a function, all of them."""

    __slots__ = ("calls", "function", "inclusive_ns", "line", "parent", "self_ns", "to")

    def __init__(self, parent: Way | None, line: int, function: Key | None) -> None:
        self.parent = parent
        self.line = line  # of the parent, from where it was called
        self.function = function
        self.calls = self.self_ns = 0
        self.inclusive_ns = 0  # the sum of `self_ns` here and below
        self.to: dict[Step, Way] = {}

    def next(self, line: int, function: Key) -> Way:
        """Return the way on from here; it is made where there was none."""
        step = (line, function)
        found = self.to.get(step)
        if found is None:
            found = self.to[step] = Way(self, line, function)
        return found


def ways_of(stats: Profile) -> Way:
    """Return all ways as one whose `to` are the roots, the longest first.

    Without a tree, each function is a root, with all that it called.
    """
    whole = Way(None, 0, None)
    found: list[Way] = []
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


def _add_up(ways: Sequence[Way]) -> None:
    """Work out what is inclusive; `ways` have parents before what they call."""
    for way in reversed(ways):
        way.inclusive_ns += way.self_ns
        if way.parent:
            way.parent.inclusive_ns += way.inclusive_ns
        way.to = dict(sorted(way.to.items(), key=lambda item: -item[1].inclusive_ns))
