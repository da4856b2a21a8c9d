"""Timelines of a profile: tracks, the slices on them, and flows between slices.

A writer goes through a timeline once, as there may be millions of slices. They come in
the order of their start, track by track.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from heapq import heappop, heappush, heapreplace, merge
from itertools import count
from operator import itemgetter
from typing import TYPE_CHECKING

from lineprof.export.made_once import MadeOnce
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
from lineprof.model.call_graph import depth_first, depths, subtree_ns
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
from lineprof.model.timelines import GpuEvent, event_column

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

    from lineprof.export.timeline_tracks import Label
    from lineprof.model.gpu import Gpu, GpuPath
    from lineprof.model.profile import Profile
    from lineprof.model.records import CallNode
    from lineprof.model.timelines import Slice, Timeline, Trace

    Item = Track | Span | Count

    # In a heap, so in the order that sorts: the next event's start, the batch's index
    # (so that events are never compared), the event, and the rest.
    OpenBatch = tuple[int, int, GpuEvent, Iterator[GpuEvent]]


# Perfetto drops slices nested deeper than 512, and may end another slice instead.
MAX_DEPTH = 500

NO_TRACE = "the profile does not say when functions ran: kernprof had no --trace"


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
            f"{NO_TRACE}; each slice is as long as all calls of a function from one"
            " line together, and its place on the time axis has no meaning"
        )
        yield from remarks_of_calls(profile)
        if max(depths(profile.calls.nodes), default=0) > MAX_DEPTH:
            yield f"calls that are more than {MAX_DEPTH} deep are cut, and shown as ..."
        if profile.memory.curves:
            yield "the counter of memory is in time order, from the start of the run"
    yield from remarks_of_traces(profile)
    yield from remarks_of_gpu(profile.gpu, "the timeline", "it was full")
    if profile.traces and any(one.count for one in profile.gpu.timelines):
        kinds = {one.kind for one in profile.gpu.sums}
        if not kinds & {RUNTIME, DRIVER}:
            yield (
                "arrows start at the last time that a line ran before its kernel did;"
                " with kernprof -l --gpu-api they start at the very call"
            )


def remarks_of_traces(profile: Profile) -> Iterator[str]:
    """Yield a remark if slices of the traces were left out."""
    if left_out := sum(trace.left_out for trace in profile.traces):
        yield (
            f"{left_out} slices are not in the trace: there was no room for them;"
            " a larger --trace-memory keeps more"
        )


def remarks_of_gpu(gpu: Gpu, place: str, why: str) -> Iterator[str]:
    """Yield remarks on the GPU records that are not in `place`; `why` some are not."""
    if left_out := sum(run.left_out for run in gpu.runs):
        yield f"{left_out} GPU records are not in {place}: {why}"
    if unknown := of_unknown_clock(gpu):
        yield f"{unknown} GPU records with times of an unknown clock are not in {place}"


def _items(profile: Profile, tracks: Tracks) -> Iterator[Span | Count]:
    labels = Labels(profile, names_of_profile(profile))
    clock = Clock(profile)
    flow_numbers = count(1)
    for index, process in enumerate(profile.processes):
        if process.overhead_ns:
            track = tracks.overhead(index)
            label = labels.make("estimated, in no function's time", "overhead")
            yield Span(track=track, start=0, ns=process.overhead_ns, label=label)
    yield from _live_memory(profile, tracks, clock)
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


def _live_memory(profile: Profile, tracks: Tracks, clock: Clock) -> Iterator[Count]:
    """Yield the live memory of each process over its run."""
    for curve in profile.memory.curves:
        track, start = tracks.host_memory(curve.process), clock.start_of(curve.process)
        for at_ns, size in zip(curve.times_ns, curve.live_bytes):
            yield Count(track=track, at=start + at_ns, value=size)


def _launching(profile: Profile) -> set[Hashable]:
    """Return the sources of all launches."""
    return {source for path in profile.gpu.paths for source in _sources(path)}


def _sources(path: GpuPath) -> tuple[Hashable, ...]:
    """Return what may have launched work: the line, or else its function (line 0)."""
    key, line = path.lines[-1]
    return (path.thread, key, line), (path.thread, key, 0)


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
            (min(event_column([batch], "start")) - timeline.origin_ns, index)
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


# Slices of GPU events.


_HOST = {RUNTIME: RUNTIME_API, DRIVER: DRIVER_API, WAIT: GPU_WAIT}

_LAUNCHED = frozenset({KERNEL, GRAPH, MEMCPY, MEMSET})

# Places of a context's tracks: copies by direction, then the others.
_COPIES = {name: place for place, name in enumerate(DIRECTIONS, 1)}

_WORK = {MEMSET: ("Memset", 30), KERNEL: ("Compute", 31), GRAPH: ("Compute", 31)}

_OTHER = 32


class GpuSlices:
    """Makes slices of the GPU events of one process."""

    def __init__(
        self, profile: Profile, process: int, tracks: Tracks, labels: Labels
    ) -> None:
        self._paths = profile.gpu.paths
        self._tracks = tracks
        self._labels = labels
        self._host_tracks = MadeOnce(partial(_host_track, tracks, process))
        self._device_tracks = MadeOnce(partial(_device_tracks, tracks, process))
        self._memory_tracks = MadeOnce(partial(_memory_track, tracks, process))
        self._allocated = Counter[int]()  # bytes, by track
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
        track = self._host_tracks[event.kind, thread, native]
        # Of nested calls the outer one, which comes first, is the source.
        source = None if event.kind == WAIT else ("call", event.correlation)
        if source and flows.knows(source):
            source = None
        span = self._span(track, start, event, self._labels.of_call(event))
        yield from flows.add(span, source)

    def _span(self, track: int, start: int, event: GpuEvent, label: Label) -> Span:
        """Return the slice of an event, on a free lane of the track."""
        return Span(
            track=self._tracks.lane(track, start, start + event.ns),
            start=start,
            ns=event.ns,
            label=label,
            correlation=event.correlation,
        )

    def thread_of(self, event: GpuEvent) -> int:
        """Return the index of an event's thread, or UNKNOWN_THREAD.

        The call path has the system's number; CUPTI's is that of pthread_self().
        """
        if event.path != NO_PATH:
            path = self._paths[event.path]
            if not path.adopted and path.thread != UNKNOWN_THREAD:
                return path.thread
        return self._threads.get(event.thread, UNKNOWN_THREAD)

    def _memory(self, event: GpuEvent, start: int) -> Count:
        """Return the bytes allocated on a device, as far as they were recorded."""
        track = self._memory_tracks[event.device]
        size = event.bytes if event.kind == ALLOC else -event.bytes
        self._allocated[track] = max(0, self._allocated[track] + size)
        return Count(track=track, at=start, value=self._allocated[track])

    def _activity(self, event: GpuEvent, start: int, flows: Flows) -> Iterator[Span]:
        """Yield a slice of a device twice: by kind of work, and on its stream."""
        name = event.name if event.kind in {MEMCPY, MIGRATION} else ""
        by_kind, by_stream = self._device_tracks[
            event.kind, name, event.device, event.context, event.stream
        ]
        span = self._span(by_kind, start, event, self._labels.of_activity(event))
        yield from flows.add(span)
        if by_stream == NO_TRACK:
            return
        ends = NO_FLOW
        if event.kind in _LAUNCHED:
            path = None if event.path == NO_PATH else self._paths[event.path]
            sources = () if path is None else _sources(path)
            ends = flows.end(("call", event.correlation), *sources)
        stream = self._tracks.lane(by_stream, start, start + event.ns)
        yield from flows.add(span._replace(track=stream, ends=ends))


def _host_track(tracks: Tracks, process: int, key: tuple[str, int, int]) -> int:
    """Return the track of a kind of API calls, or of waits, on a thread."""
    kind, thread, native = key
    parent = tracks.thread(process, thread, native)
    return tracks.below_thread(parent, _HOST[kind])


def _memory_track(tracks: Tracks, process: int, number: int) -> int:
    """Return the counter of a device's memory; `number` is CUDA's of the device."""
    return tracks.memory(tracks.device(process, max(0, number)))


def _device_tracks(
    tracks: Tracks, process: int, key: tuple[str, str, int, int, int]
) -> tuple[int, int]:
    """Return the tracks of the kind of work and of the stream."""
    kind, name, number, context_number, stream_number = key
    device = tracks.device(process, max(0, number))
    if kind == MIGRATION:
        return tracks.unified(device, f"Unified memory ({name})"), NO_TRACK
    context = tracks.context(device, context_number)
    stream = tracks.stream(context, stream_number)
    title, place = _WORK.get(kind, (f"Other ({kind})", _OTHER))
    if kind == MEMCPY:
        title, place = f"MemCpy ({name})", _COPIES.get(name, len(_COPIES))
    return tracks.work(context, title, place), stream


# Slices of traces.


class TraceSlices:
    """Makes slices of the traces of one process."""

    def __init__(self, process: int, tracks: Tracks, labels: Labels) -> None:
        self._labels = labels
        # By thread, and whether it is a line's: the track, the ends of open slices.
        self._open = MadeOnce(partial(_open_slices, tracks, process))

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
        track, ends = self._open[one.thread, one.line != 0]
        while ends and ends[-1] <= start:
            ends.pop()
        end = start + one.ns
        if ends and end > ends[-1]:
            end = ends[-1]  # rounding makes no slice outlast the one around it
        depth = len(ends)
        if depth > MAX_DEPTH:
            return None
        ends.append(end)
        label = self._labels.of_slices[one.function, one.line]
        if depth == MAX_DEPTH:
            label = self._labels.cut
        return Span(track=track, start=start, ns=end - start, label=label)


def _open_slices(
    tracks: Tracks, process: int, key: tuple[int, bool]
) -> tuple[int, list[int]]:
    """Return a track of a thread, or of its lines, with no open slices."""
    thread, is_line = key
    track = tracks.thread(process, thread)
    return tracks.below_thread(track, LINES) if is_line else track, []


# Slices of a profile without traces: the sums of its calls, side by side.
#
# A node's slice is as long as all its calls took together. Its callees lie within it,
# the longest first. Recursion, direct or not, counts once: a slice is as long as the
# slices in it and its self time.


def summed_calls(profile: Profile, tracks: Tracks, labels: Labels) -> Iterator[Span]:
    """Yield the slices of all calls, then those of functions without known calls."""
    ends = Counter[int]()  # of the slices on a track (ns)
    track_of = MadeOnce(partial(_sums_track, profile, tracks))
    nodes = profile.calls.nodes
    widths, levels = subtree_ns(nodes), depths(nodes)
    inner = [0] * len(nodes)  # the start of the next slice within each node's
    for index in depth_first(nodes):
        if levels[index] > MAX_DEPTH:
            continue
        node = nodes[index]
        track = track_of[node.thread]
        if node.parent == NO_NODE:
            start = ends[track]
            ends[track] += widths[index]
        else:
            start = inner[node.parent]
            inner[node.parent] += widths[index]
        inner[index] = start
        label = _node_label(node, labels)
        if levels[index] == MAX_DEPTH:
            label = labels.cut
        yield Span(track=track, start=start, ns=widths[index], label=label)
    yield from _without_calls(profile, track_of, labels, ends)


def _sums_track(profile: Profile, tracks: Tracks, thread: int) -> int:
    process = 0 if thread == UNKNOWN_THREAD else profile.threads[thread].process
    return tracks.below_thread(tracks.thread(process, thread), SUMS)


def _node_label(node: CallNode, labels: Labels) -> Label:
    return labels.with_arguments(
        labels.of_slices[node.function, 0],
        ("called from line", node.line),
        *(
            (name.replace("_calls", " calls"), getattr(node, name))
            for name in CALL_NUMBERS
        ),
    )


def _without_calls(
    profile: Profile,
    track_of: MadeOnce[int, int],
    labels: Labels,
    ends: Counter[int],
) -> Iterator[Span]:
    """Yield the slices of functions without known calls, and of their lines."""
    called = {node.function for node in profile.calls.nodes}
    called.update([one.function for one in profile.calls.merged])
    for function in profile.functions:
        if not function.thread_lines or function.key in called:
            continue
        track = track_of[UNKNOWN_THREAD]
        at = ends[track]
        rows = sorted(function.rows, key=lambda row: -row.time_ns)
        width = max(function.total_ns, sum(row.time_ns for row in rows))
        ends[track] += width
        label = labels.with_arguments(
            labels.of_slices[function.key, 0],
            ("calls", function.calls),
            ("total_ns", function.total_ns),
        )
        yield Span(track=track, start=at, ns=width, label=label)
        for row in rows:
            label = labels.with_arguments(
                labels.of_slices[function.key, row.line],
                ("hits", row.hits),
                ("time_ns", row.time_ns),
            )
            yield Span(track=track, start=at, ns=row.time_ns, label=label)
            at += row.time_ns
