"""A GPU's activities one by one, in order of their start, as nvprof prints them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from lineprof.errors import printable
from lineprof.model.gpu import DRIVER, KERNEL, NO_PATH, RUNTIME
from lineprof.model.records import UNKNOWN_THREAD
from lineprof.report.gpu_format import (
    NOWHERE,
    Places,
    activity_name,
    call_name,
    microseconds,
    milliseconds,
    occupancy,
    quoted,
    rate_text,
    size_text,
    time_text,
    wanted,
    warps_per_block,
)
from lineprof.report.gpu_summary import calls_left_out, left_out

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Protocol

    from lineprof.model.gpu import GpuDevice
    from lineprof.model.profile import Profile
    from lineprof.model.timelines import GpuEvent, Timeline
    from lineprof.report.options import Options

    Size = tuple[int, int, int]

    class Trace(Protocol):
        """One kind of trace."""

        header: str
        csv_titles: tuple[str, ...]
        csv_units: str

        def is_wanted(self, event: GpuEvent) -> bool:
            """Tell whether an event is of this trace."""

        def text(self, event: GpuEvent, process: int) -> str:
            """Return a row of text; `process` is an index in Profile.processes."""

        def fields(self, event: GpuEvent, process: int) -> tuple[str, ...]:
            """Return a row of CSV."""


# Calls of CUDA's API one by one, in order of their start, as nvprof prints them.


_LINE_TITLE = "Python Line"


def api_trace(stats: Profile, options: Options) -> Iterator[str]:
    """Yield a row for each call, and below them what is missing."""
    yield from rows(_ApiTrace(stats, options), stats, options)
    if not options.csv:
        yield from calls_left_out(stats.gpu)


class _ApiTrace:
    """Rows of calls."""

    csv_titles: tuple[str, ...] = (
        *("Start", "Duration", "Name", "Correlation_ID"),
        *("Thread", _LINE_TITLE, "Process"),
    )
    csv_units = "ms,us,,,,,"

    def __init__(self, stats: Profile, options: Options) -> None:
        self._stats = stats
        self._places = Places(stats.gpu, options)
        self._line_width = max(len(_LINE_TITLE), self._places.width)
        self._names = [printable(thread.name) for thread in stats.threads]
        self._numbered = {
            (thread.process, thread.native_id): name
            for thread, name in zip(stats.threads, self._names)
        }
        self._thread_width = max(map(len, ["Thread", *self._names]))
        self.header = (
            f"   Start  Duration  {'Thread':>{self._thread_width}}"
            f"  {_LINE_TITLE:<{self._line_width}}  Name"
        )

    def is_wanted(self, event: GpuEvent) -> bool:
        """Tell whether it is a call."""
        return event.kind in {RUNTIME, DRIVER}

    def text(self, event: GpuEvent, process: int) -> str:
        """Return a row of text."""
        return (
            f"{time_text(event.start_ns):>8} {time_text(event.ns):>9}"
            f"  {self._thread(event, process):>{self._thread_width}}"
            f"  {self._places.of(event):<{self._line_width}}"
            f"  {call_name(event.name)} [{event.correlation}]"
        )

    def fields(self, event: GpuEvent, process: int) -> tuple[str, ...]:
        """Return a row of CSV."""
        place = self._places.of(event)
        return (
            milliseconds(event.start_ns),
            microseconds(event.ns),
            quoted(call_name(event.name)),
            f"{event.correlation}",
            quoted(self._thread(event, process)),
            quoted("" if place == NOWHERE else place),
            pid(self._stats, process),
        )

    def _thread(self, event: GpuEvent, process: int) -> str:
        """Return a thread's name, or its number where it has none.

        CUPTI numbers threads as pthread_self() does and not as the system: the
        path knows more.
        """
        if event.path != NO_PATH:
            path = self._stats.gpu.paths[event.path]
            if not path.adopted and path.thread != UNKNOWN_THREAD:
                return self._names[path.thread]
        return self._numbered.get((process, event.thread)) or f"{event.thread}"


_HEADER = (
    "   Start  Duration            Grid Size      Block Size     Regs*    SSMem*"
    "    DSMem*      Size  Throughput      SrcMemType      DstMemType"
)

_LEGEND = (
    "",
    "Regs: registers of each thread.",
    "SSMem, DSMem: static and dynamic shared memory of each block.",
)

_OCCUPANCY_LEGEND = (
    "Warps: of each block.  Occupancy: the theoretical one, the greatest share of"
    " a multiprocessor's warps that can be in flight."
)

_NONE, _DEVICE, _LINE = "-", "Device", "Python Line"

_SHAPES = 4096  # of launches whose texts are kept

_CSV_TITLES = (
    *("Start", "Duration", "Grid X", "Grid Y", "Grid Z"),
    *("Block X", "Block Y", "Block Z", "Registers Per Thread"),
    *("Static SMem", "Dynamic SMem", "Size", "Throughput"),
    *("SrcMemType", "DstMemType", "Device", "Context", "Stream"),
    *("Name", "Correlation_ID", "Range", "Python Line", "Process"),
)

_CSV_UNITS = "ms,us,,,,,,,,B,B,B,GB/s,,,,,,,,,,"


def gpu_trace(stats: Profile, options: Options) -> Iterator[str]:
    """Yield a row for each activity, and below them what is missing."""
    trace = _GpuTrace(stats, options)
    yield from rows(trace, stats, options)
    if options.csv:
        return
    if any(timeline.count for timeline in stats.gpu.timelines):
        yield from _LEGEND
        if options.occupancy:
            yield _OCCUPANCY_LEGEND
    yield from left_out(stats.gpu)


class _GpuTrace:
    """Rows of activities."""

    def __init__(self, stats: Profile, options: Options) -> None:
        self._stats = stats
        self._places = Places(stats.gpu, options)
        self._line_width = max(len(_LINE), self._places.width)
        self._devices = {
            (one.process, one.device): printable(f"{one.name} ({one.device})")
            for one in stats.gpu.devices
        }
        self._device_width = max(map(len, [_DEVICE, *self._devices.values()]))
        self._filling = _Filling(stats.gpu.devices) if options.occupancy else None
        self.is_wanted = wanted(options)
        filling = f" {'Warps':>5} {'Occupancy':>9}" if options.occupancy else ""
        self.header = (
            f"{_HEADER}  {_DEVICE:>{self._device_width}}   Context    Stream{filling}"
            f" {'Range':>12}  {_LINE:<{self._line_width}}  Name"
        )
        more = ("Warps Per Block", "Occupancy") if options.occupancy else ()
        self.csv_titles = (*_CSV_TITLES, *more)
        self.csv_units = _CSV_UNITS + (",,%" if options.occupancy else "")

    def text(self, event: GpuEvent, process: int) -> str:
        """Return a row of text."""
        name = activity_name(event.kind, event.name)
        launch = _NO_LAUNCH
        if event.kind == KERNEL:
            name = f"{name} [{event.correlation}]"
            launch = _launch(event.grid, event.block, *_needs(event))
        size = size_text(event.bytes) if event.bytes else _NONE
        filling = ""
        if self._filling:
            warps, share = self._filling.of(event, process)
            filling = f" {warps or _NONE:>5} {f'{share}%' if share else _NONE:>9}"
        device = self._device(event, process) or _NONE
        return (
            f"{time_text(event.start_ns):>8} {time_text(event.ns):>9}{launch}"
            f" {size:>9} {_rate(event):>11}"
            f" {event.source or _NONE:>15} {event.target or _NONE:>15}"
            f"  {device:>{self._device_width}} {event.context:>9} {event.stream:>9}"
            f"{filling} {self._range(event) or _NONE:>12}"
            f"  {self._places.of(event):<{self._line_width}}  {name}"
        )

    def fields(self, event: GpuEvent, process: int) -> tuple[str, ...]:
        """Return a row of CSV."""
        launch: tuple[str, ...] = ("",) * 9
        if event.kind == KERNEL:
            launch = tuple(map(str, (*event.grid, *event.block, *_needs(event))))
        timed = event.bytes and event.ns
        place = self._places.of(event)
        return (
            milliseconds(event.start_ns),
            microseconds(event.ns),
            *launch,
            f"{event.bytes}" if event.bytes else "",
            f"{event.bytes / event.ns:.6f}" if timed else "",
            *(quoted(memory) for memory in (event.source, event.target)),
            quoted(self._device(event, process)),
            *(quoted(f"{number}") for number in (event.context, event.stream)),
            quoted(activity_name(event.kind, event.name)),
            f"{event.correlation}",
            self._range(event),
            quoted("" if place == NOWHERE else place),
            pid(self._stats, process),
            *(self._filling.of(event, process) if self._filling else ()),
        )

    def _device(self, event: GpuEvent, process: int) -> str:
        return self._devices.get((process, event.device), f"({event.device})")

    def _range(self, event: GpuEvent) -> str:
        """Return the payload of the NVTX range that it was launched in, or ""."""
        path = self._places.path(event)
        payload = 0 if path == NO_PATH else self._stats.gpu.paths[path].range
        return f"{payload or ''}"


class _Filling:
    """How a kernel's blocks fill a multiprocessor."""

    def __init__(self, devices: Iterable[GpuDevice]) -> None:
        self._attributes = {
            (one.process, one.device): dict(one.attributes) for one in devices
        }
        self._known = lru_cache(maxsize=_SHAPES)(self._found)

    def of(self, event: GpuEvent, process: int) -> tuple[str, str]:
        """Return the warps of a block and the occupancy in %; "" if not known."""
        if event.kind != KERNEL:
            return "", ""
        return self._known((process, event.device), event.block, *_needs(event))

    def _found(
        self,
        device: tuple[int, int],
        block: Size,
        registers: int,
        static_smem: int,
        dynamic_smem: int,
    ) -> tuple[str, str]:
        attributes = self._attributes.get(device, {})
        threads = block[0] * block[1] * block[2]
        warps = warps_per_block(threads, attributes)
        share = occupancy(threads, registers, static_smem + dynamic_smem, attributes)
        return f"{warps or ''}", "" if share is None else f"{100 * share:.1f}"


