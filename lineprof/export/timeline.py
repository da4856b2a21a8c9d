"""Timelines of a profile: tracks, the slices on them, and flows between slices.

A writer goes through a timeline once, as there may be millions of slices. They come in
the order of their start, track by track.
"""

from __future__ import annotations

from dataclasses import replace
from heapq import heappop, heappush, heapreplace, merge
from itertools import count
from operator import itemgetter
from typing import TYPE_CHECKING

from lineprof.export.stacks import remarks_of_calls
from lineprof.export.timeline_tracks import (
    DRIVER_API,
    GPU_WAIT,
    LINES,
    NO_FLOW,
    NO_TRACK,
    RUNTIME_API,
    SUMS,
    Count,
    Flows,
    Labels,
    Span,
    Track,
    Tracks,
)
from lineprof.model.call_graph import children, depths, subtree_ns
from lineprof.model.clocks import Clock
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
    of_unknown_clock,
)
from lineprof.model.names import names_of_profile
from lineprof.model.records import CALL_NUMBERS, NO_NODE, UNKNOWN_THREAD
from lineprof.model.timelines import GpuEvent, unpack_events

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

    from lineprof.export.timeline_tracks import Label
    from lineprof.model.profile import Profile
    from lineprof.model.records import CallNode
    from lineprof.model.timelines import Batch, Slice, Timeline, Trace

    Item = Track | Span | Count

    # In a heap, so in the order that sorts: the next event's start, the batch's index
    # (so that events are never compared), the event, and the rest.
    OpenBatch = tuple[int, int, GpuEvent, Iterator[GpuEvent]]


# Perfetto drops slices nested deeper than 512, and may end another slice instead.
MAX_DEPTH = 500


def timeline(profile: Profile) -> Iterator[Item]:
    """Yield each track, then its slices; times in ns since the first process began.

    A track comes before its slices, and these come by their start. On a track, at
    most `MAX_DEPTH` slices are nested.
    """
    tracks = Tracks(profile)
    for item in _items(profile, tracks):
        if tracks.new:
            yield from tracks.take_new()
        yield item


def remarks(profile: Profile) -> Iterator[str]:
    """Yield how the timeline differs from the profile, one line each."""
    if not profile.traces:
        yield (
            "the run had no --trace: functions are shown by the sums of their calls,"
            " which are not in time order"
        )
        yield from remarks_of_calls(profile)
        if max(depths(profile.calls.nodes), default=0) > MAX_DEPTH:
            yield f"calls that are more than {MAX_DEPTH} deep are cut, and shown as ..."
    yield from remarks_of_traces(profile)
    left_out = sum(run.left_out for run in profile.gpu.runs)
    if left_out:
        yield f"{left_out} GPU records are not in the timeline: it was full"
    unknown = of_unknown_clock(profile.gpu)
    if unknown:
        yield (
            f"{unknown} GPU records with times of an unknown clock are not in the"
            " timeline"
        )
    if profile.traces and any(one.count for one in profile.gpu.timelines):
        kinds = {one.kind for one in profile.gpu.sums}
        if not kinds & {RUNTIME, DRIVER}:
            yield (
                "arrows start at the last time that a line ran before its kernel did;"
                " with kernprof -l --gpu-api they start at the very call"
            )


def remarks_of_traces(profile: Profile) -> Iterator[str]:
    """Yield a remark if slices of the traces were left out."""
    left_out = sum(trace.left_out for trace in profile.traces)
    if left_out:
        yield (
            f"{left_out} slices are not in the trace: there was no room for them;"
            " a larger --trace-memory keeps more"
        )


def _items(profile: Profile, tracks: Tracks) -> Iterator[Span | Count]:
    labels = Labels(profile, names_of_profile(profile))
    clock = Clock(profile)
    flow_numbers = count(1)
    for index, process in enumerate(profile.processes):
        if process.overhead_ns:
            track = tracks.overhead(index)
            label = labels.make("estimated, in no function's time", "overhead")
            yield Span(track=track, start=0, ns=process.overhead_ns, label=label)
    if not profile.traces:
        yield from summed_calls(profile, tracks, labels)
    all_: list[Trace | Timeline] = [*profile.traces, *profile.gpu.timelines]
    for index in sorted({one.process for one in all_}):
        slices = TraceSlices(index, tracks, labels)
        traces = [one for one in profile.traces if one.process == index]
        timelines = [one for one in profile.gpu.timelines if one.process == index]
        if not timelines:  # then there are no flows, and nothing is kept back
            for trace in traces:
                yield from slices.of(trace, clock.zero_of(trace))
            continue
        gpu = GpuSlices(profile, index, tracks, labels)
        flows = Flows(flow_numbers)
        launching = _launching(profile)
        for start, one in _by_start(traces, timelines, clock):
            if isinstance(one, GpuEvent):
                yield from gpu.of(one, start, flows)
                continue
            span = slices.span(one, start)
            if span is not None:
                source = (one.thread, one.function, one.line)
                yield from flows.add(span, source if source in launching else None)
        yield from flows.rest()


