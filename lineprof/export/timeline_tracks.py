"""Tracks of a timeline, arranged as NVIDIA's profilers do, and their slices.

A process has threads and devices; a thread its lines and its calls of CUDA's APIs; a
device its contexts, a context a track for each kind of work and each stream. Slices
that overlap on one track go to further lanes of it, tracks of the same name: viewers
show nested slices, and no others.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from lineprof.errors import printable
from lineprof.export.stacks import thread_name
from lineprof.model.gpu import KERNEL, MEMCPY, MEMSET, MIGRATION, NO_PATH
from lineprof.model.records import UNKNOWN_THREAD
from lineprof.report.gpu_format import activity_name, call_name, kernel_name

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from lineprof.model.names import ShortNames
    from lineprof.model.profile import Profile
    from lineprof.model.records import Key
    from lineprof.model.timelines import GpuEvent

    Argument = tuple[str, int | float | str]

PROCESS, THREAD, GROUP, DEVICE, SLICES, COUNTER = range(6)  # kinds of tracks

NO_TRACK = 0

NO_FLOW = 0

NO_PROCESS = -1

# Numbers above this one, which all viewers take, are given to tracks that cannot have
# the system's.
_FIRST_OWN_NUMBER = 1_000_000_000

# Places of the tracks below a thread, and the number of places for each thread.
SUMS, LINES, RUNTIME_API, DRIVER_API, GPU_WAIT = range(1, 6)

_THREAD_PLACES = 8

_THREAD_TRACKS = {
    SUMS: "Calls, summed: not in time order",
    LINES: "Lines",
    RUNTIME_API: "Runtime API",
    DRIVER_API: "Driver API",
    GPU_WAIT: "Waiting for the GPU",
}

MEMORY, UNIFIED = 1, 2  # places of a device's tracks, above its contexts

# Places of each context, the first place of its streams, and contexts with places.
_CONTEXT_PLACES, _STREAMS, _CONTEXTS = 1 << 16, 64, 8

_DEVICES = 1 << 20  # the place of the first device, below all threads


class Track(NamedTuple):
    """One track; a writer describes it before its first slice."""

    number: int  # its identity, from 1 on
    parent: int  # the number of the track above it, or NO_TRACK
    kind: int
    name: str
    place: int  # its order below the same process or device
    process: int  # its index in Profile.processes, or NO_PROCESS
    native: int = 0  # the system's number of a process or a thread; 0 if unknown


class SystemNumbers:
    """Numbers of processes and of their threads: the system's, each given once."""

    def __init__(self) -> None:
        self._taken: set[tuple[int, int]] = set()  # (process, number)
        self._last = _FIRST_OWN_NUMBER

    def number(self, process: int, native: int) -> int:
        """Return `native`, or another number if that is taken or too large.

        `process` is the number of a thread's process; of a process, 0.
        """
        if not 0 < native < _FIRST_OWN_NUMBER or (process, native) in self._taken:
            self._last += 1
            return self._last
        self._taken.add((process, native))
        return native


class Span(NamedTuple):
    """One interval on a track; a tuple, as there may be millions."""

    track: int  # its number
    start: int  # ns, on the axis of `Clock`
    ns: int
    label: Label
    correlation: int = 0  # id of a call and of its work on a device; 0: none
    ends: int = NO_FLOW  # the flow that ends here
    starts: tuple[int, ...] = ()  # the flows that start here


class Count(NamedTuple):
    """A counter's new value."""

    track: int
    at: int  # ns, on the axis of `Clock`
    value: int


# Tracks, made when they are first used.


