"""A profile as a timeline: rows, the slices on them, arrows between these.

What writes one goes through it once, and keeps nothing: there may be millions
of slices. They come in the order of their start, row by row.
"""

from __future__ import annotations

from dataclasses import replace
from heapq import heappop, heappush, heapreplace, merge
from itertools import count
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from lineprof.export.stacks import remarks_of_calls
from lineprof.export.timeline_tracks import (
    DRIVER_API,
    GPU_WAIT,
    LINES,
    NO_FLOW,
    NO_TRACK,
    RUNTIME_API,
    SUMS,
    Clock,
    Flows,
    Labels,
    Span,
    Track,
    Tracks,
)
from lineprof.model.call_graph import children, is_deeper
from lineprof.model.call_graph import widths as widths_of
from lineprof.model.gpu import (
    ALLOC,
    DIRECTIONS,
    DRIVER,
    FREE,
    GRAPH,
    KERNEL,
    MEMCPY,
    MEMSET,
    MIGRATION,
    NO_PATH,
    RUNTIME,
    WAIT,
)
from lineprof.model.names import names_of_profile
from lineprof.model.records import NO_NODE, UNKNOWN_THREAD
from lineprof.model.timelines import unpack_events

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator
    from typing import Any, Union

    from lineprof.export.timeline_tracks import Label
    from lineprof.model.profile import Profile
    from lineprof.model.records import CallNode
    from lineprof.model.timelines import Batch, GpuEvent, Slice, Timeline, Trace

    Item = Union[Track, Span, "Count"]

    Open = tuple[int, int, GpuEvent, Iterator[GpuEvent]]  # start, place, next, rest


def timeline(stats: Profile) -> Iterator[Item]:
    """Yield each row, then what is on it; times in ns since the first process began.

    A row comes before what is on it, and what is on a row in the order of its
    start. Slices that lie within one another on a row are `MOST_DEEP` at most.
    """
    rows = Tracks(stats)
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


def _items(stats: Profile, rows: Tracks) -> Iterator[Span | Count]:
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
        arrows = Flows(arrow_numbers)
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


# A GPU's events in order, in the memory of a few batches.
#
# They are recorded as they come, which is nearly in order: so a batch is opened
# once the events of those before it have come to its first one.


def in_order(timeline: Timeline) -> Iterator[GpuEvent]:
    """Yield all events of a timeline by their start."""
    batches = timeline.batches
    closed = sorted(
        (
            (_first(batch) - timeline.origin_ns, place)
            for place, batch in enumerate(batches)
            if batch.events
        ),
        reverse=True,
    )
    opened: list[Open] = []
    while closed or opened:
        while closed and (not opened or closed[-1][0] <= opened[0][0]):
            _, place = closed.pop()
            some = batches[place]
            part = replace(timeline, count=some.events, batches=(some,))
            rest = iter(part)
            event = next(rest)
            heappush(opened, (event.start_ns, place, event, rest))
        _, place, event, rest = opened[0]
        yield event
        following = next(rest, None)
        if following is None:
            heappop(opened)
        else:
            heapreplace(opened, (following.start_ns, place, following, rest))


def _first(batch: Batch) -> int:
    """Return the least start (ns) of a batch's events."""
    data = dict(batch.columns).get("start")
    return 0 if data is None else min(unpack_events("start", data, batch.events))


# What a GPU did, and what a program asked of it, as slices of a timeline.


_HOST = {RUNTIME: RUNTIME_API, DRIVER: DRIVER_API, WAIT: GPU_WAIT}

_LAUNCHED = frozenset({KERNEL, GRAPH, MEMCPY, MEMSET})

# Places of a context's rows: copies by direction, then these.
_COPIES = {name: place for place, name in enumerate(DIRECTIONS, 1)}

_MEMSET, _COMPUTE, _OTHER = 30, 31, 32


class Count(NamedTuple):
    """A counter's new value."""

    row: int
    at: int  # ns, on the axis of `Clock`
    value: int


