"""Host memory of a profile: what each line allocated, and how much of it was live.

Blocks are charged to the lines that were open on the thread that allocated them, and
stay theirs, whoever frees them. A sum counts once for each distinct line on its call
path, so that recursion is safe. The sums of all paths, the ones without lines included,
add up to the numbers of the process.

Sizes are in bytes, as they were asked for; times in nanoseconds (ns).
"""

from __future__ import annotations

from collections import defaultdict
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from lineprof.model.relation import (
    PATH,
    PROCESS,
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

    K = TypeVar("K", int, Key, tuple[Key, int])


# Records.


class MemoryPath(NamedTuple):
    """Call path of blocks: the lines that were open when they were allocated.

    A line that was open several times stands once, where it was innermost. A path
    without lines is that of blocks outside of profiled lines.
    """

    process: int  # its index in Profile.processes; NONE: of several, added up
    lines: tuple[tuple[Key, int], ...]  # (function, line), the outermost first


MEMORY_PATHS = Relation(
    "memory_paths",
    MemoryPath,
    "a path of memory",
    (refers(PROCESS, optional=True),),
)


class MemorySum(NamedTuple):
    """All blocks that were allocated on one call path, by its innermost line itself.

    What was allocated and not freed was live at the end.
    """

    path: int  # its index in HostMemory.paths
    allocs: int  # blocks; one that grows or shrinks is freed and allocated anew
    alloc_bytes: int
    freed_bytes: int  # the part that was freed, by any line or thread
    temp_bytes: int  # the part that was freed before the execution of the line ended
    peak_bytes: int  # the part that was live at the process' peak

    @property
    def numbers(self) -> MemoryNumbers:
        """The numbers without their path."""
        return NO_BYTES.plus(self)


MEMORY_SUMS = Relation(
    "memory_sums",
    MemorySum,
    "a sum of memory",
    (
        refers(PATH, optional=False),
        *summed("allocs", "alloc_bytes", "freed_bytes", "temp_bytes", "peak_bytes"),
    ),
)


_SUMMED = tuple(field.name for field in MEMORY_SUMS.fields if field.add)


class MemoryRun(NamedTuple):
    """Measurement of one process' memory."""

    process: int  # its index in Profile.processes
    peak_bytes: int  # the most that was live at once
    peak_ns: int  # when that was, since the start of measuring
    side_bytes: int = 0  # lineprof's own tables of live blocks, at their largest
    sample_bytes: int = 0  # between two blocks that are counted; 0: each one is
    lost: int = 0  # blocks that there was no memory to keep track of
    is_native: bool = True  # blocks of extension modules also count


MEMORY_RUNS = Relation(
    "memory_runs",
    MemoryRun,
    "a run's memory",
    (
        refers(PROCESS),
        *naturals("peak_bytes", "peak_ns", "side_bytes", "sample_bytes", "lost"),
        *others(bool, "is_native"),
    ),
)


class MemoryCurve(NamedTuple):
    """Live memory of one process over the run, at some hundred moments."""

    process: int  # its index in Profile.processes
    times_ns: tuple[int, ...]  # since the start of measuring, in order
    live_bytes: tuple[int, ...]  # in all, at each of these moments
    lines: tuple[tuple[Key, int], ...] = ()  # those with most, by their own blocks
    line_bytes: tuple[tuple[int, ...], ...] = ()  # of each of `lines`, by moment


class HostMemory(NamedTuple):
    """All memory data of a profile; by default it has no data."""

    paths: tuple[MemoryPath, ...] = ()
    sums: tuple[MemorySum, ...] = ()
    runs: tuple[MemoryRun, ...] = ()
    curves: tuple[MemoryCurve, ...] = ()

    @property
    def is_estimate(self) -> bool:
        """Whether the numbers, or some of them, are from samples."""
        return any(run.sample_bytes for run in self.runs)


NO_MEMORY = HostMemory()


# Numbers of a line or function.


class MemoryNumbers(NamedTuple):
    """Memory of one line, function or process, in blocks and bytes."""

    allocs: int = 0
    alloc_bytes: int = 0
    freed_bytes: int = 0
    temp_bytes: int = 0
    peak_bytes: int = 0

    @property
    def live_bytes(self) -> int:
        """Bytes that were not freed until the end."""
        return self.alloc_bytes - self.freed_bytes

    def plus(self, other: MemoryNumbers | MemorySum) -> MemoryNumbers:
        """Return the numbers of both."""
        return MemoryNumbers(
            allocs=self.allocs + other.allocs,
            alloc_bytes=self.alloc_bytes + other.alloc_bytes,
            freed_bytes=self.freed_bytes + other.freed_bytes,
            temp_bytes=self.temp_bytes + other.temp_bytes,
            peak_bytes=self.peak_bytes + other.peak_bytes,
        )


NO_BYTES = MemoryNumbers()

# All numbers, in the order of reports and of exports.
MEMORY_NUMBERS = (
    "allocs",
    "alloc_bytes",
    "freed_bytes",
    "live_bytes",
    "peak_bytes",
    "temp_bytes",
)


def memory_of_lines(
    memory: HostMemory, *, alone: bool = False
) -> Mapping[Key, Mapping[int, MemoryNumbers]]:
    """Return the numbers of each line, by function and line.

    A line's numbers include its callees; with `alone` they do not.
    """

    def keys_of(path: MemoryPath) -> Iterable[tuple[Key, int]]:
        return path.lines[-1:] if alone else dict.fromkeys(path.lines)

    by_line: dict[Key, dict[int, MemoryNumbers]] = defaultdict(dict)
    for (key, line), numbers in _added_up(memory, keys_of).items():
        by_line[key][line] = numbers
    return by_line


def memory_of_functions(
    memory: HostMemory, *, alone: bool = False
) -> Mapping[Key, MemoryNumbers]:
    """Return the numbers of each function, callees included unless `alone`."""

    def keys_of(path: MemoryPath) -> Iterable[Key]:
        lines = path.lines[-1:] if alone else path.lines
        return dict.fromkeys(key for key, _ in lines)

    return _added_up(memory, keys_of)


def sums_of_processes(memory: HostMemory) -> dict[int, list[MemorySum]]:
    """Return the sums of each process that has any; NONE: of several, added up."""
    by_process: dict[int, list[MemorySum]] = defaultdict(list)
    for record in memory.sums:
        by_process[memory.paths[record.path].process].append(record)
    return dict(by_process)


def memory_of_processes(
    memory: HostMemory, *, outside: bool = False
) -> Mapping[int, MemoryNumbers]:
    """Return the numbers of each process; NONE: of several, added up.

    With `outside`, only blocks that no line allocated count.
    """

    def keys_of(path: MemoryPath) -> Iterable[int]:
        return () if outside and path.lines else (path.process,)

    return _added_up(memory, keys_of)


def outside_memory(memory: HostMemory) -> MemoryNumbers:
    """Return the numbers of all blocks that no line of the profile allocated."""
    return _total(
        [record for record in memory.sums if not memory.paths[record.path].lines]
    )


def total_memory(memory: HostMemory) -> MemoryNumbers:
    """Return the numbers of all processes."""
    return _total(memory.sums)


def largest_run(memory: HostMemory) -> MemoryRun | None:
    """Return the run with the largest peak; None if no memory was recorded."""
    return max(memory.runs, key=lambda run: run.peak_bytes, default=None)


def knows_memory(memory: HostMemory) -> bool:
    """Return whether memory was recorded; perhaps no block was allocated."""
    return bool(memory.runs or memory.sums)


def _added_up(
    memory: HostMemory, keys_of: Callable[[MemoryPath], Iterable[K]]
) -> dict[K, MemoryNumbers]:
    """Return the numbers by each of the keys that a path has."""
    by_key: dict[K, list[MemorySum]] = defaultdict(list)
    for record in memory.sums:
        for key in keys_of(memory.paths[record.path]):
            by_key[key].append(record)
    return {key: _total(sums) for key, sums in by_key.items()}


def _total(sums: Sequence[MemorySum]) -> MemoryNumbers:
    """Return the numbers of all sums, of which there may be millions."""
    columns = zip(*map(attrgetter(*_SUMMED), sums))
    return MemoryNumbers(**dict(zip(_SUMMED, map(sum, columns))))
