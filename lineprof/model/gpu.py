"""GPU data of a profile: sums by call path, devices, and numbers of lines.

A sum counts once for each distinct line on its call path, so that recursion is safe,
and once for each function on it. What no line launched is `unattributed`: that and
the lines' `self_ns` always add up to the total of the devices.

Times are integers in nanoseconds (ns), sizes in bytes.
"""

from __future__ import annotations

from collections import defaultdict
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from lineprof.errors import LineprofError
from lineprof.model.gpu_memory import NO_GPU_MEMORY, GpuMemory, is_in_lines
from lineprof.model.relation import (
    DEVICE,
    NAME,
    NONE,
    PATH,
    PROCESS,
    THREAD,
    Field,
    Relation,
    naturals,
    others,
    refers,
    summed,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import TypeVar

    from lineprof.model.records import Key
    from lineprof.model.timelines import Timeline, Trace

    T = TypeVar("T")
    K = TypeVar("K", Key, tuple[Key, int], tuple[str, str], str)
    Summed = TypeVar("Summed", "GpuCopies", "GpuKernel")

    # A pattern of a mangled kernel name, or a function that tells whether one counts.
    KernelFilter = str | Callable[[str], bool] | None

    Copies = tuple["GpuCopies", ...]

    Kernels = tuple["GpuKernel", ...]

NO_PATH = NONE  # launched outside of any line of the profile, or by an unknown line

NO_DEVICE = NONE  # of waits and API calls, which are the host's

KERNEL, MEMCPY, MEMSET, WAIT = "kernel", "memcpy", "memset", "wait"

RUNTIME, DRIVER, MIGRATION = "runtime", "driver", "migration"

ALLOC, FREE, GRAPH, LOAD = "alloc", "free", "graph", "load"

# By the number that the core gives a kind; kinds of a newer core are UNKNOWN.
KINDS = (
    *("", KERNEL, MEMCPY, MEMSET, WAIT, RUNTIME),
    *(DRIVER, MIGRATION, ALLOC, FREE, GRAPH, LOAD),
)

UNKNOWN = "?"

_MAX_KERNELS_OF_LINES = 2_000_000  # for all lines together: 1 s, 300 MB

GPU_TIME_KINDS = frozenset({KERNEL, MEMSET, GRAPH})  # copies are apart
BUSY_KINDS = GPU_TIME_KINDS | {MEMCPY}  # that busy time counts
_NO_WORK = 0.01  # max share of calls without a record that need not have done work

# Directions of copies, in the order in which they are shown.
DIRECTIONS = (
    *("HtoD", "DtoH", "DtoD", "PtoP", "HtoH"),
    *("HtoA", "AtoH", "AtoA", "AtoD", "DtoA", UNKNOWN),
)

# Kinds of memory by CUPTI's number (CUpti_ActivityMemoryKind).
MEMORIES = (
    *("Unknown", "Pageable", "Pinned", "Device", "Array"),
    *("Managed", "Device Static", "Managed Static"),
)


# Records.


class GpuPath(NamedTuple):
    """Call path of a launch: the lines that were open on its thread.

    A line that was open several times stands once, where it was innermost.
    """

    thread: int  # its index in Profile.threads, or UNKNOWN_THREAD
    adopted: bool  # launched by a thread without lines: these are of another thread
    lines: tuple[tuple[Key, int], ...]  # (function, line), the outermost first
    range: int = 0  # the payload of the innermost line's NVTX range; 0 if unknown


GPU_PATHS = Relation(
    "gpu_paths",
    GpuPath,
    "a path",
    (
        refers(THREAD),
        *others(bool, "adopted"),
        Field("range", column="nvtx_payload", natural=True),
    ),
)


class GpuSum(NamedTuple):
    """All records of one kind, name and device from one call path, summed."""

    path: int  # its index in Gpu.paths, or NO_PATH
    origin: int  # of a graph: index in Gpu.paths of where it was captured, or NO_PATH
    kind: str  # one of KINDS
    name: str  # of a kernel, mangled; of an API call; the direction of a copy
    device: int  # its index in Gpu.devices, or NO_DEVICE
    count: int  # type: ignore[assignment]  # hides tuple.count
    ns: int  # of a wait: how long the thread was blocked
    min_ns: int
    max_ns: int
    bytes: int = 0


GPU_SUMS = Relation(
    "gpu_sums",
    GpuSum,
    "a sum",
    (
        refers(PATH),
        refers(PATH, "origin"),
        *others(str, "kind"),
        refers(NAME),
        refers(DEVICE),
        *summed("count", "ns"),
        *naturals("min_ns", add=min),
        *naturals("max_ns", add=max),
        *summed("bytes"),
    ),
)


class GpuDevice(NamedTuple):
    """One GPU as one process saw it."""

    process: int  # its index in Profile.processes
    device: int  # CUDA's number in that process
    name: str
    busy_ns: int  # while it did anything: overlaps count once
    busy_exact: bool  # if False, it was busy for busy_ns or longer
    attributes: tuple[tuple[str, int], ...] = ()  # its limits, by name


GPU_DEVICES = Relation(
    "gpu_devices",
    GpuDevice,
    "a device",
    (
        refers(PROCESS),
        *naturals("device"),
        *others(str, "name"),
        *naturals("busy_ns"),
        *others(bool, "busy_exact"),
        *others(str, "attributes"),  # a JSON object
    ),
)


class GpuRun(NamedTuple):
    """Measurement of one process' GPU work, and the records that were lost."""

    process: int  # its index in Profile.processes
    backend: str  # cupti | nvtx | none
    reason: str  # for the choice of the backend, in a sentence
    present: bool  # there is a GPU
    version: int = 0  # of CUPTI, as CUPTI gives it
    dropped: int = 0  # records that CUPTI had no room for
    invalid: int = 0  # records without times
    outstanding: int = 0  # launches whose record did not come
    left_out: int = 0  # records in the sums that the timeline had no room for
    realigned: int = 0  # records with times of another clock, which were put right
    unfinished: int = 0  # records of work that still ran at the end
    undated: int = 0  # records in the sums alone: their times are of no known clock
    # From when on the timeline lacks records (ns on CLOCK_MONOTONIC); 0 if it is
    # complete, None if unknown.
    cut_ns: int | None = None
    foreign_buffers: int = 0  # of another tool, which CUPTI gave to lineprof
    taken: int = 0  # the outstanding ones that another tool seems to have taken


# Counts of a run since its profiler began: of records, and of what took them.
RECORD_COUNTS = (
    *("dropped", "invalid", "outstanding", "left_out", "realigned", "undated"),
    "unfinished",
)
COUNTS = (*RECORD_COUNTS, "foreign_buffers", "taken")

GPU_RUNS = Relation(
    "gpu_runs",
    GpuRun,
    "a run",
    (
        refers(PROCESS),
        *others(str, "backend", "reason"),
        *others(bool, "present"),
        *naturals("version", *COUNTS[:4]),
        *naturals(*COUNTS[4:7], optional=True, added=True, absent=0),
        *naturals("cut_ns", optional=True, added=True),
        *naturals(*COUNTS[7:], optional=True, added=True, absent=0),
    ),
)


class Gpu(NamedTuple):
    """All GPU data of a profile; the default is none."""

    paths: tuple[GpuPath, ...] = ()
    sums: tuple[GpuSum, ...] = ()
    devices: tuple[GpuDevice, ...] = ()
    runs: tuple[GpuRun, ...] = ()
    timelines: tuple[Timeline, ...] = ()
    # Long slices of processes without a timeline of their lines, for idle times.
    slices: tuple[Trace, ...] = ()
    memory: GpuMemory = NO_GPU_MEMORY


NO_GPU = Gpu()


# Numbers of a line or function.


class GpuCopies(NamedTuple):
    """All copies, or migrations, in one direction."""

    direction: str  # one of DIRECTIONS, or a later CUPTI's
    count: int  # type: ignore[assignment]  # hides tuple.count
    ns: int
    bytes: int

    def plus(self, other: GpuCopies) -> GpuCopies:
        """Return the copies of both, which have one direction."""
        return GpuCopies(
            direction=self.direction,
            count=self.count + other.count,
            ns=self.ns + other.ns,
            bytes=self.bytes + other.bytes,
        )


class GpuNumbers(NamedTuple):
    """GPU work of one line or function."""

    gpu_ns: int = 0  # of kernels, memsets and whole graphs; copies are apart
    self_ns: int = 0  # the part of gpu_ns that no line further in launched
    adopted_ns: int = 0  # the part of gpu_ns that threads without lines launched
    kernels: int = 0
    memset_ns: int = 0
    memsets: int = 0
    copies: Copies = ()  # in the order of DIRECTIONS
    wait_ns: int = 0  # while the thread was blocked until the device was done
    waits: int = 0
    alloc_bytes: int = 0
    free_bytes: int = 0  # freed by it, whoever allocated
    live_bytes: int = 0  # allocated by it and live at the end, whoever frees,
    peak_bytes: int = 0  # and at the peak; 0 if that is not known
    max_kernel_ns: int = 0
    migrations: Copies = ()  # of managed memory, in the same form
    load_ns: int = 0  # of calls that loaded modules or created a context; no waits

    @property
    def memcpy_ns(self) -> int:
        """Time of all copies (ns)."""
        return sum(one.ns for one in self.copies)

    @property
    def memcpy_bytes(self) -> int:
        """Size of all copies (bytes)."""
        return sum(one.bytes for one in self.copies)

    @property
    def migration_ns(self) -> int:
        """Time of all migrations (ns)."""
        return sum(one.ns for one in self.migrations)

    @property
    def migration_bytes(self) -> int:
        """Size of all migrations (bytes)."""
        return sum(one.bytes for one in self.migrations)


class GpuKernel(NamedTuple):
    """The launches of one kernel from one line."""

    name: str  # mangled
    count: int  # type: ignore[assignment]  # hides tuple.count
    ns: int
    min_ns: int
    max_ns: int

    def plus(self, other: GpuKernel) -> GpuKernel:
        """Return the launches of both, which are of one kernel."""
        return GpuKernel(
            name=self.name,
            count=self.count + other.count,
            ns=self.ns + other.ns,
            min_ns=min(self.min_ns, other.min_ns),
            max_ns=max(self.max_ns, other.max_ns),
        )


# By kind of record: the fields of `GpuNumbers`, and the field of `GpuSum` that is added
# to each. API calls are not counted: calls of the driver are part of calls of the
# runtime.
_COUNTED: dict[str, dict[str, str]] = {
    KERNEL: {"gpu_ns": "ns", "kernels": "count"},
    MEMSET: {"gpu_ns": "ns", "memset_ns": "ns", "memsets": "count"},
    GRAPH: {"gpu_ns": "ns"},
    WAIT: {"wait_ns": "ns", "waits": "count"},
    LOAD: {"load_ns": "ns"},
    ALLOC: {"alloc_bytes": "bytes"},
    FREE: {"free_bytes": "bytes"},
    MEMCPY: {},  # by direction
    MIGRATION: {},
}


class GpuAccumulator:
    """`GpuNumbers` while they are added up."""

    __slots__ = ("copies", "max_kernel_ns", "numbers")

    def __init__(self) -> None:
        self.numbers: dict[str, int] = defaultdict(int)  # by their fields
        self.max_kernel_ns = 0
        self.copies: dict[tuple[str, str], GpuCopies] = {}  # by kind and direction

    def count(self, one: GpuSum) -> None:
        """Add a sum."""
        for name, field in _COUNTED[one.kind].items():
            self.numbers[name] += getattr(one, field)
        if one.kind == KERNEL:
            self.max_kernel_ns = max(self.max_kernel_ns, one.max_ns)
        if one.kind in {MEMCPY, MIGRATION}:
            more = GpuCopies(
                direction=one.name, count=one.count, ns=one.ns, bytes=one.bytes
            )
            _add(self.copies, (one.kind, one.name), more)

    def add(self, other: GpuAccumulator, *, innermost: bool) -> None:
        """Add the numbers of a call path; its GPU time is self time if `innermost`."""
        for name, number in other.numbers.items():
            self.numbers[name] += number
        if innermost:
            self.numbers["self_ns"] += other.numbers["gpu_ns"]
        self.max_kernel_ns = max(self.max_kernel_ns, other.max_kernel_ns)
        for key, copies in other.copies.items():
            _add(self.copies, key, copies)

    def value(self) -> GpuNumbers:
        """Return the numbers so far."""
        return GpuNumbers(
            **self.numbers,
            copies=self._of_kind(MEMCPY),
            max_kernel_ns=self.max_kernel_ns,
            migrations=self._of_kind(MIGRATION),
        )

    def _of_kind(self, kind: str) -> Copies:
        """Return copies in the order of DIRECTIONS; others last, by name."""
        order = {name: index for index, name in enumerate(DIRECTIONS)}
        found = [one for (of_kind, _), one in self.copies.items() if of_kind == kind]
        found.sort(
            key=lambda one: (order.get(one.direction, len(order)), one.direction)
        )
        return tuple(found)


def _add(sums: dict[K, Summed], key: K, more: Summed) -> None:
    """Add copies or kernels to those of a key."""
    sums[key] = sums[key].plus(more) if key in sums else more


# Numbers by line, by function, and in all.


def numbers_of_lines(
    gpu: Gpu, *, kernel: KernelFilter = None, capture: bool = False, alone: bool = False
) -> Mapping[Key, Mapping[int, GpuNumbers]]:
    """Return the numbers of each line, by function and line.

    A line's numbers include its callees; with `alone` they do not. `kernel` drops
    kernels whose mangled name does not match: a pattern as of file names, or a
    function of the name. With `capture`, the work of a CUDA graph is charged to the
    line that captured the graph, if that is known, and not to the one that launched
    it.
    """

    def keys_of(path: GpuPath) -> Sequence[tuple[Key, int]]:
        return path.lines[-1:] if alone else path.lines

    return _by_function(_sums(gpu, kernel, keys_of, capture=capture))


def numbers_of_functions(
    gpu: Gpu, *, kernel: KernelFilter = None, capture: bool = False
) -> Mapping[Key, GpuNumbers]:
    """Return the numbers of each function, callees included.

    `self_ns` is that of all lines of the function. The arguments are those of
    `numbers_of_lines`.
    """

    def keys_of(path: GpuPath) -> Sequence[Key]:
        return [key for key, _ in path.lines]

    return _sums(gpu, kernel, keys_of, capture=capture)


def _sums(
    gpu: Gpu,
    kernel: KernelFilter,
    keys_of: Callable[[GpuPath], Sequence[K]],
    *,
    capture: bool,
) -> dict[K, GpuNumbers]:
    """Return the numbers of each key in order.

    `keys_of` returns the keys that the work of a path is added to, the innermost last.
    """
    sums: dict[K, GpuAccumulator] = defaultdict(GpuAccumulator)
    for path, numbers in _by_path(gpu, kernel, capture=capture).items():
        if path != NO_PATH:
            keys = keys_of(gpu.paths[path])
            for key in set(keys):
                sums[key].add(numbers, innermost=key == keys[-1])
    return {key: sums[key].value() for key in sorted(sums)}


def _by_function(lines: Mapping[tuple[Key, int], T]) -> dict[Key, dict[int, T]]:
    """Return values of lines by function and line, in order."""
    functions: dict[Key, dict[int, T]] = {}
    for key, line in sorted(lines):
        functions.setdefault(key, {})[line] = lines[key, line]
    return functions


def unattributed(
    gpu: Gpu, *, kernel: KernelFilter = None, capture: bool = False
) -> GpuNumbers:
    """Return the numbers of work that no line launched; all of it is self time."""
    total = GpuAccumulator()
    total.add(_by_path(gpu, kernel, capture=capture)[NO_PATH], innermost=True)
    return total.value()


def totals(gpu: Gpu, *, kernel: KernelFilter = None) -> GpuNumbers:
    """Return the numbers of all work."""
    total = GpuAccumulator()
    for numbers in _by_path(gpu, kernel, capture=False).values():
        total.add(numbers, innermost=True)
    return total.value()


class MissingRecords(NamedTuple):
    """Numbers of records of GPU work that the sums lack."""

    dropped: int  # CUPTI had no room for them
    invalid: int  # they had no times
    outstanding: int  # calls whose record did not come, with or without work
    calls: int  # that launched work, those included

    @property
    def share(self) -> float:
        """Share of the calls that launched work without a record, 0 to 1."""
        return self.outstanding / self.calls if self.calls else 0.0

    @property
    def work(self) -> int:
        """Number of missing records that stand for work.

        Some calls succeed and have no record: a share of 1 % of the calls or less
        does not mean that work is missing. Calls whose record was dropped are
        outstanding as well.
        """
        outstanding = self.outstanding if self.share > _NO_WORK else 0
        return max(self.dropped, outstanding) + self.invalid


def missing_records(gpu: Gpu) -> MissingRecords:
    """Return how many records of GPU work are missing."""
    outstanding = sum(run.outstanding for run in gpu.runs)
    found = sum(one.count for one in gpu.sums if one.kind in BUSY_KINDS)
    return MissingRecords(
        dropped=sum(run.dropped for run in gpu.runs),
        invalid=sum(run.invalid for run in gpu.runs),
        outstanding=outstanding,
        calls=outstanding + found,
    )


def of_unknown_clock(gpu: Gpu) -> int:
    """Return the number of records that timelines lack, as their times fit no clock."""
    return sum(run.undated for run in gpu.runs)


def allocated_by(gpu: Gpu) -> Mapping[str, int]:
    """Return what each library allocated on devices (bytes), the largest first.

    Without an entry for libraries that are not known.
    """
    sizes: dict[str, int] = defaultdict(int)
    for one in gpu.sums:
        if one.kind == ALLOC and one.name:
            sizes[one.name] += one.bytes
    return dict(sorted(sizes.items(), key=lambda item: (-item[1], item[0])))


def kernels_of_lines(
    gpu: Gpu, *, kernel: KernelFilter = None, capture: bool = False, alone: bool = False
) -> Mapping[Key, Mapping[int, Kernels]]:
    """Return the kernels of each line, the longest time first.

    The arguments are those of `numbers_of_lines`. Raises LineprofError if there are
    too many.
    """
    lines: dict[tuple[Key, int], dict[str, GpuKernel]] = defaultdict(dict)
    room = _MAX_KERNELS_OF_LINES
    for path, kernels in _kernels_by_path(gpu, kernel, capture=capture).items():
        on_path = gpu.paths[path].lines
        chosen = set(on_path[-1:] if alone else on_path)
        room -= len(chosen) * len(kernels)
        if room < 0:
            raise LineprofError(
                "the profile has too many kernels on too long call paths to list them"
                " by line",
                hint="leave --top-kernels and the column mean out, or add --gpu-self",
            )
        for line in chosen:
            for one in kernels.values():
                _add(lines[line], one.name, one)
    return _by_function(
        {
            line: tuple(sorted(of_line.values(), key=lambda one: (-one.ns, one.name)))
            for line, of_line in lines.items()
        }
    )


def _kernels_by_path(
    gpu: Gpu, kernel: KernelFilter, *, capture: bool
) -> dict[int, dict[str, GpuKernel]]:
    """Return the kernels that were launched on each path, by their names."""
    paths: dict[int, dict[str, GpuKernel]] = defaultdict(dict)
    for one in _selected(gpu, kernel):
        path = _charged_path(one, capture=capture)
        if one.kind == KERNEL and path != NO_PATH:
            launches = GpuKernel(
                name=one.name,
                count=one.count,
                ns=one.ns,
                min_ns=one.min_ns,
                max_ns=one.max_ns,
            )
            _add(paths[path], one.name, launches)
    return paths


def _by_path(
    gpu: Gpu, kernel: KernelFilter, *, capture: bool
) -> dict[int, GpuAccumulator]:
    """Return the numbers of each path with work, and always those of NO_PATH."""
    found = defaultdict(GpuAccumulator, {NO_PATH: GpuAccumulator()})
    torch = gpu.memory.torch_devices
    for one in _selected(gpu, kernel):
        if one.kind in _COUNTED and (
            one.kind not in {ALLOC, FREE} or is_in_lines(one.name, one.device, torch)
        ):
            found[_charged_path(one, capture=capture)].count(one)
    for part in gpu.memory.shown:
        found[part.path].numbers["live_bytes"] += part.live_bytes
        found[part.path].numbers["peak_bytes"] += part.peak_bytes
    for path, numbers in found.items():
        if path != NO_PATH and gpu.paths[path].adopted:
            numbers.numbers["adopted_ns"] = numbers.numbers["gpu_ns"]
    return found


def _charged_path(one: GpuSum, *, capture: bool) -> int:
    """Return the index of the path that a sum is charged to, or NO_PATH."""
    return one.origin if capture and one.origin != NO_PATH else one.path


def _selected(gpu: Gpu, kernel: KernelFilter) -> Iterable[GpuSum]:
    """Return all sums except those of kernels that `kernel` drops."""
    if kernel is None:
        return gpu.sums
    matches = kernel if callable(kernel) else partial(fnmatchcase, pat=kernel)
    names = {one.name for one in gpu.sums if one.kind == KERNEL}
    selected = {name for name in names if matches(name)}
    return [one for one in gpu.sums if one.kind != KERNEL or one.name in selected]
