"""A call tree laid out: what lies in what, the longest first."""

from __future__ import annotations

from lineprof.call_records import NO_NODE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lineprof.call_records import CallNode


def widths(nodes: Sequence[CallNode]) -> list[int]:
    """Return what each node took with all nodes below it (ns)."""
    found = [node.self_ns for node in nodes]
    for index in range(len(nodes) - 1, -1, -1):
        parent = nodes[index].parent
        if parent != NO_NODE:
            found[parent] += found[index]
    return found


def children(nodes: Sequence[CallNode], by: Sequence[int]) -> dict[int, list[int]]:
    """Return the nodes below each, and below NO_NODE, the greatest `by` first."""
    found: dict[int, list[int]] = {}
    for index in sorted(range(len(nodes)), key=by.__getitem__, reverse=True):
        found.setdefault(nodes[index].parent, []).append(index)
    return found


def in_depth(nodes: Sequence[CallNode]) -> Iterator[int]:
    """Yield all nodes' indexes, each followed by those below it, the longest first."""
    below = children(nodes, widths(nodes))
    todo = below.get(NO_NODE, [])[::-1]
    while todo:
        index = todo.pop()
        yield index
        todo += below.get(index, [])[::-1]


def is_deeper(nodes: Sequence[CallNode], most: int) -> bool:
    """Tell whether a node has more than `most` nodes above it."""
    depths: list[int] = []
    for node in nodes:
        depths.append(0 if node.parent == NO_NODE else depths[node.parent] + 1)
    return max(depths, default=0) > most
