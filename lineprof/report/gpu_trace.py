"""The views --gpu-trace and --api-trace: GPU activities and CUDA calls in order.

Rows are laid out as nvprof prints them. They are generated lazily, because a
timeline can have millions of events.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from lineprof.errors import printable
from lineprof.model.gpu import DRIVER, KERNEL, NO_PATH, RUNTIME, of_unknown_clock
from lineprof.model.records import UNKNOWN_THREAD
from lineprof.report.gpu_format import (
    LINE_TITLE,
    NOWHERE,
    Places,
    activity_name,
    call_name,
    event_filter,
    microseconds,
    milliseconds,
    occupancy,
    quoted,
    rate_text,
    size_text,
    time_text,
    warps_per_block,
)
from lineprof.report.gpu_summary import CALLS_NOT_RECORDED, has_calls, why_nothing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lineprof.model.gpu import Gpu, GpuDevice
    from lineprof.model.profile import Profile
    from lineprof.model.timelines import GpuEvent, Timeline
    from lineprof.report.options import Options
    from lineprof.source import Sources

    Size = tuple[int, int, int]  # in each direction

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

_NONE, _DEVICE, _THREAD = "-", "Device", "Thread"

_CACHED_LAUNCHES = 4096  # shapes of launches whose texts are kept

_CSV_TITLES = (
    *("Start", "Duration", "Grid X", "Grid Y", "Grid Z"),
    *("Block X", "Block Y", "Block Z", "Registers Per Thread"),
    *("Static SMem", "Dynamic SMem", "Size", "Throughput"),
    *("SrcMemType", "DstMemType", "Device", "Context", "Stream"),
    *("Name", "Correlation_ID", "Range", LINE_TITLE, "Process"),
)

_CSV_UNITS = "ms,us,,,,,,,,B,B,B,GB/s,,,,,,,,,,"


def gpu_trace(profile: Profile, _: Sources, options: Options) -> Iterator[str]:
    """Yield a row for each activity, and below the rows warnings of missing data."""
    yield from _rows(_GpuTrace(profile, options), profile, options)
    if options.csv:
        return
    if any(timeline.count for timeline in profile.gpu.timelines):
        yield from _LEGEND
        if options.occupancy:
            yield _OCCUPANCY_LEGEND
    yield from _missing_activities(profile.gpu)


def api_trace(profile: Profile, _: Sources, options: Options) -> Iterator[str]:
    """Yield a row for each call, and below the rows warnings of missing data."""
    yield from _rows(_ApiTrace(profile, options), profile, options)
    if not options.csv:
        yield from _missing_calls(profile.gpu)


def gpu_trace_notes(profile: Profile, options: Options) -> Iterable[str]:
    """Return warnings of missing activities for CSV; text has them itself."""
    return _missing_activities(profile.gpu) if options.csv else ()


def api_trace_notes(profile: Profile, options: Options) -> Iterable[str]:
    """Return warnings of missing calls for CSV; text has them itself."""
    return _missing_calls(profile.gpu) if options.csv else ()


def _missing_activities(gpu: Gpu) -> Iterator[str]:
    """Yield warnings of activities that a trace does not have."""
    yield from why_nothing(gpu)
    if gpu.sums and not any(timeline.count for timeline in gpu.timelines):
        yield "The profile has no timeline; --gpu-summary shows the sums"
    count = sum(run.left_out for run in gpu.runs)
    if count:
        yield (
            f"The timeline was full: {count} records are in --gpu-summary alone;"
            " kernprof -l --gpu-events N keeps more"
        )
    unknown = of_unknown_clock(gpu)
    if unknown:
        yield (
            f"{unknown} records with times of an unknown clock are in --gpu-summary"
            " alone"
        )


def _missing_calls(gpu: Gpu) -> Iterator[str]:
    """Yield warnings of calls that a trace does not have."""
    if gpu.sums and not has_calls(gpu):
        yield f"API calls were {CALLS_NOT_RECORDED}"
    else:
        yield from _missing_activities(gpu)


def _rows(
    trace: _GpuTrace | _ApiTrace, profile: Profile, options: Options
) -> Iterator[str]:
    """Yield the rows of all timelines, one process after the other."""
    timelines = [one for one in profile.gpu.timelines if one.count]
    if options.csv:
        yield ",".join(map(quoted, trace.csv_titles))
        yield trace.csv_units
    left = options.limit or sys.maxsize  # rows
    for number, timeline in enumerate(timelines):
        if not left:
            break
        events: Iterable[GpuEvent] = filter(trace.is_shown, timeline)
        if options.limit:  # without it there may be millions
            events = list(islice(events, left))
            left -= len(events)
        if options.csv:
            for event in events:
                yield ",".join(trace.fields(event, timeline.process))
            continue
        if len(timelines) > 1:
            yield from _heading(profile, timeline, first=not number)
        yield trace.header
        for event in events:
            yield trace.text(event, timeline.process)
    if not (left or options.csv):
        yield f"Only the first {options.limit:,} rows: leave out --limit to see all"


def _heading(profile: Profile, timeline: Timeline, *, first: bool) -> Iterator[str]:
    """Yield the process of a timeline, in which starts count from the process's."""
    if not first:
        yield ""
    process = profile.processes[timeline.process]
    rank = "" if process.rank is None else f", rank {process.rank}"
    yield f"Process {process.pid} on {printable(process.host)}{rank}:"


