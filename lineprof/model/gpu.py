"""GPU time by line and function: what each caused, with all that it called.

A sum counts once for each distinct line on its path, so that recursion is
safe, and for each function on it once. What no line has caused is
`unattributed`: that and the lines' `self_ns` are the devices' total, always.
"""

from __future__ import annotations

from operator import add
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Union

    from lineprof.model.records import Key
    from lineprof.model.timelines import Timeline

    ByLine = Mapping[Key, Mapping[int, "GpuNumbers"]]

    Kernels = tuple["GpuKernel", ...]

    Found = dict[str, tuple[int, int, int, int]]  # count, ns, min, max by name

    # A name's pattern; or what tells whether a name, as the compiler has it, counts.
    Kernel = Union[str, Callable[[str], bool], None]

    Copies = tuple[tuple[str, int, int, int], ...]


class GpuKernel(NamedTuple):
    """The launches of one kernel from one line."""

    name: str  # as the compiler has it
    count: int  # type: ignore[assignment]  # tuple.count, which nobody needs
    ns: int
    min_ns: int
    max_ns: int


def _chosen(gpu: Gpu, kernel: Kernel) -> Iterable[GpuSum]:
    """Return all sums but those of kernels that are not asked for."""
    if kernel is None:
        return gpu.sums
    if callable(kernel):
        wanted = kernel
    else:
        from fnmatch import fnmatchcase  # noqa: PLC0415  # few ask for it

        pattern = kernel

        def wanted(name: str) -> bool:
            return fnmatchcase(name, pattern)

    names = {one.name for one in gpu.sums if one.kind == KERNEL}
    known = {name for name in names if wanted(name)}
    return [one for one in gpu.sums if one.kind != KERNEL or one.name in known]


def _place(one: GpuSum, *, capture: bool) -> int:
    """Return the index of the path that a sum is charged to, or NO_PATH."""
    return one.origin if capture and one.origin != NO_PATH else one.path


def _by_path(gpu: Gpu, kernel: Kernel, *, capture: bool) -> dict[int, GpuAccumulator]:
    """Return what each path has; that of NO_PATH is there in any case."""
    counters = {NO_PATH: GpuAccumulator()}
    for one in _chosen(gpu, kernel):
        if one.kind not in COUNTED:
            continue
        place = _place(one, capture=capture)
        counter = counters.get(place)
        if counter is None:
            counter = counters[place] = GpuAccumulator()
        counter.count(one)
    for place, counter in counters.items():
        if place != NO_PATH and gpu.paths[place].adopted:
            counter.adopted()
    return counters


def _of_lines(
    gpu: Gpu, kernel: Kernel, *, capture: bool
) -> Iterator[tuple[GpuPath, GpuAccumulator]]:
    """Yield each path that something is charged to, with what it has."""
    for place, counter in _by_path(gpu, kernel, capture=capture).items():
        if place != NO_PATH:
            yield gpu.paths[place], counter


def numbers_of_lines(
    gpu: Gpu, *, kernel: Kernel = None, capture: bool = False, alone: bool = False
) -> ByLine:
    """Return the numbers of each line, by function and line.

    They are those of the line with all that it called; with `alone`, of the
    line itself. `kernel` leaves out all kernels but those whose name, as the
    compiler has it, matches: a pattern as of file names, or a function of the
    name. With `capture`, what a CUDA graph did is charged to where it was
    captured, if that is known, and not to where it was launched.
    """
    lines: dict[tuple[Key, int], GpuAccumulator] = {}
    for path, counter in _of_lines(gpu, kernel, capture=capture):
        innermost = path.lines[-1]
        for line in {innermost} if alone else set(path.lines):
            mine = lines.get(line)
            if mine is None:
                mine = lines[line] = GpuAccumulator()
            mine.add(counter, innermost=line == innermost)
    functions: dict[Key, dict[int, GpuNumbers]] = {}
    for (key, number), counter in sorted(lines.items(), key=lambda item: item[0]):
        functions.setdefault(key, {})[number] = counter.value()
    return functions