class Tracks:
    """All tracks by the process, thread or device they show; `new` has the latest."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._numbers: dict[tuple[object, ...], int] = {}
        self._lanes: dict[int, list[tuple[int, int]]] = {}  # (track, end) of each
        self._all: list[Track] = []
        self._devices = {
            (one.process, one.device): f"{one.name} ({one.device})"
            for one in profile.gpu.devices
        }
        self.new: list[Track] = []

    def take_new(self) -> Iterator[Track]:
        """Yield the tracks made since the last time, parents first."""
        new, self.new = self.new, []
        yield from new

    def process(self, process: int) -> int:
        """Return the track of a process."""
        key = (PROCESS, process)
        if key in self._numbers:
            return self._numbers[key]
        if not 0 <= process < len(self._profile.processes):
            return self._add(
                key, kind=PROCESS, name="Process", place=0, process=NO_PROCESS
            )
        one = self._profile.processes[process]
        rank = "" if one.rank is None else f", rank {one.rank}"
        name = f"{' '.join(one.argv[:1]) or 'Process'} ({one.pid}{rank})"
        return self._add(
            key,
            kind=PROCESS,
            name=name,
            place=process,
            process=process,
            native=one.pid,
        )

    def overhead(self, process: int) -> int:
        """Return the track of the profiler's own time."""
        name = "Profiling overhead: the sum"
        return self._below(
            self.process(process), ("overhead", process), name=name, place=1
        )

    def thread(self, process: int, thread: int, native: int = 0) -> int:
        """Return the track of a thread: its index in Profile.threads.

        `native` is the system's number of a thread that is not in the profile; 0 if
        that number is also unknown.
        """
        parent = self.process(process)
        is_known = thread != UNKNOWN_THREAD
        key = (THREAD, process, thread, 0 if is_known else native)
        if key in self._numbers:
            return self._numbers[key]
        name = f"Thread {native}" if native else "All threads"
        place = _THREAD_PLACES * (len(self._profile.threads) + 1)
        if is_known:
            name = thread_name(self._profile, thread)
            native = self._profile.threads[thread].native_id
            place = _THREAD_PLACES * (thread + 1)
        return self._add(
            key,
            parent=parent,
            kind=THREAD,
            name=name,
            place=place,
            process=process,
            native=native,
        )

    def below_thread(self, thread: int, place: int) -> int:
        """Return a track below that of a thread: SUMS, LINES, RUNTIME_API..."""
        return self._below(
            thread,
            ("below", thread, place),
            name=_THREAD_TRACKS[place],
            place=self._all[thread - 1].place + place,
        )

    def device(self, process: int, device: int) -> int:
        """Return the track of a device: CUDA's number in its process."""
        parent = self.process(process)
        key = (DEVICE, process, device)
        if key in self._numbers:
            return self._numbers[key]
        return self._add(
            key,
            parent=parent,
            kind=DEVICE,
            name=self._devices.get((process, device), f"Device ({device})"),
            place=_DEVICES + device,
            process=process,
        )

    def memory(self, device: int) -> int:
        """Return the counter of a device's memory."""
        name = "Memory allocated"
        return self._below(
            device, (COUNTER, device), kind=COUNTER, name=name, place=MEMORY
        )

    def unified(self, device: int, name: str) -> int:
        """Return the track of copies of unified memory to or from a device."""
        return self._below(device, (UNIFIED, device, name), name=name, place=UNIFIED)

    def context(self, device: int, context: int) -> int:
        """Return the track of a context of a device."""
        return self._below(
            device,
            (GROUP, device, context),
            kind=GROUP,
            name=f"Context {context}",
            place=_CONTEXT_PLACES * (context % _CONTEXTS + 1),
        )

    def work(self, context: int, name: str, place: int) -> int:
        """Return the track of one kind of a context's work."""
        place += self._all[context - 1].place
        return self._below(context, ("work", context, name), name=name, place=place)

    def stream(self, context: int, stream: int) -> int:
        """Return the track of a stream of a context."""
        place = self._all[context - 1].place + _STREAMS
        place += stream % (_CONTEXT_PLACES - _STREAMS)
        key = ("stream", context, stream)
        return self._below(context, key, name=f"Stream {stream}", place=place)

    def lane(self, track: int, start: int, end: int) -> int:
        """Return `track` or another lane of it that is free from `start` on.

        The lane is taken until `end`. Calls come in order of `start` (ns).
        """
        lanes = self._lanes.setdefault(track, [(track, 0)])
        for index, (lane, busy_until) in enumerate(lanes):
            if busy_until <= start:
                lanes[index] = (lane, end)
                return lane
        lane = self._append(self._all[track - 1])
        lanes.append((lane, end))
        return lane

    def _below(
        self,
        parent: int,
        key: tuple[object, ...],
        *,
        kind: int = SLICES,
        name: str,
        place: int,
    ) -> int:
        """Return the track `key` below `parent`; it is made at its first use."""
        if key in self._numbers:
            return self._numbers[key]
        process = self._all[parent - 1].process
        return self._add(
            key, parent=parent, kind=kind, name=name, place=place, process=process
        )

    def _add(  # noqa: PLR0913  # the fields of a Track
        self,
        key: tuple[object, ...],
        *,
        parent: int = NO_TRACK,
        kind: int,
        name: str,
        place: int,
        process: int,
        native: int = 0,
    ) -> int:
        number = self._append(
            Track(
                number=0,
                parent=parent,
                kind=kind,
                name=name,
                place=place,
                process=process,
                native=native,
            )
        )
        self._numbers[key] = number
        return number

    def _append(self, like: Track) -> int:
        """Add a track like `like` under a new number; return that number."""
        number = len(self._all) + 1
        track = like._replace(number=number)
        self._all.append(track)
        self.new.append(track)
        return number