class _GpuTrace:
    """Rows of activities; `process` is an index in Profile.processes."""

    def __init__(self, profile: Profile, options: Options) -> None:
        self._profile = profile
        self._places = Places(profile.gpu, options)
        self._line_width = max(len(LINE_TITLE), self._places.width)
        self._devices = {
            (one.process, one.device): printable(f"{one.name} ({one.device})")
            for one in profile.gpu.devices
        }
        self._device_width = max(map(len, [_DEVICE, *self._devices.values()]))
        self._occupancies = (
            _Occupancies(profile.gpu.devices) if options.occupancy else None
        )
        self.is_shown = event_filter(options)
        titles = f" {'Warps':>5} {'Occupancy':>9}" if options.occupancy else ""
        self.header = (
            f"{_HEADER}  {_DEVICE:>{self._device_width}}   Context    Stream{titles}"
            f" {'Range':>12}  {LINE_TITLE:<{self._line_width}}  Name"
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
            launch = _launch(event.grid, event.block, _resources(event))
        size = size_text(event.bytes) if event.bytes else _NONE
        rate = rate_text(event.bytes, event.ns) if event.bytes and event.ns else _NONE
        occupancies = ""
        if self._occupancies:
            warps, share = self._occupancies.of(event, process)
            occupancies = f" {warps or _NONE:>5} {f'{share}%' if share else _NONE:>9}"
        device = self._device(event, process) or _NONE
        return (
            f"{time_text(event.start_ns):>8} {time_text(event.ns):>9}{launch}"
            f" {size:>9} {rate:>11}"
            f" {event.source or _NONE:>15} {event.target or _NONE:>15}"
            f"  {device:>{self._device_width}} {event.context:>9} {event.stream:>9}"
            f"{occupancies} {self._range(event) or _NONE:>12}"
            f"  {self._places.of(event):<{self._line_width}}  {name}"
        )

    def fields(self, event: GpuEvent, process: int) -> tuple[str, ...]:
        """Return a row of CSV."""
        launch: tuple[str, ...] = ("",) * 9
        if event.kind == KERNEL:
            launch = tuple(map(str, (*event.grid, *event.block, *_resources(event))))
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
            f"{self._profile.processes[process].pid}",
            *(self._occupancies.of(event, process) if self._occupancies else ()),
        )

    def _device(self, event: GpuEvent, process: int) -> str:
        return self._devices.get((process, event.device), f"({event.device})")

    def _range(self, event: GpuEvent) -> str:
        """Return the payload of the NVTX range around an event's launch, or ""."""
        path = self._places.path(event)
        payload = 0 if path == NO_PATH else self._profile.gpu.paths[path].range
        return f"{payload or ''}"


