"""A profile that was recovered, completed by the last one that its run wrote.

With ``kernprof -i`` a program writes its profile while it runs. Its live file has the
counts up to its end; GPU work, timelines and named blocks are in the snapshot alone.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from lineprof.model.gpu import NO_GPU, Gpu
from lineprof.model.gpu_memory import GpuMemory
from lineprof.model.host_memory import HostMemory
from lineprof.model.profile import Profile
from lineprof.model.records import UNKNOWN_THREAD

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypeVar

    from lineprof.model.gpu import GpuDevice, GpuRun
    from lineprof.model.gpu_memory import GpuMemoryPeak, GpuMemoryRun
    from lineprof.model.host_memory import MemoryCurve, MemoryPath, MemoryRun
    from lineprof.model.records import FunctionStats, Key, Process
    from lineprof.model.timelines import Trace

    R = TypeVar(  # records of a process
        "R",
        GpuDevice,
        GpuMemoryPeak,
        GpuMemoryRun,
        GpuRun,
        MemoryCurve,
        MemoryPath,
        MemoryRun,
    )

_GPU, _TRACE, _MEMORY = "GPU work", "the timeline", "memory"
_NAMED = 3  # max number of blocks that a warning names
_S = 1_000_000_000  # ns


class Completed(NamedTuple):
    """A profile with all that the snapshot has more."""

    profile: Profile
    is_all: bool  # False: the snapshot has other data, which do not fit the profile


def identities(profile: Profile) -> set[tuple[int, int]]:
    """Return the processes of a profile, by process id and start."""
    return {(one.pid, one.start_unix_ns) for one in profile.processes}


def completed(profile: Profile, snapshot: Profile) -> Completed:
    """Return `profile`, of one process, with what only its `snapshot` has.

    Counts are those of `profile`: they go on after the snapshot, which is of the same
    process. A warning says up to when the rest goes.
    """
    indexes = _Indexes(profile, snapshot)
    then = [indexes.function(one) for one in snapshot.functions]
    if _is_reset(profile, then):
        return Completed(profile, is_all=True)  # the program has dropped those counts
    functions = _functions(profile, then)
    is_later = bool(snapshot.memory.runs) and not profile.memory.runs
    gpu = _gpu(snapshot.gpu, indexes) if _has_work(snapshot.gpu) else NO_GPU
    added = [
        *([_GPU] if gpu != NO_GPU else []),
        *([_TRACE] if snapshot.traces else []),
        *([_MEMORY] if is_later else []),
        *([_lines_of(functions.added)] if functions.added else []),
    ]
    is_all = not snapshot.breakdowns  # they are parts of lines' time at that moment
    if not added:
        return Completed(profile, is_all=is_all)
    waits = [
        one._replace(thread=indexes.thread(one.thread))
        for one in snapshot.waits
        if (one.function, indexes.thread(one.thread)) in functions.pairs
    ]
    whole = Profile.from_functions(
        functions.all,
        processes=map(_with_clock, profile.processes, snapshot.processes),
        threads=indexes.threads,
        sources={**snapshot.sources, **profile.sources},
        warnings=[*profile.warnings, _until(added, profile, snapshot)],
        unit=profile.unit,
        gpu=gpu,
        memory=_memory(snapshot.memory, indexes) if is_later else profile.memory,
        calls=profile.calls,
        waits=[*profile.waits, *waits],
        traces=[indexes.trace(one) for one in snapshot.traces],
        breakdowns=profile.breakdowns,
        cuts=profile.cuts,
        ranks=profile.ranks,
        source_roots=profile.source_roots,
    )
    return Completed(whole, is_all=is_all)


def _with_clock(process: Process, other: Process) -> Process:
    """Return a process with the offset of its clocks, which a snapshot knows."""
    offset = process.unix_offset_ns
    return process._replace(
        unix_offset_ns=other.unix_offset_ns if offset is None else offset
    )


def _lines_of(names: Sequence[str]) -> str:
    """Return the lines of blocks and functions, in words."""
    some = ", ".join(names[:_NAMED])
    rest = len(names) - _NAMED
    return f"lines of {some}" + (f" and {rest} others" if rest > 0 else "")


def _until(added: Sequence[str], profile: Profile, snapshot: Profile) -> str:
    [process], [then] = profile.processes, snapshot.processes
    return (
        f"recovered: only up to {then.wall_ns / _S:.1f} s after the start, when the"
        f" profile was last written: {', '.join(added)}; hits and times go on to"
        f" {process.wall_ns / _S:.1f} s"
    )


def _has_work(gpu: Gpu) -> bool:
    """Return whether GPU data have more than that a GPU was there."""
    return bool(gpu.sums or gpu.devices or gpu.timelines) or any(
        one.dropped or one.invalid or one.outstanding or one.left_out or one.taken
        for one in gpu.runs
    )


# Functions.


def _hits(functions: Iterable[FunctionStats]) -> dict[tuple[Key, int, int], int]:
    """Return the hits by function, line and thread."""
    return {
        (function.key, one.line, one.thread): one.hits
        for function in functions
        for one in function.thread_lines
    }


def _is_reset(profile: Profile, functions: Iterable[FunctionStats]) -> bool:
    """Return whether counts of the snapshot were dropped later: hits never fall."""
    now = _hits(profile.functions)
    return any(hits > now.get(cell, hits) for cell, hits in _hits(functions).items())


class _Functions(NamedTuple):
    all: tuple[FunctionStats, ...]
    added: tuple[str, ...]  # names of those with lines that only the snapshot has
    pairs: frozenset[tuple[Key, int]]  # function and thread of these lines


def _functions(profile: Profile, then: Sequence[FunctionStats]) -> _Functions:
    """Return the functions with the lines of threads that only the snapshot has.

    All lines of a function that a thread ran are in the live file, or none is: it has
    none of blocks, nor of what began when it had no more room.
    """
    found = {one.key: one for one in profile.functions}
    known = {
        (one.key, row.thread) for one in found.values() for row in one.thread_lines
    }
    pairs: set[tuple[Key, int]] = set()
    added: dict[str, None] = {}
    for function in then:
        rows = [
            row
            for row in function.thread_lines
            if (function.key, row.thread) not in known
        ]
        pairs.update((function.key, row.thread) for row in rows)
        added.update(dict.fromkeys([function.name] if rows else []))
        one = found.get(function.key, function._replace(thread_lines=()))
        found[function.key] = one._replace(
            thread_lines=(*one.thread_lines, *rows),
            calls=max(one.calls, function.calls),
        )
    return _Functions(tuple(found.values()), tuple(added), frozenset(pairs))


# Indexes of processes and threads.


class _Indexes:
    """Where the snapshot's processes and threads are in the profile."""

    def __init__(self, profile: Profile, snapshot: Profile) -> None:
        self.threads = [*profile.threads]
        places = {
            (one.pid, one.start_unix_ns): index
            for index, one in enumerate(profile.processes)
        }
        self._processes = [
            places[one.pid, one.start_unix_ns] for one in snapshot.processes
        ]
        # A number is given again when a thread has ended; the oldest comes first.
        known: dict[tuple[int, int], list[int]] = defaultdict(list)
        for index, thread in enumerate(profile.threads):
            known[thread.process, thread.native_id].append(index)
        self._threads: list[int] = []
        for one in snapshot.threads:
            thread = one._replace(process=self._processes[one.process])
            same = known[thread.process, thread.native_id]
            if not same:
                same.append(len(self.threads))
                self.threads.append(thread)
            self._threads.append(same.pop(0))

    def process(self, index: int) -> int:
        """Return the index in the profile of a process of the snapshot."""
        return self._processes[index]

    def of_processes(self, records: Iterable[R]) -> tuple[R, ...]:
        """Return records of processes with the indexes of the profile."""
        return tuple(one._replace(process=self.process(one.process)) for one in records)

    def thread(self, index: int) -> int:
        """Return the index in the profile of a thread of the snapshot."""
        return index if index == UNKNOWN_THREAD else self._threads[index]

    def function(self, function: FunctionStats) -> FunctionStats:
        """Return a function of the snapshot with the indexes of the profile."""
        return function._replace(
            thread_lines=tuple(
                one._replace(thread=self.thread(one.thread))
                for one in function.thread_lines
            )
        )

    def trace(self, trace: Trace) -> Trace:
        """Return a trace of the snapshot with the indexes of the profile."""
        return replace(
            trace,
            process=self.process(trace.process),
            threads=tuple(map(self.thread, trace.threads)),
        )


def _memory(memory: HostMemory, indexes: _Indexes) -> HostMemory:
    return HostMemory(
        paths=indexes.of_processes(memory.paths),
        sums=memory.sums,
        runs=indexes.of_processes(memory.runs),
        curves=indexes.of_processes(memory.curves),
    )


def _gpu(gpu: Gpu, indexes: _Indexes) -> Gpu:
    return Gpu(
        paths=tuple(
            one._replace(thread=indexes.thread(one.thread)) for one in gpu.paths
        ),
        sums=gpu.sums,
        devices=indexes.of_processes(gpu.devices),
        runs=indexes.of_processes(gpu.runs),
        timelines=tuple(
            replace(one, process=indexes.process(one.process)) for one in gpu.timelines
        ),
        slices=tuple(map(indexes.trace, gpu.slices)),
        memory=GpuMemory(
            sums=gpu.memory.sums,
            peaks=indexes.of_processes(gpu.memory.peaks),
            runs=indexes.of_processes(gpu.memory.runs),
        ),
    )
