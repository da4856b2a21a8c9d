"""The rows of a timeline, as NVIDIA's profilers have them; made when first used.

A process has threads, and devices; a thread its lines and its calls of CUDA's
APIs; a device its contexts, a context a row for each kind of work and each
stream. What overlaps on one row goes to further lanes of it, each a row of the
same name: a viewer shows what lies within one another, and nothing else.
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
    from collections.abc import Callable, Hashable, Iterator

    from lineprof.model.names import ShortNames
    from lineprof.model.profile import Profile
    from lineprof.model.records import Key
    from lineprof.model.timelines import GpuEvent, Timeline, Trace

    Argument = tuple[str, int | float | str]


# Arrows from what launched to what was launched, in a stream of slices.
#
# The slice that launched comes long before what a device makes of it, and a
# writer has to know of an arrow where it starts. So the last so many slices are
# kept back, and go on in their order once that many came after them.


MAX_KEPT_FLOWS = 50_000  # slices; some 20 MB

NO_FLOW = 0


class Span(NamedTuple):
    """One interval on a row: a tuple, for there may be millions."""

    row: int  # its Row's number
    start: int  # ns, on the axis of `Clock`
    ns: int
    label: Label
    correlation: int = 0  # of a call and what it launched; 0: none
    ends: int = NO_FLOW  # the number of the arrow that ends here
    starts: tuple[int, ...] = ()  # those of the arrows that start here


class Flows:
    """The slices that are kept back; `numbers` counts the arrows of all processes."""

    def __init__(self, numbers: Iterator[int]) -> None:
        self._numbers = numbers
        self._kept: deque[tuple[Span, Hashable]] = deque()
        self._gone = 0  # slices that went on; the first one kept has this index
        self._sources: dict[Hashable, int] = {}  # by what they may launch, an index
        self._starts: dict[int, list[int]] = {}  # arrows, by index

    def add(self, span: Span, source: Hashable = None) -> Iterator[Span]:
        """Take a slice, and yield what goes on now.

        `source` names what may be launched from it: the last slice of a name
        is meant by it.
        """
        if source is not None:
            self._sources[source] = self._gone + len(self._kept)
        self._kept.append((span, source))
        if len(self._kept) > MAX_KEPT_FLOWS:
            yield self._next()

    def knows(self, source: Hashable) -> bool:
        """Tell whether a slice is kept that launches what `source` names."""
        return source in self._sources

    def end(self, *sources: Hashable) -> int:
        """Return the number of a new arrow from the first of `sources` that is there.

        NO_ARROW where none is: it was never, or too long ago.
        """
        for source in sources:
            index = self._sources.get(source)
            if index is not None:
                number = next(self._numbers)
                self._starts.setdefault(index, []).append(number)
                return number
        return NO_FLOW

    def rest(self) -> Iterator[Span]:
        """Yield what is left."""
        while self._kept:
            yield self._next()

    def _next(self) -> Span:
        span, source = self._kept.popleft()
        index = self._gone
        self._gone += 1
        if source is not None and self._sources.get(source) == index:
            del self._sources[source]
        starts = self._starts.pop(index, None)
        return span if starts is None else span._replace(starts=tuple(starts))


# One clock for the timelines of several processes.


# Two processes of one host that are farther apart by one clock than by the
# other (ns): its name stands for two machines, or it was started anew.
_APART = 1_000_000_000


class Clock:
    """Where a process' times lie on a common axis, whose 0 is the first start.

    Processes of one host are put in place by CLOCK_MONOTONIC, which they
    share; those of several by the time of day at their start.
    """

    def __init__(self, stats: Profile) -> None:
        self._origins: dict[int, int] = {}  # of each process, the first one
        both: list[Trace | Timeline] = [*stats.traces, *stats.gpu.timelines]
        for one in both:
            first = self._origins.get(one.process, one.origin_ns)
            self._origins[one.process] = min(first, one.origin_ns)
        starts = {
            process: stats.processes[process].start_unix_ns
            for process in self._origins
            if process < len(stats.processes)
        }
        zero = min(starts.values(), default=0)
        places = {process: start - zero for process, start in starts.items()}
        anchors: dict[str, int] = {}  # by host, its first process
        for process, place in places.items():
            anchor = anchors.setdefault(stats.processes[process].host, process)
            same = self._origins[process] - self._origins[anchor] + places[anchor]
            if abs(same - place) <= _APART:
                places[process] = same
        least = min(places.values(), default=0)
        self._places = {process: place - least for process, place in places.items()}

    def zero_of(self, one: Trace | Timeline) -> int:
        """Return where its time 0 lies (ns)."""
        place = self._places.get(one.process, 0)
        return place + one.origin_ns - self._origins[one.process]


# What slices of a timeline are called; the many that are alike share a label.


MOST_LABELS = 1 << 16  # that are kept, here and by a writer


@dataclass(frozen=True)
class Label:
    """The name of slices, and what is beside it."""

    number: int  # of this one: no other has it
    name: str
    category: str
    arguments: tuple[Argument, ...]


class Labels:
    """The labels of all that a profile's timelines hold."""

    def __init__(self, stats: Profile, names: ShortNames) -> None:
        self._names = names
        self._paths = stats.gpu.paths
        self._made = 0
        self.cut = self.make("...", "cut")  # for all that lies deeper
        self._of_slices: dict[tuple[Key, int], Label] = {}
        self._of_events: dict[tuple[object, ...], Label] = {}

    def make(self, name: str, category: str, *arguments: Argument) -> Label:
        """Return a label that no one else has."""
        self._made += 1
        return Label(self._made, name, category, arguments)

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
                label = self.make(self._names.alone(key), "function", *more)
            self._of_slices[key, line] = label
        return label

    def of_call(self, event: GpuEvent) -> Label:
        """Return the label of a call of an API."""
        return self._of_event(event, (event.kind, event.name, event.path))

    def of_activity(self, event: GpuEvent) -> Label:
        """Return the label of what a device did."""
        work: tuple[object, ...] = (event.bytes, _rate(event))
        work = (*work, event.source, event.target)
        if event.kind == KERNEL:
            work = (event.grid, event.block, event.registers)
            work = (*work, event.static_smem, event.dynamic_smem)
        return self._of_event(event, (event.kind, event.name, event.path, *work))

    def _of_event(self, event: GpuEvent, key: tuple[object, ...]) -> Label:
        label = self._of_events.get(key)
        if label is None:
            if len(self._of_events) >= MOST_LABELS:
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
    """Return how fast it went in GB/s, to three digits; 0.0 where it took no time."""
    return float(f"{event.bytes / event.ns:.3g}") if event.ns else 0.0