# Flows: arrows from a launch to the work that it launched.
#
# A launch comes long before its work, and a writer has to know of a flow where it
# starts. So the last slices are kept back, and are yielded in their order once enough
# others have come after them.


MAX_KEPT_SPANS = 50_000  # some 20 MB


class Flows:
    """Spans that are held back, and the flows between them."""

    def __init__(self, numbers: Iterator[int]) -> None:
        self._numbers = numbers
        self._kept: deque[tuple[Span, Hashable]] = deque()
        self._yielded = 0  # the number of spans, and the index of the first kept one
        self._sources: dict[Hashable, int] = {}  # index of a span, by its source
        self._starts: dict[int, list[int]] = {}  # flows, by the index of their span

    def add(self, span: Span, source: Hashable = None) -> Iterator[Span]:
        """Keep a span, and yield the oldest one if too many are kept.

        `source` identifies launches from this span; of several spans with the same
        source the last one counts.
        """
        if source is not None:
            self._sources[source] = self._yielded + len(self._kept)
        self._kept.append((span, source))
        if len(self._kept) > MAX_KEPT_SPANS:
            yield self._next()

    def knows(self, source: Hashable) -> bool:
        """Tell whether a span with this source is kept."""
        return source in self._sources

    def end(self, *sources: Hashable) -> int:
        """Return a new flow from the span of the first of `sources` that is kept.

        If none of them is kept, as the span is missing or too old, returns NO_FLOW.
        """
        for source in sources:
            index = self._sources.get(source)
            if index is not None:
                number = next(self._numbers)
                self._starts.setdefault(index, []).append(number)
                return number
        return NO_FLOW

    def rest(self) -> Iterator[Span]:
        """Yield the spans that are still kept."""
        while self._kept:
            yield self._next()

    def _next(self) -> Span:
        span, source = self._kept.popleft()
        index = self._yielded
        self._yielded += 1
        if source is not None and self._sources.get(source) == index:
            del self._sources[source]
        starts = self._starts.pop(index, None)
        return span if starts is None else span._replace(starts=tuple(starts))


# Labels of slices; slices that are alike share one.


MAX_LABELS = 1 << 16  # that are kept, here and by a writer


