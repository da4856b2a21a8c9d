"""A profile as a timeline: rows, the slices on them, arrows between these.

What writes one goes through it once, and keeps nothing: there may be millions
of slices. They come in the order of their start, row by row.
"""

from __future__ import annotations

from heapq import merge
from itertools import count
from operator import itemgetter

from lineprof.exports.call_order import is_deeper
from lineprof.exports.stacks import remarks_of_calls
from lineprof.exports.timeline_arrows import Arrows, Span
from lineprof.exports.timeline_batches import in_order
from lineprof.exports.timeline_clock import Clock
from lineprof.exports.timeline_gpu import Count, GpuSlices
from lineprof.exports.timeline_labels import Labels
from lineprof.exports.timeline_rows import Row, Rows
from lineprof.exports.timeline_slices import MOST_DEEP, TraceSlices
from lineprof.exports.timeline_sums import sums
from lineprof.gpu_records import DRIVER, RUNTIME
from lineprof.short_names import names_of_profile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator
    from typing import Any, Union

    from lineprof.gpu_records import GpuEvent
    from lineprof.gpu_timeline import Timeline
    from lineprof.stats import Profile
    from lineprof.trace_records import Slice, Trace

    Item = Union[Row, Span, Count]

__all__ = ["MOST_DEEP", "Count", "Row", "Span", "remarks", "timeline"]


def timeline(stats: Profile) -> Iterator[Item]:
    """Yield each row, then what is on it; times in ns since the first process began.

    A row comes before what is on it, and what is on a row in the order of its
    start. Slices that lie within one another on a row are `MOST_DEEP` at most.
    """
    rows = Rows(stats)
    for item in _items(stats, rows):
        if rows.new:
            yield from rows.take_new()
        yield item


def remarks(stats: Profile) -> Iterator[str]:
    """Yield what a reader of the timeline should know, a line each."""
    if not stats.traces:
        yield (
            "the run had no --trace: functions are shown by the sums of their calls,"
            " which are not in time order"
        )
        yield from remarks_of_calls(stats)
        if is_deeper(stats.calls.nodes, MOST_DEEP):
            yield f"calls that are more than {MOST_DEEP} deep are cut, and shown as ..."
    left_out = sum(one.left_out for one in stats.traces)
    if left_out:
        yield f"{left_out} slices are not in the trace: there was no room for them"
    left_out = sum(run.left_out for run in stats.gpu.runs)
    if left_out:
        yield f"{left_out} GPU records are not in the timeline: it was full"
    if stats.traces and any(one.count for one in stats.gpu.timelines):
        kinds = {one.kind for one in stats.gpu.sums}
        if not kinds & {RUNTIME, DRIVER}:
            yield (
                "arrows start at the last time that a line ran before its kernel did;"
                " with kernprof -l --gpu-api they start at the very call"
            )


def _items(stats: Profile, rows: Rows) -> Iterator[Span | Count]:
    labels = Labels(stats, names_of_profile(stats))
    clock = Clock(stats)
    arrow_numbers = count(1)
    for process, one in enumerate(stats.processes):
        if one.overhead_ns:
            row = rows.overhead(process)
            label = labels.make("estimated, in no function's time", "overhead")
            yield Span(row, 0, one.overhead_ns, label)
    if not stats.traces:
        yield from sums(stats, rows, labels)
    of_all: list[Trace | Timeline] = [*stats.traces, *stats.gpu.timelines]
    for process in sorted({one.process for one in of_all}):
        slices = TraceSlices(process, rows, labels)
        traces = [one for one in stats.traces if one.process == process]
        timelines = [one for one in stats.gpu.timelines if one.process == process]
        if not timelines:  # no arrows either, and so nothing to keep back
            for trace in traces:
                yield from slices.of(trace, clock.zero_of(trace))
            continue
        gpu = GpuSlices(stats, process, rows, labels)
        arrows = Arrows(arrow_numbers)
        wanted = _launching(stats)
        for start, is_slice, one in _in_order(traces, timelines, clock):
            if not is_slice:
                yield from gpu.of(one, start, arrows)
                continue
            span = slices.span(one, start)
            if span is not None:
                source = (one.thread, one.function, one.line)
                yield from arrows.add(span, source if source in wanted else None)
        yield from arrows.rest()


def _launching(stats: Profile) -> set[Hashable]:
    """Return the lines, and their functions, that launched anything."""
    found: set[Hashable] = set()
    for path in stats.gpu.paths:
        key, line = path.lines[-1]
        found |= {(path.thread, key, line), (path.thread, key, 0)}
    return found


def _in_order(
    traces: Iterable[Trace], timelines: Iterable[Timeline], clock: Clock
) -> Iterator[tuple[int, bool, Any]]:
    """Yield slices and events by their start: that, and whether it is a slice."""
    streams = [
        *(_placed(one, clock.zero_of(one), is_slice=True) for one in traces),
        *(
            _placed(in_order(one), clock.zero_of(one), is_slice=False)
            for one in timelines
        ),
    ]
    return merge(*streams, key=itemgetter(0)) if len(streams) > 1 else streams[0]


def _placed(
    stream: Iterable[Slice | GpuEvent], zero: int, *, is_slice: bool
) -> Iterator[tuple[int, bool, Any]]:
    for one in stream:
        yield max(0, zero + one.start_ns), is_slice, one