def numbers_of_functions(
    gpu: Gpu, *, kernel: Kernel = None, capture: bool = False
) -> Mapping[Key, GpuNumbers]:
    """Return the numbers of each function, with all that it called.

    Here `self_ns` is that of all its lines. For the rest see
    `numbers_of_lines`.
    """
    functions: dict[Key, GpuAccumulator] = {}
    for path, counter in _of_lines(gpu, kernel, capture=capture):
        innermost, _ = path.lines[-1]
        for key in {key for key, _ in path.lines}:
            mine = functions.get(key)
            if mine is None:
                mine = functions[key] = GpuAccumulator()
            mine.add(counter, innermost=key == innermost)
    return {key: counter.value() for key, counter in sorted(functions.items())}


def unattributed(
    gpu: Gpu, *, kernel: Kernel = None, capture: bool = False
) -> GpuNumbers:
    """Return the numbers of what no line has caused; all of it is its own."""
    whole = GpuAccumulator()
    nowhere = _by_path(gpu, kernel, capture=capture)[NO_PATH]
    whole.add(nowhere, innermost=True)
    return whole.value()


def totals(gpu: Gpu, *, kernel: Kernel = None) -> GpuNumbers:
    """Return the numbers of all that was recorded."""
    whole = GpuAccumulator()
    for counter in _by_path(gpu, kernel, capture=False).values():
        whole.add(counter, innermost=True)
    return whole.value()


def kernels_of_lines(
    gpu: Gpu, *, kernel: Kernel = None, capture: bool = False, alone: bool = False
) -> Mapping[Key, Mapping[int, Kernels]]:
    """Return the kernels of each line, by name, the longest time first.

    The arguments are those of `numbers_of_lines`.
    """
    paths: dict[int, Found] = {}
    for one in _chosen(gpu, kernel):
        place = _place(one, capture=capture)
        if one.kind == KERNEL and place != NO_PATH:
            found = paths.setdefault(place, {})
            _add_kernel(found, one.name, (one.count, one.ns, one.min_ns, one.max_ns))
    lines: dict[tuple[Key, int], Found] = {}
    for place, found in paths.items():
        on = gpu.paths[place].lines
        for line in set(on[-1:] if alone else on):
            mine = lines.setdefault(line, {})
            for name, numbers in found.items():
                _add_kernel(mine, name, numbers)
    functions: dict[Key, dict[int, Kernels]] = {}
    for (key, number), found in sorted(lines.items(), key=lambda item: item[0]):
        kernels = [
            GpuKernel(name=name, count=count, ns=ns, min_ns=least, max_ns=most)
            for name, (count, ns, least, most) in found.items()
        ]
        kernels.sort(key=lambda one: (-one.ns, one.name))
        functions.setdefault(key, {})[number] = tuple(kernels)
    return functions


def _add_kernel(to: Found, name: str, numbers: tuple[int, int, int, int]) -> None:
    mine = to.get(name)
    if mine is not None:
        count, ns, least, most = mine
        more, more_ns, other_least, other_most = numbers
        least = min(least, other_least)
        numbers = (count + more, ns + more_ns, least, max(most, other_most))
    to[name] = numbers


# What a GPU did, as frozen values: sums by call path, devices, a timeline.
#
# Times are integers in nanoseconds (ns), sizes in bytes; nothing here touches a
# file, a clock or a device.


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


class Gpu(NamedTuple):
    """All that a profile knows of GPUs; without any, all is empty."""

    paths: tuple[GpuPath, ...] = ()
    sums: tuple[GpuSum, ...] = ()
    devices: tuple[GpuDevice, ...] = ()
    runs: tuple[GpuRun, ...] = ()
    timelines: tuple[Timeline, ...] = ()


NO_GPU = Gpu()


# What a GPU did, as numbers that are added up: kernels, copies, waiting.


class GpuNumbers(NamedTuple):
    """What a GPU did for one line or function."""

    gpu_ns: int = 0  # of kernels, memsets and whole graphs; copies are apart
    self_ns: int = 0  # that of gpu_ns which no line further in has caused
    adopted_ns: int = 0  # that of gpu_ns which threads without lines launched
    kernels: int = 0
    memset_ns: int = 0
    memsets: int = 0
    copies: Copies = ()  # (direction, count, ns, bytes), in the order of DIRECTIONS
    wait_ns: int = 0  # the thread was blocked until the device was done
    waits: int = 0
    alloc_bytes: int = 0
    free_bytes: int = 0
    max_kernel_ns: int = 0
    migrations: Copies = ()  # of managed memory, as `copies`

    @property
    def memcpy_ns(self) -> int:
        """Time of all copies (ns)."""
        return sum(ns for _, _, ns, _ in self.copies)

    @property
    def memcpy_bytes(self) -> int:
        """What all copies moved (bytes)."""
        return sum(size for _, _, _, size in self.copies)


