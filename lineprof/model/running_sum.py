"""Sum of many profiles that are added one by one, in the memory of one of them.

Threads, timelines and curves of memory are left out: of each rank its sums per line are
kept (see `rank_lines`). `merge` is the sum of a few profiles, with all that they hold.
"""

from __future__ import annotations

from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

from lineprof.model.gpu import GPU_DEVICES, GPU_RUNS, GPU_SUMS, Gpu, GpuPath, GpuSum
from lineprof.model.gpu_memory import (
    GPU_MEMORY_PEAKS,
    GPU_MEMORY_RUNS,
    GPU_MEMORY_SUMS,
    GpuMemory,
)
from lineprof.model.host_memory import MEMORY_RUNS, MEMORY_SUMS, HostMemory
from lineprof.model.merge import CallSum, SourceSum, moved_by
from lineprof.model.profile import Profile
from lineprof.model.rank_lines import Layout, RanksBuilder, add_profile
from lineprof.model.records import (
    CUTS,
    LINE_NUMBERS,
    OWN_TIMES,
    UNKNOWN_THREAD,
    WAITS,
    FunctionStats,
    ThreadLine,
    maker_of,
    ranked,
)
from lineprof.model.relation import (
    DEVICE,
    NONE,
    PATH,
    PROCESS,
    THREAD,
    RecordSum,
    greatest,
    least,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lineprof.model.gpu import GpuDevice, GpuRun
    from lineprof.model.gpu_memory import GpuMemoryPeak, GpuMemoryRun, GpuMemorySum
    from lineprof.model.host_memory import MemoryPath, MemoryRun, MemorySum
    from lineprof.model.rank_lines import Place
    from lineprof.model.records import (
        CellColumns,
        Cut,
        Key,
        LineBreakdown,
        Process,
        Wait,
    )
    from lineprof.model.relation import Places

_MAX_WARNINGS = 100


def _no_thread(_index: int) -> int:
    """Return UNKNOWN_THREAD for any thread, as the sum keeps no threads."""
    return UNKNOWN_THREAD


_NO_THREADS: Places = {THREAD: _no_thread}


class LeftOut(NamedTuple):
    """Parts of profiles that a running sum does not keep."""

    threads: int
    timelines: int


class RunningSum:
    """The sum of the profiles that were added so far."""

    def __init__(self) -> None:
        self._unit = 0.0
        self._places: dict[Place, int] = {}
        self._layout: Layout | None = None
        self._indexes: list[int] = []  # of the lines of the layout in `_places`
        self._lines = _LineSums()
        self._calls: dict[Key, int] = {}  # of each function
        self._recursive: dict[Key, list[int]] = {}  # total ns, and if any recursed
        self._sources = SourceSum()
        self._warnings: dict[str, None] = {}
        self._processes: list[Process] = []
        self._cuts: list[Cut] = []
        self._tree = CallSum()
        self._waits: RecordSum[Wait] = RecordSum(WAITS)
        self._breakdowns: RecordSum[LineBreakdown] = RecordSum(OWN_TIMES)
        self._gpu = _GpuSums()
        self._memory = _MemorySums()
        self._ranks = RanksBuilder()
        self._threads = self._timelines = 0

    @property
    def left_out(self) -> LeftOut:
        """The number of threads and timelines that the sum does not keep."""
        return LeftOut(threads=self._threads, timelines=self._timelines)

    @property
    def warnings(self) -> dict[str, None]:
        """The warnings of the sum: others may be added."""
        return self._warnings

    def add(self, profile: Profile, cells: CellColumns) -> None:
        """Add a profile; its lines are in `cells`, and may be missing in `profile`."""
        self._unit = max(self._unit, profile.unit)
        if self._layout is None or not self._layout.fits(cells):
            self._layout, known = Layout(cells), self._places
            lines = self._layout.places[: len(cells.line)]
            self._indexes = [known.setdefault(place, len(known)) for place in lines]
        self._lines.add(self._indexes, len(self._places), cells)
        self._add_functions(profile, cells)
        add_profile(self._ranks, profile, cells, self._layout)
        self._sources.add(profile.sources)
        self._warnings.update(dict.fromkeys(profile.warnings))
        processes: Places = {PROCESS: moved_by(len(self._processes))}
        self._cuts += CUTS.moved(profile.cuts, processes)
        self._gpu.add(profile.gpu, processes)
        self._memory.add(profile.memory, processes)
        self._processes += ranked(profile.processes)
        self._tree.add(profile.calls, _NO_THREADS)
        self._waits.add(WAITS.moved(profile.waits, _NO_THREADS))
        self._breakdowns.add(OWN_TIMES.moved(profile.breakdowns, _NO_THREADS))
        self._threads += len(profile.threads)
        self._timelines += len(profile.traces) + len(profile.gpu.timelines)
        self._timelines += len(profile.memory.curves)

    def _add_functions(self, profile: Profile, cells: CellColumns) -> None:
        totals: dict[int, int] = {}
        if any(function.recursive_ns is not None for function in profile.functions):
            for function, ns in zip(cells.function, cells.time_ns):
                totals[function] = totals.get(function, 0) + ns
        indexes = {key: index for index, key in enumerate(cells.keys)}
        for one in profile.functions:
            key = one.key
            self._calls[key] = self._calls.get(key, 0) + one.calls
            if one.recursive_ns is not None:
                lines_ns = totals.get(indexes.get(key, -1), 0)
                numbers = self._recursive.setdefault(key, [0, 0])
                numbers[0] += one.recursive_ns
                numbers[1] += lines_ns

    def profile(self) -> Profile:
        """Return the sum as a profile."""
        lines: dict[Key, list[ThreadLine]] = {key: [] for key in self._calls}
        make = maker_of(ThreadLine, _FIELDS)
        for (key, line), numbers in zip(self._places, self._lines.rows()):
            lines[key].append(make((line, UNKNOWN_THREAD, *numbers)))
        functions = []
        for key, calls in self._calls.items():
            file, first_line, name = key
            recursive_ns = None
            if key in self._recursive:
                once_ns, lines_ns = self._recursive[key]
                rest_ns = sum(one.time_ns for one in lines[key]) - lines_ns
                recursive_ns = once_ns + rest_ns
            functions.append(
                FunctionStats(
                    file=file,
                    name=name,
                    line=first_line,
                    thread_lines=tuple(lines[key]),
                    calls=calls,
                    recursive_ns=recursive_ns,
                )
            )
        warnings = list(self._warnings)
        if len(warnings) > _MAX_WARNINGS:
            more = len(warnings) - _MAX_WARNINGS
            warnings[_MAX_WARNINGS:] = [f"{more} more warnings were left out"]
        warnings += self._sources.warnings()
        return Profile.from_functions(
            functions,
            processes=self._processes,
            sources=self._sources.texts,
            warnings=warnings,
            unit=self._unit,
            gpu=self._gpu.gpu(),
            calls=self._tree.tree(),
            waits=self._waits.records,
            breakdowns=self._breakdowns.records,
            cuts=self._cuts,
            ranks=self._ranks.ranks,
            memory=self._memory.memory(),
        )


_FIELDS = ("line", "thread", *LINE_NUMBERS)

# By how numbers are added up: one that changes no sum, for lines that a file lacks or
# does not know it of; the sum of two; the sum of many.
_WAYS: dict[Any, tuple[int, Any, Any]] = {
    sum: (0, add, sum),
    least: (1 << 64, min, min),
    greatest: (-1, max, max),
}

_FILES_AT_ONCE = 32


def _numbers(cells: CellColumns, name: str, unknown: int) -> Sequence[int]:
    """Return one number of each line of a file."""
    numbers: Sequence[int | None] = getattr(cells, name)
    if None not in numbers:
        return numbers  # type: ignore[return-value]
    return [unknown if number is None else number for number in numbers]


class _LineSums:
    """Sums of lines, as columns."""

    def __init__(self) -> None:
        self._sums: dict[str, list[int]] = {name: [] for name in LINE_NUMBERS}
        self._count = 0
        self._waiting: list[CellColumns] = []  # with the lines of this, in order

    def add(self, places: list[int], count: int, cells: CellColumns) -> None:
        """Add lines, of which `places` has the index of each, below `count`."""
        if places == list(range(count)) and count == self._count:
            self._waiting.append(cells)  # the usual case, and fast
            if len(self._waiting) >= _FILES_AT_ONCE:
                self._add_waiting()
            return
        self._add_waiting()
        for name, how in LINE_NUMBERS.items():
            unknown, sum_of, _ = _WAYS[how]
            sums = self._sums[name]
            sums += [unknown] * (count - len(sums))
            for place, number in zip(places, _numbers(cells, name, unknown)):
                sums[place] = sum_of(sums[place], number)
        self._count = count

    def _add_waiting(self) -> None:
        """Add the columns of several files at once."""
        files, self._waiting = self._waiting, []
        for name, how in LINE_NUMBERS.items() if files else ():
            unknown, _, sum_of = _WAYS[how]
            columns = [_numbers(cells, name, unknown) for cells in files]
            self._sums[name] = list(map(sum_of, zip(self._sums[name], *columns)))

    def rows(self) -> Iterable[tuple[int | None, ...]]:
        """Return the numbers of each line, in the order of `_FIELDS`."""
        self._add_waiting()
        columns: list[list[int | None]] = []
        for name, how in LINE_NUMBERS.items():
            unknown, *_ = _WAYS[how]
            sums = self._sums[name]
            if not unknown:  # a sum of 0 is known
                columns.append([*sums])
                continue
            columns.append([None if one == unknown else one for one in sums])
        return zip(*columns)


class _GpuSums:
    """Sums of GPU data, without threads and timelines."""

    def __init__(self) -> None:
        self._paths: dict[GpuPath, int] = {}
        self._sums: RecordSum[GpuSum] = RecordSum(GPU_SUMS)
        self._devices: list[GpuDevice] = []
        self._runs: list[GpuRun] = []
        self._memory: RecordSum[GpuMemorySum] = RecordSum(GPU_MEMORY_SUMS)
        self._peaks: list[GpuMemoryPeak] = []
        self._memory_runs: list[GpuMemoryRun] = []
        self._first: dict[tuple[int, str], int] = {}  # device by number and name

    def add(self, gpu: Gpu, processes: Places) -> None:
        """Add GPU data; `processes` has the places of their processes."""
        paths = [
            self._paths.setdefault(
                one._replace(thread=UNKNOWN_THREAD, range=0), len(self._paths)
            )
            for one in gpu.paths
        ]
        devices = []
        for index, device in enumerate(gpu.devices, len(self._devices)):
            devices.append(self._first.setdefault((device.device, device.name), index))
        self._devices += GPU_DEVICES.moved(gpu.devices, processes)
        self._runs += GPU_RUNS.moved(gpu.runs, processes)
        places = {PATH: paths.__getitem__, DEVICE: devices.__getitem__}
        self._sums.add(GPU_SUMS.moved(gpu.sums, places))
        self._memory.add(GPU_MEMORY_SUMS.moved(gpu.memory.sums, places))
        self._peaks += GPU_MEMORY_PEAKS.moved(gpu.memory.peaks, {**processes, **places})
        self._memory_runs += GPU_MEMORY_RUNS.moved(gpu.memory.runs, processes)

    def gpu(self) -> Gpu:
        """Return the sum of all GPU data."""
        return Gpu(
            paths=tuple(self._paths),
            sums=self._sums.records,
            devices=tuple(self._devices),
            runs=tuple(self._runs),
            memory=GpuMemory(
                sums=self._memory.records,
                peaks=tuple(self._peaks),
                runs=tuple(self._memory_runs),
            ),
        )


class _MemorySums:
    """Sums of memory by path, all processes together, and the runs of each."""

    def __init__(self) -> None:
        self._paths: dict[MemoryPath, int] = {}
        self._sums: RecordSum[MemorySum] = RecordSum(MEMORY_SUMS)
        self._runs: list[MemoryRun] = []

    def add(self, memory: HostMemory, processes: Places) -> None:
        """Add memory data; `processes` has the places of their processes."""
        paths = [
            self._paths.setdefault(one._replace(process=NONE), len(self._paths))
            for one in memory.paths
        ]
        self._sums.add(MEMORY_SUMS.moved(memory.sums, {PATH: paths.__getitem__}))
        self._runs += MEMORY_RUNS.moved(memory.runs, processes)

    def memory(self) -> HostMemory:
        """Return the sum of all memory data."""
        return HostMemory(
            paths=tuple(self._paths), sums=self._sums.records, runs=tuple(self._runs)
        )