@dataclass(frozen=True)
class Label:
    """Name, category and arguments of slices."""

    number: int  # its identity
    name: str
    category: str
    arguments: tuple[Argument, ...]


class Labels:
    """The labels of all slices of a profile."""

    def __init__(self, profile: Profile, names: ShortNames) -> None:
        self._names = names
        self._paths = profile.gpu.paths
        self._made = 0
        self.cut = self.make("...", "cut")  # of slices that are nested too deep
        self._of_slices: dict[tuple[Key, int], Label] = {}
        self._of_events: dict[tuple[object, ...], Label] = {}

    def make(self, name: str, category: str, *arguments: Argument) -> Label:
        """Return a new label."""
        self._made += 1
        return Label(
            number=self._made, name=name, category=category, arguments=arguments
        )

    def with_arguments(self, label: Label, *more: Argument) -> Label:
        """Return a new label like `label`, with more arguments."""
        return self.make(label.name, label.category, *label.arguments, *more)

    def of_slice(self, key: Key, line: int) -> Label:
        """Return the label of a function, or of one of its lines."""
        label = self._of_slices.get((key, line))
        if label is None:
            file, first, name = key
            if line:
                label = self.make(
                    printable(self._names.line(file, line)),
                    "line",
                    *(("function", name), ("file", file), ("line", line)),
                )
            else:
                more = (("file", file), ("line", first)) if file else ()
                label = self.make(self._names.label(key), "function", *more)
            self._of_slices[key, line] = label
        return label

    def of_call(self, event: GpuEvent) -> Label:
        """Return the label of an API call."""
        return self._of_event(event, (event.kind, event.name, event.path))

    def of_activity(self, event: GpuEvent) -> Label:
        """Return the label of work of a device."""
        work: tuple[object, ...] = (event.bytes, _rate(event))
        work = (*work, event.source, event.target)
        if event.kind == KERNEL:
            work = (event.grid, event.block, event.registers)
            work = (*work, event.static_smem, event.dynamic_smem)
        return self._of_event(event, (event.kind, event.name, event.path, *work))

    def _of_event(self, event: GpuEvent, key: tuple[object, ...]) -> Label:
        label = self._of_events.get(key)
        if label is None:
            if len(self._of_events) >= MAX_LABELS:
                self._of_events.clear()
            label = self._of_events[key] = self._new(event)
        return label

    def _new(self, event: GpuEvent) -> Label:
        arguments: list[Argument] = []
        if event.path != NO_PATH:
            key, line = self._paths[event.path].lines[-1]
            place = printable(self._names.line(key[0], line))
            arguments += [("Python line", place), ("function", key[2])]
        if event.kind == KERNEL:
            name = kernel_name(event.name) or "[CUDA kernel]"
            arguments += _launch(event)
        elif event.kind in {MEMCPY, MEMSET, MIGRATION}:
            name = activity_name(event.kind, event.name)
            arguments += _copied(event)
        else:
            name = call_name(event.name) or f"[CUDA {event.kind}]"
        return self.make(name, event.kind, *arguments)


def _launch(event: GpuEvent) -> list[Argument]:
    return [
        ("grid", "x".join(map(str, event.grid))),
        ("block", "x".join(map(str, event.block))),
        ("registers per thread", event.registers),
        ("static shared memory (bytes)", event.static_smem),
        ("dynamic shared memory (bytes)", event.dynamic_smem),
    ]


def _copied(event: GpuEvent) -> list[Argument]:
    arguments: list[Argument] = [("bytes", event.bytes)]
    if event.ns:
        arguments.append(("GB/s", _rate(event)))
    if event.source:
        arguments.append(("from", event.source))
    if event.target:
        arguments.append(("to", event.target))
    return arguments


def _rate(event: GpuEvent) -> float:
    """Return the rate of a copy in GB/s, to three digits; 0.0 if it took no time."""
    return float(f"{event.bytes / event.ns:.3g}") if event.ns else 0.0
