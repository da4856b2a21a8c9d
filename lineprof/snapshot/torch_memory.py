"""Blocks of PyTorch's caching allocator by line, from PyTorch's history of them.

Each event of the history has the frames of Python that were open: those of lines of the
profile are its call path. Threads of autograd have no such frames. Their events belong
to the line for which a thread without lines launched work next, or did last, if that
was near.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from lineprof.model.gpu import ALLOC, FREE, NO_PATH, Gpu, GpuDevice, GpuPath, GpuSum
from lineprof.model.gpu_memory import (
    TORCH,
    GpuMemory,
    GpuMemoryPeak,
    GpuMemoryRun,
    GpuMemorySum,
)
from lineprof.model.records import UNKNOWN_THREAD
from lineprof.model.timelines import rows_by_start

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from lineprof.model.records import FunctionStats, Key

    Event = Mapping[str, Any]

_US = 1000  # ns
_MAX_BYTES = 1 << 44  # of a block: the sum of any history fits in 63 bits
_MAX_US = 1 << 53  # of Unix time, in the year 2255
_NEAR_NS = 1_000_000  # from an event without frames to a launch


class TorchBlocks(NamedTuple):
    """PyTorch's history, as `torch.cuda.memory._snapshot` has it."""

    traces: Sequence[Sequence[Event]]  # of each device, in order
    names: Sequence[str]  # of the devices
    start_ns: int  # Unix time of the profiler's start: earlier events are left out
    ahead_ns: int  # of CLOCK_MONOTONIC: what Unix time is more
    max_events: int  # that PyTorch keeps of a device; the first ones are overwritten


def unusable(error: Exception) -> str:
    """Return a sentence on an error of PyTorch's, or in what it returned."""
    why = " ".join(f"{type(error).__name__}: {error}".split())
    return f"PyTorch's memory history cannot be used: {why}"


def _natural(event: Event, name: str, end: int, default: int | None = None) -> int:
    """Return a number of an event; ValueError if it is not one below `end`."""
    number = event[name] if default is None else event.get(name, default)
    if not isinstance(number, int) or not 0 <= number < end:
        raise ValueError(f"a block with {name} {number}")
    return number


class _Lines:
    """The call paths of frames, as indexes of new paths of a profile."""

    def __init__(
        self, functions: Iterable[FunctionStats], given: Callable[[str], str], at: int
    ) -> None:
        """Take the functions, and the name in code objects of a file of the profile.

        `at` is the index of the first new path.
        """
        self.paths: dict[GpuPath, int] = {}
        self._first = at
        self._places: dict[tuple[str, int], list[Key]] = defaultdict(list)
        for function in functions:
            for row in function.rows:
                self._places[given(function.file), row.line].append(function.key)

    def path(self, event: Event) -> int:
        """Return the index of an event's path, NO_PATH if it has no line."""
        lines: dict[tuple[Key, int], None] = {}
        for frame in reversed(event.get("frames") or ()):
            file, line, name = frame["filename"], frame["line"], frame["name"]
            for key in self._places.get((file, line), ()):
                if key[2].rpartition(".")[2] == name.rpartition(".")[2]:
                    lines.pop((key, line), None)
                    lines[key, line] = None
                    break
        if not lines:
            return NO_PATH
        path = GpuPath(thread=UNKNOWN_THREAD, adopted=False, lines=tuple(lines))
        return self.paths.setdefault(path, self._first + len(self.paths))


class _Adopted:
    """The launches of threads without lines, for which lines of other threads stand."""

    def __init__(self, gpu: Gpu, device: int, ahead_ns: int) -> None:
        """Take those of a device, by CUDA's number."""
        self._ahead_ns = ahead_ns
        found = []
        for timeline in gpu.timelines:
            path_0 = timeline.first_path - 1  # the columns count paths from 1
            for on, launched, path in rows_by_start(
                timeline, ("device", "launched", "path")
            ):
                if on == device and launched and path:
                    number = path_0 + path
                    if gpu.paths[number].adopted:
                        found.append((launched, number))
        found.sort()
        self._times = [launched for launched, _ in found]
        self._paths = [path for _, path in found]

    def path(self, time_us: int) -> int:
        """Return the path of the next launch, or of the last; NO_PATH if none is near.

        `time_us` is Unix time.
        """
        at_ns = time_us * _US - self._ahead_ns
        after = bisect_left(self._times, at_ns)
        for place in (after, after - 1):
            known = 0 <= place < len(self._times)
            if known and abs(self._times[place] - at_ns) <= _NEAR_NS:
                return self._paths[place]
        return NO_PATH