class _Occupancies:
    """The occupancy of multiprocessors by kernels, by launch."""

    def __init__(self, devices: Iterable[GpuDevice]) -> None:
        self._attributes = {
            (one.process, one.device): dict(one.attributes) for one in devices
        }
        self._cached = lru_cache(maxsize=_CACHED_LAUNCHES)(self._computed)

    def of(self, event: GpuEvent, process: int) -> tuple[str, str]:
        """Return the warps of a block and the occupancy in %, each "" if unknown."""
        if event.kind != KERNEL:
            return "", ""
        return self._cached((process, event.device), event.block, _resources(event))

    def _computed(
        self, device: tuple[int, int], block: Size, resources: _Resources
    ) -> tuple[str, str]:
        attributes = self._attributes.get(device, {})
        threads = block[0] * block[1] * block[2]
        warps = warps_per_block(threads, attributes)
        smem = resources.static_smem + resources.dynamic_smem
        share = occupancy(threads, resources.registers, smem, attributes)
        return f"{warps or ''}", "" if share is None else f"{100 * share:.1f}"


class _Resources(NamedTuple):
    """What a launch takes of a multiprocessor, in the order of the columns."""

    registers: int  # of a thread
    static_smem: int  # shared memory of a block
    dynamic_smem: int


def _resources(event: GpuEvent) -> _Resources:
    return _Resources(
        registers=event.registers,
        static_smem=event.static_smem,
        dynamic_smem=event.dynamic_smem,
    )


@lru_cache(maxsize=_CACHED_LAUNCHES)
def _launch(grid: Size, block: Size, resources: _Resources) -> str:
    """Return the columns from the grid's size to shared memory."""
    sizes = ["({} {} {})".format(*size) for size in (grid, block)]
    return _launch_columns(
        *sizes,
        f"{resources.registers}",
        size_text(resources.static_smem),
        size_text(resources.dynamic_smem),
    )


def _launch_columns(*texts: str) -> str:
    return "".join(f" {text:>{width}}" for text, width in zip(texts, (20, 15, 9, 9, 9)))


_NO_LAUNCH = _launch_columns(*[_NONE] * 5)


class _ApiTrace:
    """Rows of calls; `process` is an index in Profile.processes."""

    csv_titles: tuple[str, ...] = (
        *("Start", "Duration", "Name", "Correlation_ID"),
        *(_THREAD, LINE_TITLE, "Process"),
    )
    csv_units = "ms,us,,,,,"

    def __init__(self, profile: Profile, options: Options) -> None:
        self._profile = profile
        self._places = Places(profile.gpu, options)
        self._line_width = max(len(LINE_TITLE), self._places.width)
        self._names = [printable(thread.name) for thread in profile.threads]
        self._numbered = {
            (thread.process, thread.native_id): name
            for thread, name in zip(profile.threads, self._names)
        }
        self._thread_width = max(map(len, [_THREAD, *self._names]))
        self.header = (
            f"   Start  Duration  {_THREAD:>{self._thread_width}}"
            f"  {LINE_TITLE:<{self._line_width}}  Name"
        )

    def is_shown(self, event: GpuEvent) -> bool:
        """Return whether an event is a call."""
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
            f"{self._profile.processes[process].pid}",
        )

    def _thread(self, event: GpuEvent, process: int) -> str:
        """Return a thread's name, or its number if it has no name.

        CUPTI has the numbers of pthread_self(), not the system's; the call path has
        the system's.
        """
        if event.path != NO_PATH:
            path = self._profile.gpu.paths[event.path]
            if not path.adopted and path.thread != UNKNOWN_THREAD:
                return self._names[path.thread]
        return self._numbered.get((process, event.thread)) or f"{event.thread}"