PROCESS, THREAD, GROUP, DEVICE, SLICES, COUNTER = range(6)  # kinds of rows

NO_TRACK = 0

NO_PROCESS = -1

# Places of a thread's rows below it; a thread has room for so many.
SUMS, LINES, RUNTIME_API, DRIVER_API, GPU_WAIT = range(1, 6)

_OF_A_THREAD = 8

_THREAD_TRACKS = {
    SUMS: "Calls, summed: not in time order",
    LINES: "Lines",
    RUNTIME_API: "Runtime API",
    DRIVER_API: "Driver API",
    GPU_WAIT: "Waiting for the GPU",
}

# Places of a device's rows; a context has room for so many.
MEMORY, UNIFIED = 1, 2

_OF_A_CONTEXT, _STREAMS = 1 << 16, 64

_DEVICES = 1 << 20  # they come below the threads


class Track(NamedTuple):
    """One row, that a writer says before what is on it."""

    number: int  # of this one, from 1 on
    parent: int  # the number of the one that it is below, or NO_ROW
    kind: int
    name: str
    place: int  # among those below the same process or device
    process: int  # its index in Profile.processes, or NO_PROCESS
    native: int = 0  # the system's number of a process or a thread; 0: unknown


class Tracks:
    """All rows that were made; `new` has those that no one has taken yet."""

    def __init__(self, stats: Profile) -> None:
        self._stats = stats
        self._found: dict[tuple[object, ...], int] = {}
        self._lanes: dict[int, list[tuple[int, int]]] = {}  # (row, end) of each
        self._all: list[Track] = []
        self._devices = {
            (one.process, one.device): f"{one.name} ({one.device})"
            for one in stats.gpu.devices
        }
        self.new: list[Track] = []

    def take_new(self) -> Iterator[Track]:
        """Yield the rows made since the last time, parents first."""
        new, self.new = self.new, []
        yield from new

    def process(self, process: int) -> int:
        """Return the row of a process."""

        def make() -> Track:
            if not 0 <= process < len(self._stats.processes):
                return self._row(NO_TRACK, PROCESS, "Process", 0, NO_PROCESS)
            one = self._stats.processes[process]
            rank = "" if one.rank is None else f", rank {one.rank}"
            name = f"{' '.join(one.argv[:1]) or 'Process'} ({one.pid}{rank})"
            return self._row(NO_TRACK, PROCESS, name, process, process, one.pid)

        return self._get((PROCESS, process), make)

    def overhead(self, process: int) -> int:
        """Return the row of what profiling itself took."""
        parent = self.process(process)
        name = "Profiling overhead: the sum"
        return self._get(
            ("overhead", process), lambda: self._row(parent, SLICES, name, 1, process)
        )

    def thread(self, process: int, thread: int, native: int = 0) -> int:
        """Return the row of a thread: its index in Profile.threads.

        One that is not known has a `native` number, or not even that.
        """

        def make() -> Track:
            name = f"Thread {native}" if native else "All threads"
            known, place = native, _OF_A_THREAD * (len(self._stats.threads) + 1)
            if thread != UNKNOWN_THREAD:
                name = thread_name(self._stats, thread)
                known = self._stats.threads[thread].native_id
                place = _OF_A_THREAD * (thread + 1)
            return self._row(parent, THREAD, name, place, process, known)

        parent = self.process(process)
        number = 0 if thread != UNKNOWN_THREAD else native
        return self._get((THREAD, process, thread, number), make)

    def below_thread(self, thread: int, place: int) -> int:
        """Return a row below that of a thread: SUMS, LINES, RUNTIME_API..."""
        row = self._all[thread - 1]
        return self._get(
            ("below", thread, place),
            lambda: self._row(
                thread, SLICES, _THREAD_TRACKS[place], row.place + place, row.process
            ),
        )

    def device(self, process: int, device: int) -> int:
        """Return the row of a device: CUDA's number in its process."""
        parent = self.process(process)
        name = self._devices.get((process, device), f"Device ({device})")
        return self._get(
            (DEVICE, process, device),
            lambda: self._row(parent, DEVICE, name, _DEVICES + device, process),
        )

    def memory(self, device: int) -> int:
        """Return the counter of a device's memory."""
        name = "Memory allocated"
        return self._below(device, (COUNTER, device), COUNTER, name, MEMORY)

    def unified(self, device: int, name: str) -> int:
        """Return the row of what moves unified memory to or from a device."""
        return self._below(device, (UNIFIED, device, name), SLICES, name, UNIFIED)

    def context(self, device: int, context: int) -> int:
        """Return the row of a context of a device."""
        place = _OF_A_CONTEXT * (context % _OF_A_THREAD + 1)
        return self._below(
            device, (GROUP, device, context), GROUP, f"Context {context}", place
        )

    def work(self, context: int, name: str, place: int) -> int:
        """Return the row of one kind of a context's work."""
        place += self._all[context - 1].place
        return self._below(context, ("work", context, name), SLICES, name, place)

    def stream(self, context: int, stream: int) -> int:
        """Return the row of a stream of a context."""
        place = self._all[context - 1].place + _STREAMS
        place += stream % (_OF_A_CONTEXT - _STREAMS)
        name = f"Stream {stream}"
        return self._below(context, ("stream", context, stream), SLICES, name, place)

    def lane(self, row: int, start: int, end: int) -> int:
        """Return `row`, or one like it, on which nothing is from `start` on.

        From now on something is, until `end`. Times (ns) come in order.
        """
        lanes = self._lanes.setdefault(row, [(row, 0)])
        for index, (one, busy) in enumerate(lanes):
            if busy <= start:
                lanes[index] = (one, end)
                return one
        like = self._all[row - 1]
        more = self._row(like.parent, like.kind, like.name, like.place, like.process)
        self._add(more)
        lanes.append((more.number, end))
        return more.number

    def _below(
        self, parent: int, key: tuple[object, ...], kind: int, name: str, place: int
    ) -> int:
        process = self._all[parent - 1].process
        return self._get(key, lambda: self._row(parent, kind, name, place, process))

    def _row(  # noqa: PLR0913, PLR0917  # the fields of a Row
        self,
        parent: int,
        kind: int,
        name: str,
        place: int,
        process: int,
        native: int = 0,
    ) -> Track:
        number = len(self._all) + 1
        return Track(number, parent, kind, name, place, process, native)

    def _get(self, key: tuple[object, ...], make: Callable[[], Track]) -> int:
        number = self._found.get(key)
        if number is None:
            number = self._found[key] = self._add(make())
        return number

    def _add(self, row: Track) -> int:
        self._all.append(row)
        self.new.append(row)
        return row.number
