"""What a GPU did, as frozen values: sums by call path, devices, a timeline.

Times are integers in nanoseconds (ns), sizes in bytes; nothing here touches a
file, a clock or a device.
"""

from __future__ import annotations

from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lineprof.gpu_timeline import Timeline
    from lineprof.records import Key

NO_PATH = -1  # launched outside of any line of the profile, or not known where
NO_DEVICE = -1  # of waiting and of API calls: they are the host's

KERNEL, MEMCPY, MEMSET, WAIT = "kernel", "memcpy", "memset", "wait"
RUNTIME, DRIVER, MIGRATION = "runtime", "driver", "migration"
ALLOC, FREE, GRAPH = "alloc", "free", "graph"

# By the number that the core gives a kind; what a newer one knows is UNKNOWN.
KINDS = (
    *("", KERNEL, MEMCPY, MEMSET, WAIT, RUNTIME),
    *(DRIVER, MIGRATION, ALLOC, FREE, GRAPH),
)
UNKNOWN = "?"

# Names of copies, in the order in which they are shown.
DIRECTIONS = (
    *("HtoD", "DtoH", "DtoD", "PtoP", "HtoH"),
    *("HtoA", "AtoH", "AtoA", "AtoD", "DtoA", UNKNOWN),
)

# What a copy reads or writes, by CUPTI's number (CUpti_ActivityMemoryKind).
MEMORIES = (
    *("Unknown", "Pageable", "Pinned", "Device", "Array"),
    *("Managed", "Device Static", "Managed Static"),
)


class GpuPath(NamedTuple):
    """The lines that were open on a thread when it launched something.

    One that was open several times stands once, where it was innermost.
    """

    thread: int  # its index in Profile.threads, or UNKNOWN_THREAD
    adopted: bool  # launched by a thread without lines: these are another's
    lines: tuple[tuple[Key, int], ...]  # (function, line), the outermost first
    range: int = 0  # the payload of the innermost line's NVTX range; 0: unknown


class GpuSum(NamedTuple):
    """All records of one kind, name and device from one path, summed."""

    path: int  # its index in Gpu.paths, or NO_PATH
    origin: int  # where the graph it is part of was captured: the same, or NO_PATH
    kind: str  # one of KINDS
    name: str  # of the kernel, as the compiler has it; of the API; a direction
    device: int  # its index in Gpu.devices, or NO_DEVICE
    count: int  # type: ignore[assignment]  # tuple.count, which nobody needs
    ns: int  # of a wait: how long the thread was blocked
    min_ns: int
    max_ns: int
    bytes: int = 0


class GpuDevice(NamedTuple):
    """One GPU as one process saw it."""

    process: int  # its index in Profile.processes
    device: int  # CUDA's number in that process
    name: str
    busy_ns: int  # time in which it did anything: overlaps count once
    busy_exact: bool  # else it was busy for busy_ns or more
    attributes: tuple[tuple[str, int], ...] = ()  # its limits, by name


class GpuRun(NamedTuple):
    """How a process' GPU work was measured, and what was lost."""

    process: int  # its index in Profile.processes
    backend: str  # cupti | nvtx | none
    reason: str  # for that, in a sentence
    present: bool  # there is a GPU
    version: int = 0  # of CUPTI, as it gives it
    dropped: int = 0  # records that CUPTI had no room for
    invalid: int = 0  # records without times
    outstanding: int = 0  # launches whose record did not come
    left_out: int = 0  # records that are in the sums, but not in the timeline


class GpuEvent(NamedTuple):
    """One record of a timeline."""

    kind: str
    name: str
    start_ns: int  # since the process began to measure
    ns: int
    path: int  # its index in Gpu.paths, or NO_PATH
    origin: int  # the same
    device: int  # CUDA's number, or NO_DEVICE
    context: int
    stream: int
    correlation: int
    bytes: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    registers: int  # of each thread
    static_smem: int  # bytes of shared memory of each block
    dynamic_smem: int
    source: str  # one of MEMORIES; "" where nothing is read
    target: str
    thread: int  # native id of the calling thread; 0 on a device


class Batch(NamedTuple):
    """Up to 65,536 events as columns, each packed by `lineprof.gpu_timeline`."""

    events: int
    columns: tuple[tuple[str, bytes], ...]  # one that is left out holds zeros


class Gpu(NamedTuple):
    """All that a profile knows of GPUs; without any, all is empty."""

    paths: tuple[GpuPath, ...] = ()
    sums: tuple[GpuSum, ...] = ()
    devices: tuple[GpuDevice, ...] = ()
    runs: tuple[GpuRun, ...] = ()
    timelines: tuple[Timeline, ...] = ()


NO_GPU = Gpu()