class _Device:
    """The blocks of one device."""

    def __init__(
        self,
        events: Iterable[Event],
        lines: _Lines,
        adopted: _Adopted,
        start_ns: int,
    ) -> None:
        self.allocs: dict[int, list[int]] = defaultdict(list)  # sizes, by path
        self.frees: dict[int, list[int]] = defaultdict(list)  # by path that freed
        self.freed: dict[int, int] = defaultdict(int)  # bytes, by path that allocated
        self.unknown: list[int] = []  # sizes of freed blocks from before
        self.peak_bytes, self.peak_ns = 0, 0
        self.at_peak: dict[int, int] = defaultdict(int)  # bytes, by path
        self._live: dict[int, tuple[int, int]] = {}  # path and size, by address
        self._size = 0  # bytes, of all these
        self._changes: list[tuple[int, int]] = []  # path, and how many bytes more
        self._until_peak = 0  # so many of the changes
        start_us = start_ns // _US
        for event in events:
            time_us = _natural(event, "time_us", _MAX_US, start_us)
            if time_us < start_us:
                continue
            if event["action"] not in ("alloc", "free_requested"):
                continue
            path = lines.path(event) if event.get("frames") else adopted.path(time_us)
            if event["action"] == "alloc":
                self._alloc(event, path, time_us)
            else:
                self._free(event, path)
        for path, change in self._changes[: self._until_peak]:
            self.at_peak[path] += change

    def _alloc(self, event: Event, path: int, time_us: int) -> None:
        size = _natural(event, "size", _MAX_BYTES)
        self._live[event["addr"]] = path, size
        self.allocs[path].append(size)
        self._change(path, size)
        if self._size > self.peak_bytes:
            self.peak_bytes = self._size
            self.peak_ns = time_us * _US
            self._until_peak = len(self._changes)

    def _free(self, event: Event, path: int) -> None:
        freed = _natural(event, "size", _MAX_BYTES)
        self.frees[path].append(freed)
        block = self._live.pop(event["addr"], None)
        if block is None:
            self.unknown.append(freed)
            return
        owner, size = block
        self.freed[owner] += size
        self._change(owner, -size)

    def _change(self, path: int, more: int) -> None:
        self._changes.append((path, more))
        self._size += more

    def sums(self, device: int) -> Iterator[GpuSum]:
        """Yield what each path allocated and freed, as the driver's records have it."""
        for kind, by_path in ((ALLOC, self.allocs), (FREE, self.frees)):
            for path, sizes in by_path.items():
                yield GpuSum(
                    path=path,
                    origin=NO_PATH,
                    kind=kind,
                    name=TORCH,
                    device=device,
                    count=len(sizes),
                    ns=0,
                    min_ns=0,
                    max_ns=0,
                    bytes=sum(sizes),
                )

    def memory_sums(self, device: int) -> Iterator[GpuMemorySum]:
        """Yield what each path has live."""
        for path, sizes in self.allocs.items():
            yield GpuMemorySum(
                path=path,
                device=device,
                pool=TORCH,
                allocs=len(sizes),
                alloc_bytes=sum(sizes),
                freed_bytes=self.freed[path],
                peak_bytes=self.at_peak[path],
            )


def with_torch(
    gpu: Gpu,
    taken: TorchBlocks,
    functions: Iterable[FunctionStats],
    given: Callable[[str], str],
) -> Gpu:
    """Return GPU data of a process with the blocks of PyTorch.

    `given` returns the name in code objects of a file of the profile.
    """
    lines = _Lines(functions, given, len(gpu.paths))
    devices = list(gpu.devices)
    places = {one.device: place for place, one in enumerate(devices)}
    sums, parts = list(gpu.sums), list(gpu.memory.sums)
    peaks = list(gpu.memory.peaks)
    [run] = gpu.memory.runs or (GpuMemoryRun(process=0),)
    for number, (events, name) in enumerate(zip(taken.traces, taken.names)):
        if not events:
            continue
        if number not in places:
            places[number] = len(devices)
            devices.append(
                GpuDevice(
                    process=0, device=number, name=name, busy_ns=0, busy_exact=True
                )
            )
        place = places[number]
        adopted = _Adopted(gpu, number, taken.ahead_ns)
        found = _Device(events, lines, adopted, taken.start_ns)
        sums += found.sums(place)
        parts += found.memory_sums(place)
        peaks.append(
            GpuMemoryPeak(
                process=0,
                device=place,
                pool=TORCH,
                peak_bytes=found.peak_bytes,
                peak_ns=max(0, found.peak_ns - taken.start_ns),
            )
        )
        run = run._replace(
            torch_full=run.torch_full or len(events) >= taken.max_events,
            unknown_frees=run.unknown_frees + len(found.unknown),
            unknown_bytes=run.unknown_bytes + sum(found.unknown),
        )
    return gpu._replace(
        paths=(*gpu.paths, *lines.paths),
        sums=tuple(sums),
        devices=tuple(devices),
        memory=GpuMemory(sums=tuple(parts), peaks=tuple(peaks), runs=(run,)),
    )
