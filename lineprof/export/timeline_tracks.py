"""Tracks of a timeline, arranged as NVIDIA's profilers do, and their slices.

A process has threads and devices; a thread its lines and its calls of CUDA's APIs; a
device its contexts, a context a track for each kind of work and each stream. Slices
that overlap on one track go to further lanes of it, tracks of the same name: viewers
show nested slices, and no others.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import partial
from itertools import count
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from lineprof.errors import printable
from lineprof.export.made_once import MadeOnce
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

    number: int  # its identity, from 1 on; 0 before it is known
    parent: int  # the number of the track above it, or NO_TRACK
    kind: int
    name: str
    place: int  # its order below the same process or device
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
        self._processes: dict[int, int] = {}
        self._numbers: dict[Track, int] = {}  # by their other fields
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

    def _process(self, process: int) -> int:
        """Return the track of a process."""
        number = self._processes.get(process)
        if number is None:
            number = self._processes[process] = self._new_process(process)
        return number

    def _new_process(self, process: int) -> int:
        like = Track(number=0, parent=NO_TRACK, kind=PROCESS, name="Process", place=0)
        if not 0 <= process < len(self._profile.processes):
            return self._append(like)
        one = self._profile.processes[process]
        rank = "" if one.rank is None else f", rank {one.rank}"
        name = f"{' '.join(one.argv[:1]) or 'Process'} ({one.pid}{rank})"
        return self._append(like._replace(name=name, place=process, native=one.pid))

    def overhead(self, process: int) -> int:
        """Return the track of the profiler's own time."""
        name = "Profiling overhead: the sum"
        return self._track(self._process(process), SLICES, name, 1)

    def host_memory(self, process: int) -> int:
        """Return the counter of a process' own memory."""
        name = "Memory allocated by the program"
        return self._track(self._process(process), COUNTER, name, 2)

    def thread(self, process: int, thread: int, native: int = 0) -> int:
        """Return the track of a thread: its index in Profile.threads.

        `native` is the system's number of a thread that is not in the profile; 0 if
        that number is also unknown.
        """
        name = f"Thread {native}" if native else "All threads"
        place = _THREAD_PLACES * (len(self._profile.threads) + 1)
        if thread != UNKNOWN_THREAD:
            name = thread_name(self._profile, thread)
            native = self._profile.threads[thread].native_id
            place = _THREAD_PLACES * (thread + 1)
        return self._track(self._process(process), THREAD, name, place, native)

    def below_thread(self, thread: int, place: int) -> int:
        """Return a track below that of a thread: SUMS, LINES, RUNTIME_API..."""
        within = self._all[thread - 1].place + place
        return self._track(thread, SLICES, _THREAD_TRACKS[place], within)

    def device(self, process: int, device: int) -> int:
        """Return the track of a device: CUDA's number in its process."""
        name = self._devices.get((process, device), f"Device ({device})")
        return self._track(self._process(process), DEVICE, name, _DEVICES + device)

    def memory(self, device: int) -> int:
        """Return the counter of a device's memory."""
        return self._track(device, COUNTER, "Memory allocated", MEMORY)

    def unified(self, device: int, name: str) -> int:
        """Return the track of copies of unified memory to or from a device."""
        return self._track(device, SLICES, name, UNIFIED)

    def context(self, device: int, context: int) -> int:
        """Return the track of a context of a device."""
        place = _CONTEXT_PLACES * (context % _CONTEXTS + 1)
        return self._track(device, GROUP, f"Context {context}", place)

    def work(self, context: int, name: str, place: int) -> int:
        """Return the track of one kind of a context's work."""
        within = self._all[context - 1].place + place
        return self._track(context, SLICES, name, within)

    def stream(self, context: int, stream: int) -> int:
        """Return the track of a stream of a context."""
        place = _STREAMS + stream % (_CONTEXT_PLACES - _STREAMS)
        return self.work(context, f"Stream {stream}", place)

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

    def _track(
        self, parent: int, kind: int, name: str, place: int, native: int = 0
    ) -> int:
        """Return the track with these fields; it is made at its first use."""
        like = Track(
            number=0, parent=parent, kind=kind, name=name, place=place, native=native
        )
        number = self._numbers.get(like)
        if number is None:
            number = self._numbers[like] = self._append(like)
        return number

    def _append(self, like: Track) -> int:
        """Add a track like `like` under a new number; return that number."""
        track = like._replace(number=len(self._all) + 1)
        self._all.append(track)
        self.new.append(track)
        return track.number


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
        self._numbers = count(1)  # of labels
        self.cut = self.make("...", "cut")  # of slices that are nested too deep
        # By function and line, or 0.
        self.of_slices = MadeOnce(partial(_label_of_slice, names, self._numbers))
        self._of_events: dict[tuple[object, ...], Label] = {}

    def make(self, name: str, category: str, *arguments: Argument) -> Label:
        """Return a new label."""
        return _label(self._numbers, name, category, *arguments)

    def with_arguments(self, label: Label, *more: Argument) -> Label:
        """Return a new label like `label`, with more arguments."""
        return self.make(label.name, label.category, *label.arguments, *more)

    def of_call(self, event: GpuEvent) -> Label:
        """Return the label of an API call."""
        return self._of_event(event, (event.kind, event.name, event.path))

    def of_activity(self, event: GpuEvent) -> Label:
        """Return the label of work of a device."""
        work: tuple[object, ...] = _LAUNCH(event)
        if event.kind != KERNEL:
            work = (event.bytes, _rate(event), event.source, event.target)
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
            arguments += zip(_LAUNCH_TITLES, launch_values(event))
        elif event.kind in {MEMCPY, MEMSET, MIGRATION}:
            name = activity_name(event.kind, event.name)
            arguments += _copied(event)
        else:
            name = call_name(event.name) or f"[CUDA {event.kind}]"
        return self.make(name, event.kind, *arguments)


def _label(
    numbers: Iterator[int], name: str, category: str, *arguments: Argument
) -> Label:
    """Return a new label, with the next of the numbers."""
    return Label(
        number=next(numbers), name=name, category=category, arguments=arguments
    )


def _label_of_slice(
    names: ShortNames, numbers: Iterator[int], place: tuple[Key, int]
) -> Label:
    """Return a new label of a function, or of one line of it, which is not 0."""
    (file, first, name), line = place
    if line:
        shown = printable(names.line(file, line))
        more: tuple[Argument, ...] = ("function", name), ("file", file)
        return _label(numbers, shown, "line", *more, ("line", line))
    more = (("file", file), ("line", first)) if file else ()
    return _label(numbers, names.label(place[0]), "function", *more)


_LAUNCH = attrgetter("grid", "block", "registers", "static_smem", "dynamic_smem")

_LAUNCH_TITLES = (
    "grid",
    "block",
    "registers per thread",
    "static shared memory (bytes)",
    "dynamic shared memory (bytes)",
)


def launch_values(event: GpuEvent) -> tuple[str | int, ...]:
    """Return grid, block, registers and shared memory of a kernel."""
    grid, block, *others = _LAUNCH(event)
    return "x".join(map(str, grid)), "x".join(map(str, block)), *others


def _copied(event: GpuEvent) -> list[Argument]:
    arguments: list[Argument] = [("bytes", event.bytes)]
    if event.ns:
        arguments.append(("GB/s", _rate(event)))
    memories = (("from", event.source), ("to", event.target))
    return [*arguments, *(one for one in memories if one[1])]


def _rate(event: GpuEvent) -> float:
    """Return the rate of a copy in GB/s, to three digits; 0.0 if it took no time."""
    return float(f"{event.bytes / event.ns:.3g}") if event.ns else 0.0