def _launching(profile: Profile) -> set[Hashable]:
    """Return the lines that launched work, and their functions (as line 0)."""
    found: set[Hashable] = set()
    for path in profile.gpu.paths:
        key, line = path.lines[-1]
        found |= {(path.thread, key, line), (path.thread, key, 0)}
    return found


def _by_start(
    traces: Iterable[Trace], timelines: Iterable[Timeline], clock: Clock
) -> Iterator[tuple[int, Slice | GpuEvent]]:
    """Yield each slice and each event with its start (ns), by the start."""
    streams = [
        *(_with_start(one, clock.zero_of(one)) for one in traces),
        *(_with_start(events_by_start(one), clock.zero_of(one)) for one in timelines),
    ]
    return merge(*streams, key=itemgetter(0)) if len(streams) > 1 else streams[0]


def _with_start(
    stream: Iterable[Slice | GpuEvent], zero: int
) -> Iterator[tuple[int, Slice | GpuEvent]]:
    for one in stream:
        yield max(0, zero + one.start_ns), one


def events_by_start(timeline: Timeline) -> Iterator[GpuEvent]:
    """Yield all events of a timeline by their start, in the memory of a few batches.

    Events are recorded nearly in order. So a batch is opened when the events of those
    before it have come to its first one.
    """
    batches = timeline.batches
    closed = sorted(
        (
            (_first_start(batch) - timeline.origin_ns, index)
            for index, batch in enumerate(batches)
            if batch.events
        ),
        reverse=True,
    )
    opened: list[OpenBatch] = []
    while closed or opened:
        while closed and (not opened or closed[-1][0] <= opened[0][0]):
            _, index = closed.pop()
            batch = batches[index]
            rest = iter(replace(timeline, count=batch.events, batches=(batch,)))
            event = next(rest)
            heappush(opened, (event.start_ns, index, event, rest))
        _, index, event, rest = opened[0]
        yield event
        following = next(rest, None)
        if following is None:
            heappop(opened)
        else:
            heapreplace(opened, (following.start_ns, index, following, rest))


def _first_start(batch: Batch) -> int:
    """Return the first start (ns) of a batch's events."""
    data = dict(batch.columns).get("start")
    return 0 if data is None else min(unpack_events("start", data, batch.events))


# Slices of GPU events.


_HOST = {RUNTIME: RUNTIME_API, DRIVER: DRIVER_API, WAIT: GPU_WAIT}

_LAUNCHED = frozenset({KERNEL, GRAPH, MEMCPY, MEMSET})

# Places of a context's tracks: copies by direction, then the others.
_COPIES = {name: place for place, name in enumerate(DIRECTIONS, 1)}

_MEMSET, _COMPUTE, _OTHER = 30, 31, 32


