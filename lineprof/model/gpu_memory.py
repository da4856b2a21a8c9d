"""Memory of devices in a profile: what is live of it, and was at the peak.

A block belongs to the call path that allocated it, whoever frees it. Each pool of each
device has a peak of its own; the parts of all paths add up to it.

Sizes are in bytes, times in nanoseconds (ns).
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from lineprof.model.relation import (
    DEVICE,
    PATH,
    PROCESS,
    Relation,
    naturals,
    others,
    refers,
    summed,
)

TORCH = "torch"  # blocks of PyTorch's caching allocator, by its own history

POOL = "pool"  # from a pool of the driver, as by cudaMallocAsync

# By CUPTI's number (CUpti_ActivityMemoryKind); the core gives 15 to blocks of a pool.
POOLS = {
    1: "pageable",
    2: "pinned",
    3: "device",
    4: "array",
    5: "managed",
    6: "device static",
    7: "managed static",
    15: POOL,
}


class GpuMemorySum(NamedTuple):
    """All blocks of one pool that were allocated on one call path.

    What was allocated and not freed was live at the end.
    """

    path: int  # its index in Gpu.paths, or NO_PATH
    device: int  # its index in Gpu.devices, or NO_DEVICE
    pool: str  # one of POOLS, TORCH, or a later CUPTI's
    allocs: int
    alloc_bytes: int
    freed_bytes: int  # the part that was freed, by any line or thread
    peak_bytes: int  # the part that was live at the peak of the pool

    @property
    def live_bytes(self) -> int:
        """Bytes that were not freed until the end."""
        return self.alloc_bytes - self.freed_bytes


GPU_MEMORY_SUMS = Relation(
    "gpu_memory_sums",
    GpuMemorySum,
    "a sum of GPU memory",
    (
        refers(PATH),
        refers(DEVICE),
        *others(str, "pool"),
        *summed("allocs", "alloc_bytes", "freed_bytes", "peak_bytes"),
    ),
)


class GpuMemoryPeak(NamedTuple):
    """The moment when a pool of a device had the most live bytes of a process."""

    process: int  # its index in Profile.processes
    device: int  # its index in Gpu.devices, or NO_DEVICE
    pool: str
    peak_bytes: int
    peak_ns: int  # since the start of recording


GPU_MEMORY_PEAKS = Relation(
    "gpu_memory_peaks",
    GpuMemoryPeak,
    "a peak of GPU memory",
    (
        *(refers(PROCESS), refers(DEVICE), *others(str, "pool")),
        *naturals("peak_bytes", "peak_ns"),
    ),
)


class GpuMemoryRun(NamedTuple):
    """Recording of one process' memory of devices, and what it lacks."""

    process: int  # its index in Profile.processes
    side_bytes: int = 0  # lineprof's own tables of live blocks
    unknown_frees: int = 0  # of blocks that were there before recording began
    unknown_bytes: int = 0
    late: int = 0  # records that came too late for their order: peaks may be inexact
    lost: int = 0  # blocks that there was no room to keep track of
    torch_full: bool = False  # PyTorch's history: its first events are overwritten
    is_cut: bool = False  # many profilers began later: live and peak are unknown


GPU_MEMORY_RUNS = Relation(
    "gpu_memory_runs",
    GpuMemoryRun,
    "a run's GPU memory",
    (
        refers(PROCESS),
        *naturals("side_bytes", "unknown_frees", "unknown_bytes"),
        *naturals("late", "lost"),
        *others(bool, "torch_full", "is_cut"),
    ),
)


class GpuMemory(NamedTuple):
    """All data on the memory of devices; by default it was not recorded."""

    sums: tuple[GpuMemorySum, ...] = ()
    peaks: tuple[GpuMemoryPeak, ...] = ()
    runs: tuple[GpuMemoryRun, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether live and peak bytes are known; perhaps nothing was allocated."""
        return bool(self.sums) or any(not run.is_cut for run in self.runs)

    @property
    def torch_devices(self) -> frozenset[int]:
        """Devices whose numbers by line are those of PyTorch's blocks alone.

        What PyTorch got from the driver has the same bytes once more.
        """
        return frozenset(one.device for one in self.sums if one.pool == TORCH)

    @property
    def shown(self) -> list[GpuMemorySum]:
        """The sums that the numbers of lines have."""
        torch = self.torch_devices
        return [one for one in self.sums if is_in_lines(one.pool, one.device, torch)]


NO_GPU_MEMORY = GpuMemory()


def is_in_lines(pool: str, device: int, torch_devices: frozenset[int]) -> bool:
    """Return whether the numbers of lines have a pool of a device.

    `torch_devices` are those of the profile's `GpuMemory`.
    """
    return (pool == TORCH) == (device in torch_devices)


class GpuMemoryPool(NamedTuple):
    """One pool of one device: its peaks, and what each call path has of it."""

    device: int
    pool: str
    peaks: tuple[GpuMemoryPeak, ...]  # several if ranks were added up
    sums: tuple[GpuMemorySum, ...]  # the largest part of the peak first
    in_lines: bool  # the numbers of lines have it

    @property
    def peak_bytes(self) -> int:
        """Bytes at the peak; of several, each at its own."""
        return sum(one.peak_bytes for one in self.peaks)

    @property
    def live_bytes(self) -> int:
        """Bytes that were live at the end."""
        return sum(one.live_bytes for one in self.sums)


def largest_peak(memory: GpuMemory) -> int:
    """Return the largest peak (bytes) of a pool of one process; 0 if there is none."""
    return max((one.peak_bytes for one in memory.peaks), default=0)


def memory_pools(memory: GpuMemory) -> list[GpuMemoryPool]:
    """Return the pools, by device, those with the greatest peak first."""
    peaks: dict[tuple[int, str], list[GpuMemoryPeak]] = {}
    sums: dict[tuple[int, str], list[GpuMemorySum]] = defaultdict(list)
    for peak in memory.peaks:
        peaks.setdefault((peak.device, peak.pool), []).append(peak)
    for one in memory.sums:
        sums[one.device, one.pool].append(one)
    torch = memory.torch_devices
    found = [
        GpuMemoryPool(
            device=device,
            pool=pool,
            peaks=tuple(of_pool),
            sums=tuple(sorted(sums[device, pool], key=lambda one: -one.peak_bytes)),
            in_lines=is_in_lines(pool, device, torch),
        )
        for (device, pool), of_pool in peaks.items()
    ]
    return sorted(found, key=lambda one: (one.device, -one.peak_bytes, one.pool))
