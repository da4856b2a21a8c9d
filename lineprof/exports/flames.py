"""A profile as a tree of functions by the way they were called, lines merged."""

from __future__ import annotations

from lineprof.call_records import NO_NODE
from lineprof.exports.stacks import gpu_stacks, ways

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.records import Key
    from lineprof.stats import Profile

_ALL = ("", 0, "all")


class Flame:
    """One function by one way, from whatever lines and on all threads."""

    __slots__ = ("below", "calls", "key", "ns", "own_ns")

    def __init__(self, key: Key) -> None:
        self.key = key
        self.below: dict[Key, Flame] = {}  # what it called, by function
        self.calls = 0
        self.own_ns = 0  # in its own lines
        self.ns = 0  # with all below

    def child(self, key: Key) -> Flame:
        """Return the function `key` as this one called it."""
        flame = self.below.get(key)
        if flame is None:
            flame = self.below[key] = Flame(key)
        return flame


def flames(stats: Profile) -> Flame:
    """Return the time of all functions, below one root: the sum of `ways`."""
    root = Flame(_ALL)
    nodes = stats.calls.nodes
    found: dict[int, Flame] = {NO_NODE: root}
    for way in ways(stats):
        parent = NO_NODE if way.node == NO_NODE else nodes[way.node].parent
        flame = found[parent].child(way.function)
        if way.node != NO_NODE:
            found[way.node] = flame
        flame.calls += way.calls
        flame.own_ns += sum([ns for _, ns, _ in way.lines])
    return _summed(root)


def gpu_flames(stats: Profile) -> Flame:
    """Return the GPU time of all functions, kernels below what launched them."""
    root = Flame(_ALL)
    for stack in gpu_stacks(stats):
        flame = root
        for key, _ in stack.frames:
            flame = flame.child(key)
        flame.child(("", 0, stack.work)).own_ns += stack.gpu_ns + stack.copy_ns
    return _summed(root)


def walk(root: Flame) -> Iterator[tuple[int, Flame]]:
    """Yield each flame below `root` and its level, from 0; the longest first.

    Those below one follow it.
    """
    todo = [(0, flame) for flame in _longest_last(root)]
    while todo:
        level, flame = todo.pop()
        yield level, flame
        todo += [(level + 1, one) for one in _longest_last(flame)]


def _longest_last(flame: Flame) -> list[Flame]:
    return sorted(flame.below.values(), key=lambda one: (one.ns, one.key))


def _summed(root: Flame) -> Flame:
    """Give each flame its time with all below; return `root`."""
    order = [root]
    for flame in order:  # it grows: parents come before what is below them
        flame.ns = flame.own_ns
        order += flame.below.values()
    for flame in reversed(order):
        flame.ns += sum([below.ns for below in flame.below.values()])
    return root
