"""Slices for a profile without intervals: the sums of its calls, side by side.

A call's slice is as long as all its calls took together, and those that it
called lie within it, the longest first. A function that calls itself, or goes
on in another one, counts once: a slice is as long as what lies in it.
"""

from __future__ import annotations

from lineprof.call_records import NO_NODE
from lineprof.exports.call_order import children
from lineprof.exports.call_order import widths as widths_of
from lineprof.exports.timeline_arrows import Span
from lineprof.exports.timeline_rows import SUMS
from lineprof.exports.timeline_slices import MOST_DEEP
from lineprof.records import UNKNOWN_THREAD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.call_records import CallNode
    from lineprof.exports.timeline_labels import Label, Labels
    from lineprof.exports.timeline_rows import Rows
    from lineprof.stats import Profile


def sums(stats: Profile, rows: Rows, labels: Labels) -> Iterator[Span]:
    """Yield the slices of all calls; of all functions where none is known."""
    ends: dict[int, int] = {}  # of what is on a row (ns)
    nodes = stats.calls.nodes
    widths = widths_of(nodes)
    below = children(nodes, widths)
    starts = [0] * len(nodes)
    depths = [0] * len(nodes)
    todo = below.get(NO_NODE, [])[::-1]
    while todo:
        index = todo.pop()
        node = nodes[index]
        row = _row(stats, rows, node.thread)
        if node.parent == NO_NODE:
            starts[index] = ends.get(row, 0)
            ends[row] = starts[index] + widths[index]
        label = _label(node, labels)
        if depths[index] == MOST_DEEP:
            label = labels.cut
        yield Span(row, starts[index], widths[index], label)
        at = starts[index]
        inner = below.get(index, []) if depths[index] < MOST_DEEP else []
        for child in inner:
            starts[child], depths[child] = at, depths[index] + 1
            at += widths[child]
        todo += inner[::-1]  # they come out in the order of their start
    yield from _others(stats, rows, labels, ends)


def _row(stats: Profile, rows: Rows, thread: int) -> int:
    process = 0 if thread == UNKNOWN_THREAD else stats.threads[thread].process
    return rows.below_thread(rows.thread(process, thread), SUMS)


def _label(node: CallNode, labels: Labels) -> Label:
    like = labels.of_slice(node.function, 0)
    return labels.make(
        like.name,
        like.category,
        *like.arguments,
        ("called from line", node.line),
        ("calls", node.calls),
        ("primitive calls", node.primitive_calls),
        ("self_ns", node.self_ns),
        ("total_ns", node.total_ns),
        ("inclusive_ns", node.inclusive_ns),
    )


def _others(
    stats: Profile, rows: Rows, labels: Labels, ends: dict[int, int]
) -> Iterator[Span]:
    """Yield the slices of functions of which no call is known, and their lines."""
    called = {node.function for node in stats.calls.nodes}
    for function in stats.functions:
        if not function.cells or function.key in called:
            continue
        row = _row(stats, rows, UNKNOWN_THREAD)
        at = ends.get(row, 0)
        lines = sorted(function.rows, key=lambda one: -one.time_ns)
        width = max(function.total_ns, sum(line.time_ns for line in lines))
        ends[row] = at + width
        label = labels.of_slice(function.key, 0)
        arguments = (("calls", function.calls), ("total_ns", function.total_ns))
        yield Span(
            row,
            at,
            width,
            labels.make(label.name, label.category, *label.arguments, *arguments),
        )
        for line in lines:
            label = labels.of_slice(function.key, line.line)
            arguments = (("hits", line.hits), ("time_ns", line.time_ns))
            label = labels.make(
                label.name, label.category, *label.arguments, *arguments
            )
            yield Span(row, at, line.time_ns, label)
            at += line.time_ns