class GpuSlices:
    """Makes slices of the GPU events of one process."""

    def __init__(
        self, profile: Profile, process: int, tracks: Tracks, labels: Labels
    ) -> None:
        self._profile = profile
        self._process = process
        self._tracks = tracks
        self._labels = labels
        self._host_tracks: dict[tuple[str, int, int], int] = {}
        self._device_tracks: dict[tuple[object, ...], tuple[int, int]] = {}
        self._allocated: dict[int, int] = {}  # bytes, by track
        self._threads = {
            one.native_id: index
            for index, one in enumerate(profile.threads)
            if one.process == process
        }

    def of(self, event: GpuEvent, start: int, flows: Flows) -> Iterator[Span | Count]:
        """Yield the slices that are ready once `event` starts, at `start` (ns)."""
        if event.kind in _HOST:
            yield from self._call(event, start, flows)
        elif event.kind in {ALLOC, FREE}:
            yield self._memory(event, start)
        else:
            yield from self._activity(event, start, flows)

    def _call(self, event: GpuEvent, start: int, flows: Flows) -> Iterator[Span]:
        """Yield the slice of an API call or a wait."""
        thread = self.thread_of(event)
        native = event.thread if thread == UNKNOWN_THREAD else 0
        key = (event.kind, thread, native)
        track = self._host_tracks.get(key)
        if track is None:
            parent = self._tracks.thread(self._process, thread, native)
            track = self._tracks.below_thread(parent, _HOST[event.kind])
            self._host_tracks[key] = track
        # Of nested calls the outer one, which comes first, is the source.
        source = None if event.kind == WAIT else ("call", event.correlation)
        if source and flows.knows(source):
            source = None
        span = Span(
            track=self._tracks.lane(track, start, start + event.ns),
            start=start,
            ns=event.ns,
            label=self._labels.of_call(event),
            correlation=event.correlation,
        )
        yield from flows.add(span, source)

    def thread_of(self, event: GpuEvent) -> int:
        """Return the index of an event's thread, or UNKNOWN_THREAD.

        The call path has the system's number; CUPTI's is that of pthread_self().
        """
        if event.path != NO_PATH:
            path = self._profile.gpu.paths[event.path]
            if not path.adopted and path.thread != UNKNOWN_THREAD:
                return path.thread
        return self._threads.get(event.thread, UNKNOWN_THREAD)

    def _memory(self, event: GpuEvent, start: int) -> Count:
        """Return the bytes allocated on a device, as far as they were recorded."""
        device = self._tracks.device(self._process, max(0, event.device))
        track = self._tracks.memory(device)
        size = event.bytes if event.kind == ALLOC else -event.bytes
        self._allocated[track] = max(0, self._allocated.get(track, 0) + size)
        return Count(track=track, at=start, value=self._allocated[track])

    def _activity(self, event: GpuEvent, start: int, flows: Flows) -> Iterator[Span]:
        """Yield a slice of a device twice: by kind of work, and on its stream."""
        end = start + event.ns
        by_kind, by_stream = self._tracks_of(event)
        span = Span(
            track=self._tracks.lane(by_kind, start, end),
            start=start,
            ns=event.ns,
            label=self._labels.of_activity(event),
            correlation=event.correlation,
        )
        yield from flows.add(span)
        if by_stream == NO_TRACK:
            return
        ends = NO_FLOW
        if event.kind in _LAUNCHED:
            ends = flows.end(("call", event.correlation), *self._launches(event))
        stream = self._tracks.lane(by_stream, start, end)
        yield from flows.add(span._replace(track=stream, ends=ends))

    def _tracks_of(self, event: GpuEvent) -> tuple[int, int]:
        """Return the tracks of the kind of work and of the stream."""
        name = event.name if event.kind in {MEMCPY, MIGRATION} else ""
        key = (event.kind, name, event.device, event.context, event.stream)
        found = self._device_tracks.get(key)
        if found is None:
            device = self._tracks.device(self._process, max(0, event.device))
            if event.kind == MIGRATION:
                name = f"Unified memory ({event.name})"
                found = self._tracks.unified(device, name), NO_TRACK
            else:
                context = self._tracks.context(device, event.context)
                stream = self._tracks.stream(context, event.stream)
                found = self._kind_track(event, context), stream
            self._device_tracks[key] = found
        return found

    def _launches(self, event: GpuEvent) -> Iterator[Hashable]:
        """Yield the possible sources of a launch: the line, or else the function."""
        if event.path == NO_PATH:
            return
        path = self._profile.gpu.paths[event.path]
        key, line = path.lines[-1]
        yield (path.thread, key, line)
        yield (path.thread, key, 0)

    def _kind_track(self, event: GpuEvent, context: int) -> int:
        if event.kind == MEMCPY:
            place = _COPIES.get(event.name, len(_COPIES))
            return self._tracks.work(context, f"MemCpy ({event.name})", place)
        if event.kind == MEMSET:
            return self._tracks.work(context, "Memset", _MEMSET)
        if event.kind in {KERNEL, GRAPH}:
            return self._tracks.work(context, "Compute", _COMPUTE)
        return self._tracks.work(context, f"Other ({event.kind})", _OTHER)


# Slices of traces.