def _needs(event: GpuEvent) -> tuple[int, int, int]:
    """Return a thread's registers and a block's static and dynamic shared memory."""
    return event.registers, event.static_smem, event.dynamic_smem


def _rate(event: GpuEvent) -> str:
    if not event.bytes or not event.ns:
        return _NONE
    return rate_text(event.bytes, event.ns)


@lru_cache(maxsize=_SHAPES)
def _launch(
    grid: Size, block: Size, registers: int, static_smem: int, dynamic_smem: int
) -> str:
    """Return the columns from the grid's size to shared memory."""
    sizes = ["({} {} {})".format(*size) for size in (grid, block)]
    return _launch_columns(
        *sizes, f"{registers}", size_text(static_smem), size_text(dynamic_smem)
    )


def _launch_columns(*texts: str) -> str:
    return "".join(f" {text:>{width}}" for text, width in zip(texts, (20, 15, 9, 9, 9)))


_NO_LAUNCH = _launch_columns(*[_NONE] * 5)


# What the traces have in common: a row an event, made when it is printed.
#
# A timeline can have millions of events: none of its rows is kept.


def pid(stats: Profile, process: int) -> str:
    """Return the number of a process as the system gave it."""
    return f"{stats.processes[process].pid}"


def rows(trace: Trace, stats: Profile, options: Options) -> Iterator[str]:
    """Yield the rows of all timelines, one process after the other."""
    timelines = [one for one in stats.gpu.timelines if one.count]
    if options.csv:
        yield ",".join(map(quoted, trace.csv_titles))
        yield trace.csv_units
    for place, timeline in enumerate(timelines):
        if options.csv:
            for event in filter(trace.is_wanted, timeline):
                yield ",".join(trace.fields(event, timeline.process))
            continue
        if len(timelines) > 1:
            yield from _heading(stats, timeline, first=not place)
        yield trace.header
        for event in filter(trace.is_wanted, timeline):
            yield trace.text(event, timeline.process)


def _heading(stats: Profile, timeline: Timeline, *, first: bool) -> Iterator[str]:
    """Yield whose timeline follows: starts count from the start of its process."""
    if not first:
        yield ""
    process = stats.processes[timeline.process]
    rank = "" if process.rank is None else f", rank {process.rank}"
    yield f"Process {process.pid} on {printable(process.host)}{rank}:"