# How each kind counts: the place in Counter.numbers of its time, count, bytes.
_GPU, _SELF, _ADOPTED, _KERNELS, _MEMSET_NS, _MEMSETS, _WAIT_NS, _WAITS = range(8)

_ALLOC, _FREE, _NUMBERS = 8, 9, 10

_NS = {KERNEL: (_GPU,), MEMSET: (_GPU, _MEMSET_NS), GRAPH: (_GPU,), WAIT: (_WAIT_NS,)}

_COUNT = {KERNEL: _KERNELS, MEMSET: _MEMSETS, WAIT: _WAITS}

_BYTES = {ALLOC: _ALLOC, FREE: _FREE}

# Calls of the API are not among them: those of the driver are part of others.
COUNTED = frozenset({*_NS, *_BYTES, MEMCPY, MIGRATION})


class GpuAccumulator:
    """Numbers while they are added up."""

    __slots__ = ("copies", "longest", "migrations", "numbers")

    def __init__(self) -> None:
        self.numbers = [0] * _NUMBERS
        self.longest = 0
        self.copies: dict[str, list[int]] = {}
        self.migrations: dict[str, list[int]] = {}

    def count(self, one: GpuSum) -> None:
        """Add a sum."""
        numbers, kind = self.numbers, one.kind
        for place in _NS.get(kind, ()):
            numbers[place] += one.ns
        if kind in _COUNT:
            numbers[_COUNT[kind]] += one.count
        if kind in _BYTES:
            numbers[_BYTES[kind]] += one.bytes
        if kind == KERNEL and one.max_ns > self.longest:
            self.longest = one.max_ns
        if kind in {MEMCPY, MIGRATION}:
            moved = self.copies if kind == MEMCPY else self.migrations
            _add_copies(moved, one.name, [one.count, one.ns, one.bytes])

    def adopted(self) -> None:
        """Say that threads without lines launched all of it."""
        self.numbers[_ADOPTED] = self.numbers[_GPU]

    def add(self, other: GpuAccumulator, *, innermost: bool) -> None:
        """Add what a path has, of which `innermost` says where this stands."""
        own = self.numbers[_SELF] + (other.numbers[_GPU] if innermost else 0)
        self.numbers = list(map(add, self.numbers, other.numbers))
        self.numbers[_SELF] = own
        self.longest = max(self.longest, other.longest)
        for name, numbers in other.copies.items():
            _add_copies(self.copies, name, numbers)
        for name, numbers in other.migrations.items():
            _add_copies(self.migrations, name, numbers)

    def value(self) -> GpuNumbers:
        """Return the numbers."""
        gpu, own, adopted, kernels, memset_ns, memsets, *rest = self.numbers
        wait_ns, waits, alloc, free = rest
        return GpuNumbers(
            gpu_ns=gpu,
            self_ns=own,
            adopted_ns=adopted,
            kernels=kernels,
            memset_ns=memset_ns,
            memsets=memsets,
            copies=_in_order(self.copies),
            wait_ns=wait_ns,
            waits=waits,
            alloc_bytes=alloc,
            free_bytes=free,
            max_kernel_ns=self.longest,
            migrations=_in_order(self.migrations),
        )


def _add_copies(to: dict[str, list[int]], name: str, numbers: list[int]) -> None:
    mine = to.get(name)
    to[name] = numbers if mine is None else list(map(add, mine, numbers))


def _in_order(copies: Mapping[str, list[int]]) -> Copies:
    """Return copies in the order of DIRECTIONS; others last, by name."""
    places = {name: place for place, name in enumerate(DIRECTIONS)}
    names = sorted(copies, key=lambda name: (places.get(name, len(places)), name))
    return tuple((name, *copies[name]) for name in names)  # type: ignore[misc]