class GpuSlices:
    """From one process' events to slices."""

    def __init__(
        self, stats: Profile, process: int, rows: Tracks, labels: Labels
    ) -> None:
        self._stats = stats
        self._process = process
        self._rows = rows
        self._labels = labels
        self._known: dict[tuple[object, ...], tuple[int, int]] = {}  # rows
        self._allocated: dict[int, int] = {}  # bytes, by row
        self._threads = {
            one.native_id: index
            for index, one in enumerate(stats.threads)
            if one.process == process
        }

    def of(self, event: GpuEvent, start: int, arrows: Flows) -> Iterator[Span | Count]:
        """Yield what goes on once `event` is there, which is at `start` (ns)."""
        if event.kind in _HOST:
            yield from self._call(event, start, arrows)
        elif event.kind in {ALLOC, FREE}:
            yield self._memory(event, start)
        else:
            yield from self._activity(event, start, arrows)

    def _call(self, event: GpuEvent, start: int, arrows: Flows) -> Iterator[Span]:
        """Yield a slice of the host."""
        thread = self.thread_of(event)
        native = event.thread if thread == UNKNOWN_THREAD else 0
        key = (event.kind, thread, native)
        found = self._known.get(key)
        if found is None:
            row = self._rows.thread(self._process, thread, native)
            row = self._rows.below_thread(row, _HOST[event.kind])
            found = self._known[key] = (row, NO_TRACK)
        row, _ = found
        lane = self._rows.lane(row, start, start + event.ns)
        label = self._labels.of_call(event)
        # Of a call in a call the outer one, which comes first, is the source.
        source = None if event.kind == WAIT else ("call", event.correlation)
        if source and arrows.knows(source):
            source = None
        span = Span(lane, start, event.ns, label, event.correlation)
        yield from arrows.add(span, source)

    def thread_of(self, event: GpuEvent) -> int:
        """Return the index of the thread that an event is of, or UNKNOWN_THREAD.

        CUPTI numbers threads as pthread_self() does: the path knows more.
        """
        if event.path != NO_PATH:
            path = self._stats.gpu.paths[event.path]
            if not path.adopted and path.thread != UNKNOWN_THREAD:
                return path.thread
        return self._threads.get(event.thread, UNKNOWN_THREAD)

    def _memory(self, event: GpuEvent, start: int) -> Count:
        """Return how much of a device is allocated now, as far as it was seen."""
        device = self._rows.device(self._process, max(0, event.device))
        row = self._rows.memory(device)
        size = event.bytes if event.kind == ALLOC else -event.bytes
        self._allocated[row] = max(0, self._allocated.get(row, 0) + size)
        return Count(row, start, self._allocated[row])

    def _activity(self, event: GpuEvent, start: int, arrows: Flows) -> Iterator[Span]:
        """Yield a slice of a device twice: by kind of work, and on its stream."""
        label = self._labels.of_activity(event)
        end = start + event.ns
        by_kind, by_stream = self._rows_of(event)
        row = self._rows.lane(by_kind, start, end)
        span = Span(row, start, event.ns, label, event.correlation)
        yield from arrows.add(span)
        if by_stream == NO_TRACK:
            return
        stream = self._rows.lane(by_stream, start, end)
        ends = NO_FLOW
        if event.kind in _LAUNCHED:
            ends = arrows.end(("call", event.correlation), *self._line(event))
        yield from arrows.add(
            Span(stream, start, event.ns, label, event.correlation, ends)
        )

    def _rows_of(self, event: GpuEvent) -> tuple[int, int]:
        """Return the row of its kind of work, and its stream's."""
        name = event.name if event.kind in {MEMCPY, MIGRATION} else ""
        key = (event.kind, name, event.device, event.context, event.stream)
        found = self._known.get(key)
        if found is None:
            device = self._rows.device(self._process, max(0, event.device))
            if event.kind == MIGRATION:
                name = f"Unified memory ({event.name})"
                found = self._rows.unified(device, name), NO_TRACK
            else:
                context = self._rows.context(device, event.context)
                stream = self._rows.stream(context, event.stream)
                found = self._kind_row(event, context), stream
            self._known[key] = found
        return found

    def _line(self, event: GpuEvent) -> Iterator[Hashable]:
        """Yield what may have launched it: its line, or the function of that."""
        if event.path == NO_PATH:
            return
        path = self._stats.gpu.paths[event.path]
        key, line = path.lines[-1]
        yield (path.thread, key, line)
        yield (path.thread, key, 0)

    def _kind_row(self, event: GpuEvent, context: int) -> int:
        if event.kind == MEMCPY:
            place = _COPIES.get(event.name, len(_COPIES))
            return self._rows.work(context, f"MemCpy ({event.name})", place)
        if event.kind == MEMSET:
            return self._rows.work(context, "Memset", _MEMSET)
        if event.kind in {KERNEL, GRAPH}:
            return self._rows.work(context, "Compute", _COMPUTE)
        return self._rows.work(context, f"Other ({event.kind})", _OTHER)


# The stays in functions and on lines, as slices of a timeline.


# Perfetto drops what lies deeper than 512, and may end another slice in its place.
MOST_DEEP = 500


class TraceSlices:
    """From one process' traces to slices."""

    def __init__(self, process: int, rows: Tracks, labels: Labels) -> None:
        self._process = process
        self._rows = rows
        self._labels = labels
        # By thread, and whether it is a line's: the row, the ends of what is open.
        self._tracks: dict[tuple[int, bool], tuple[int, list[int]]] = {}

    def of(self, trace: Trace, zero: int) -> Iterator[Span]:
        """Yield the slices of a trace whose time 0 is at `zero` (ns)."""
        for one in trace:
            span = self.span(one, zero + one.start_ns)
            if span is not None:
                yield span

    def span(self, one: Slice, start: int) -> Span | None:
        """Return the slice of a stay that began at `start`; None if it lies too deep.

        Of what lies too deep the outermost is a slice that says so.
        """
        line = one.line
        track = (one.thread, line != 0)
        found = self._tracks.get(track)
        if found is None:
            found = self._tracks[track] = (self._row(*track), [])
        row, ends = found
        while ends and ends[-1] <= start:
            ends.pop()
        end = start + one.ns
        if ends and end > ends[-1]:
            end = ends[-1]  # rounding makes no slice outlast what it lies in
        depth = len(ends)
        if depth > MOST_DEEP:
            return None
        ends.append(end)
        if depth == MOST_DEEP:
            return Span(row, start, end - start, self._labels.cut)
        label = self._labels.of_slice(one.function, line)
        return Span(row, start, end - start, label)

    def _row(self, thread: int, is_line: bool) -> int:  # noqa: FBT001  # of a key
        row = self._rows.thread(self._process, thread)
        return self._rows.below_thread(row, LINES) if is_line else row


# Slices for a profile without intervals: the sums of its calls, side by side.
#
# A call's slice is as long as all its calls took together, and those that it
# called lie within it, the longest first. A function that calls itself, or goes
# on in another one, counts once: a slice is as long as what lies in it.


def sums(stats: Profile, rows: Tracks, labels: Labels) -> Iterator[Span]:
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


def _row(stats: Profile, rows: Tracks, thread: int) -> int:
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
    stats: Profile, rows: Tracks, labels: Labels, ends: dict[int, int]
) -> Iterator[Span]:
    """Yield the slices of functions of which no call is known, and their lines."""
    called = {node.function for node in stats.calls.nodes}
    for function in stats.functions:
        if not function.thread_lines or function.key in called:
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