class TraceSlices:
    """Makes slices of the traces of one process."""

    def __init__(self, process: int, tracks: Tracks, labels: Labels) -> None:
        self._process = process
        self._tracks = tracks
        self._labels = labels
        # By thread, and whether it is a line's: the track, the ends of open slices.
        self._open: dict[tuple[int, bool], tuple[int, list[int]]] = {}

    def of(self, trace: Trace, zero: int) -> Iterator[Span]:
        """Yield the slices of a trace whose time 0 is at `zero` (ns)."""
        for one in trace:
            span = self.span(one, zero + one.start_ns)
            if span is not None:
                yield span

    def span(self, one: Slice, start: int) -> Span | None:
        """Return a slice that began at `start`; None if it is nested too deep.

        Of slices that are nested too deep the outermost is shown, as cut.
        """
        key = (one.thread, one.line != 0)
        found = self._open.get(key)
        if found is None:
            found = self._open[key] = (self._track(*key), [])
        track, ends = found
        while ends and ends[-1] <= start:
            ends.pop()
        end = start + one.ns
        if ends and end > ends[-1]:
            end = ends[-1]  # rounding makes no slice outlast the one around it
        depth = len(ends)
        if depth > MAX_DEPTH:
            return None
        ends.append(end)
        if depth == MAX_DEPTH:
            label = self._labels.cut
        else:
            label = self._labels.of_slice(one.function, one.line)
        return Span(track=track, start=start, ns=end - start, label=label)

    def _track(self, thread: int, is_line: bool) -> int:  # noqa: FBT001  # of a key
        track = self._tracks.thread(self._process, thread)
        return self._tracks.below_thread(track, LINES) if is_line else track


# Slices of a profile without traces: the sums of its calls, side by side.
#
# A node's slice is as long as all its calls took together. Its callees lie within it,
# the longest first. Recursion, direct or not, counts once: a slice is as long as the
# slices in it and its self time.


def summed_calls(profile: Profile, tracks: Tracks, labels: Labels) -> Iterator[Span]:
    """Yield the slices of all calls, then those of functions without known calls."""
    ends: dict[int, int] = {}  # of the slices on a track (ns)
    nodes = profile.calls.nodes
    widths = subtree_ns(nodes)
    below = children(nodes, widths)
    starts = [0] * len(nodes)
    levels = depths(nodes)
    todo = below.get(NO_NODE, [])[::-1]
    while todo:
        index = todo.pop()
        node = nodes[index]
        track = _sums_track(profile, tracks, node.thread)
        if node.parent == NO_NODE:
            starts[index] = ends.get(track, 0)
            ends[track] = starts[index] + widths[index]
        label = _node_label(node, labels)
        if levels[index] == MAX_DEPTH:
            label = labels.cut
        yield Span(track=track, start=starts[index], ns=widths[index], label=label)
        at = starts[index]
        inner = below.get(index, []) if levels[index] < MAX_DEPTH else []
        for child in inner:
            starts[child] = at
            at += widths[child]
        todo += inner[::-1]  # they are popped in the order of their start
    yield from _without_calls(profile, tracks, labels, ends)


def _sums_track(profile: Profile, tracks: Tracks, thread: int) -> int:
    process = 0 if thread == UNKNOWN_THREAD else profile.threads[thread].process
    return tracks.below_thread(tracks.thread(process, thread), SUMS)


def _node_label(node: CallNode, labels: Labels) -> Label:
    return labels.with_arguments(
        labels.of_slice(node.function, 0),
        ("called from line", node.line),
        *(
            (name.replace("_calls", " calls"), getattr(node, name))
            for name in CALL_NUMBERS
        ),
    )


def _without_calls(
    profile: Profile, tracks: Tracks, labels: Labels, ends: dict[int, int]
) -> Iterator[Span]:
    """Yield the slices of functions without known calls, and of their lines."""
    called = {node.function for node in profile.calls.nodes}
    called.update([one.function for one in profile.calls.merged])
    for function in profile.functions:
        if not function.thread_lines or function.key in called:
            continue
        track = _sums_track(profile, tracks, UNKNOWN_THREAD)
        at = ends.get(track, 0)
        rows = sorted(function.rows, key=lambda row: -row.time_ns)
        width = max(function.total_ns, sum(row.time_ns for row in rows))
        ends[track] = at + width
        label = labels.with_arguments(
            labels.of_slice(function.key, 0),
            ("calls", function.calls),
            ("total_ns", function.total_ns),
        )
        yield Span(track=track, start=at, ns=width, label=label)
        for row in rows:
            label = labels.with_arguments(
                labels.of_slice(function.key, row.line),
                ("hits", row.hits),
                ("time_ns", row.time_ns),
            )
            yield Span(track=track, start=at, ns=row.time_ns, label=label)
            at += row.time_ns
