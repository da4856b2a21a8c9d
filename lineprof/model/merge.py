"""Merging of profiles: the sum of several profiles as one.

Records refer to processes, threads, paths and devices by index. A merged profile has
those of all profiles one after the other, so the indexes of later ones move up.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import chain
from operator import add
from typing import TYPE_CHECKING, TypeVar

from lineprof.model.gpu import GPU_DEVICES, GPU_PATHS, GPU_RUNS, GPU_SUMS, Gpu
from lineprof.model.gpu_memory import (
    GPU_MEMORY_PEAKS,
    GPU_MEMORY_RUNS,
    GPU_MEMORY_SUMS,
    GpuMemory,
)
from lineprof.model.host_memory import (
    MEMORY_PATHS,
    MEMORY_RUNS,
    MEMORY_SUMS,
    HostMemory,
)
from lineprof.model.profile import Profile, sum_timings
from lineprof.model.records import (
    CALL_NUMBERS,
    CELLS,
    CUTS,
    MERGED_CALLS,
    NO_CALLS,
    NO_NODE,
    NO_RANKS,
    OWN_TIMES,
    THREADS,
    WAITS,
    CallNodes,
    CallTree,
    node_columns,
    ranked,
)
from lineprof.model.relation import DEVICE, PATH, PROCESS, THREAD, RecordSum, placed
from lineprof.model.units import NANOSECOND

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from lineprof.model.host_memory import (
        MemoryCurve,
        MemoryPath,
        MemoryRun,
        MemorySum,
    )
    from lineprof.model.profile import Timings
    from lineprof.model.records import (
        FunctionStats,
        Key,
        MergedCall,
        Ranks,
        SourceFile,
    )
    from lineprof.model.relation import Places
    from lineprof.model.timelines import Timeline, Trace

Part = TypeVar("Part")


def merge(profiles: Sequence[Profile]) -> Profile:
    """Return the sum of `profiles` (at least one).

    Functions are joined by file, line and name, calls by their call path; processes,
    threads and devices stay apart. The unit is the coarsest. If the text of a file
    differs, the first is kept and a warning added.
    """
    unit = max(profile.unit for profile in profiles)
    all_places = _places_of(profiles)

    def parts(
        moved: Callable[[Profile, Places], Iterable[Part]],
    ) -> tuple[Part, ...]:
        """Return a part of all profiles."""
        return tuple(chain.from_iterable(map(moved, profiles, all_places)))

    sources = SourceSum()
    for profile in profiles:
        sources.add(profile.sources)
    warnings = [warning for profile in profiles for warning in profile.warnings]
    warnings += [*sources.warnings(), *_missing_call_trees(profiles)]
    return Profile.from_functions(
        parts(lambda one, to: _moved_functions(one.functions, to)),
        processes=parts(lambda one, _: ranked(one.processes)),
        threads=parts(lambda one, to: THREADS.moved(one.threads, to)),
        sources=sources.texts,
        warnings=dict.fromkeys(warnings),
        unit=unit,
        gpu=Gpu(
            paths=parts(lambda one, to: GPU_PATHS.moved(one.gpu.paths, to)),
            sums=parts(lambda one, to: GPU_SUMS.moved(one.gpu.sums, to)),
            devices=parts(lambda one, to: GPU_DEVICES.moved(one.gpu.devices, to)),
            runs=parts(lambda one, to: GPU_RUNS.moved(one.gpu.runs, to)),
            timelines=parts(lambda one, to: _moved_timelines(one.gpu.timelines, to)),
            slices=parts(lambda one, to: _moved_traces(one.gpu.slices, to)),
            memory=GpuMemory(
                sums=parts(
                    lambda one, to: GPU_MEMORY_SUMS.moved(one.gpu.memory.sums, to)
                ),
                peaks=parts(
                    lambda one, to: GPU_MEMORY_PEAKS.moved(one.gpu.memory.peaks, to)
                ),
                runs=parts(
                    lambda one, to: GPU_MEMORY_RUNS.moved(one.gpu.memory.runs, to)
                ),
            ),
        ),
        calls=_merge_calls([one.calls for one in profiles], all_places),
        waits=WAITS.added_up(parts(lambda one, to: WAITS.moved(one.waits, to))),
        traces=parts(lambda one, to: _moved_traces(one.traces, to)),
        breakdowns=OWN_TIMES.added_up(
            parts(lambda one, to: OWN_TIMES.moved(one.breakdowns, to))
        ),
        cuts=parts(lambda one, to: CUTS.moved(one.cuts, to)),
        ranks=_merge_ranks(profiles),
        memory=_merge_memory(profiles, all_places),
        timings=_merge_timings(profiles, unit),
        source_roots=_merge_source_roots(profiles),
    )


def _places_of(profiles: Iterable[Profile]) -> list[Places]:
    """Return where the records of each profile are in the merged one."""
    found: list[Places] = []
    counts = dict.fromkeys((PROCESS, THREAD, PATH, DEVICE), 0)
    for profile in profiles:
        found.append({to: moved_by(count) for to, count in counts.items() if count})
        counts[PROCESS] += len(profile.processes)
        counts[THREAD] += len(profile.threads)
        counts[PATH] += len(profile.gpu.paths)
        counts[DEVICE] += len(profile.gpu.devices)
    return found


def moved_by(count: int) -> Callable[[int], int]:
    """Return a function that moves an index up by `count`.

    It is for records that come after so many others.
    """
    return partial(add, count)


def _merge_source_roots(profiles: Sequence[Profile]) -> tuple[str, ...] | None:
    """Return all source roots; None if no profile was read from a file."""
    all_ = [one.source_roots for one in profiles if one.source_roots is not None]
    return (
        tuple(dict.fromkeys(root for roots in all_ for root in roots)) if all_ else None
    )


def _merge_timings(profiles: Sequence[Profile], unit: float) -> Timings | None:
    """Return the sum in ticks of `unit` (s); None if all ticks are nanoseconds."""
    if len(profiles) == 1:
        return profiles[0].timings
    if all(profile.unit == NANOSECOND for profile in profiles):
        return None
    return sum_timings(profiles, unit)


def _moved_functions(
    functions: Iterable[FunctionStats], places: Places
) -> Iterable[FunctionStats]:
    """Return `functions` with the indexes of threads in the merged profile."""
    if THREAD not in places:
        return functions
    return [
        one._replace(thread_lines=tuple(CELLS.moved(one.thread_lines, places)))
        for one in functions
    ]


# Source files.


class SourceSum:
    """The texts of source files of several profiles."""

    def __init__(self) -> None:
        self.texts: dict[str, SourceFile] = {}
        self._changed: dict[str, None] = {}

    def add(self, sources: Mapping[str, SourceFile]) -> None:
        """Add the files of a profile."""
        for file, source in sources.items():
            first = self.texts.setdefault(file, source)
            if first.is_left_out or source.is_left_out:
                self.texts[file] = first if first.is_left_out else source
            elif _differ(first, source):
                self._changed[file] = None
            elif first.text is None and source.text is not None:
                self.texts[file] = source

    def warnings(self) -> list[str]:
        """Return a warning for each file with several texts."""
        return [text_differs(file) for file in self._changed]


def text_differs(file: str) -> str:
    """Return the warning that profiles with other texts of a file were merged."""
    return f"{file} differs between the merged profiles; shown is its first text"


def _differ(first: SourceFile, second: SourceFile) -> bool:
    """Tell whether two texts of one file are known to be different."""
    if first.text is not None and second.text is not None:
        return first.text != second.text
    return bool(first.sha256 and second.sha256) and first.sha256 != second.sha256


# Calls.


def _merge_calls(trees: Sequence[CallTree], all_places: Sequence[Places]) -> CallTree:
    """Return one tree of all calls; `all_places` has those of each tree."""
    found = [
        (tree, places) for tree, places in zip(trees, all_places) if tree != NO_CALLS
    ]
    if len(found) == 1 and THREAD not in found[0][1]:
        return found[0][0]
    total = CallSum()
    for tree, places in found:
        total.add(tree, places)
    return total.tree()


class CallSum:
    """The sum of call trees.

    Nodes become one if thread, function and calling line are the same for them and
    for all nodes above them, up to the root.
    """

    def __init__(self) -> None:
        self._functions: dict[Key, int] = {}
        # Parent, line, function and thread.
        self._nodes: dict[tuple[int, int, int, int], int] = {}
        self._numbers: list[list[int]] = [[] for _ in CALL_NUMBERS]
        self._folded = 0
        self._merged: RecordSum[MergedCall] = RecordSum(MERGED_CALLS)

    def add(self, tree: CallTree, places: Places) -> None:
        """Add a tree, whose threads are moved."""
        self._folded += tree.folded
        self._merged.add(MERGED_CALLS.moved(tree.merged, places))
        nodes = node_columns(tree.nodes)
        parents, lines, called, threads, *numbers = nodes.columns
        known, indexes = self._functions, self._nodes
        keys = nodes.functions
        functions = {
            i: known.setdefault(keys[i], len(known)) for i in dict.fromkeys(called)
        }
        if THREAD in places:
            threads = [placed(one, THREAD, places) for one in threads]
        new: list[int] = []
        for parent, line, function, thread in zip(parents, lines, called, threads):
            above = NO_NODE if parent == NO_NODE else new[parent]
            key = (above, line, functions[function], thread)
            new.append(indexes.setdefault(key, len(indexes)))
        for column, more in zip(self._numbers, numbers):
            column.extend([0] * (len(indexes) - len(column)))
            for index, number in zip(new, more):
                column[index] += number

    def tree(self) -> CallTree:
        """Return the sum of all trees."""
        merged = self._merged.records
        if not (self._nodes or self._folded or merged):
            return NO_CALLS
        columns = zip(*self._nodes) if self._nodes else ((),) * 4
        return CallTree(
            nodes=CallNodes(tuple(self._functions), (*columns, *self._numbers)),
            folded=self._folded,
            merged=merged,
        )


def _missing_call_trees(profiles: Sequence[Profile]) -> list[str]:
    """Return a warning if some of the profiles have a call tree and others do not."""
    ran = [one for one in profiles if any(f.thread_lines for f in one.functions)]
    without = sum(not one.calls.nodes for one in ran)
    if not 0 < without < len(ran):
        return []
    some = f"{without} of the {len(ran)} merged profiles"
    have = "has" if without == 1 else "have"
    return [f"{some} {have} no call tree: callers are known for the others only"]


def _merge_ranks(profiles: Sequence[Profile]) -> Ranks:
    """Return the lines of each rank, if one of the profiles has them packed."""
    if not any(profile.ranks.runs for profile in profiles):
        return NO_RANKS  # the threads have them
    from lineprof.model.rank_lines import RanksBuilder, ranks_of  # noqa: PLC0415  # rare

    builder = RanksBuilder()
    for profile in profiles:
        builder.add_ranks(ranks_of(profile))
    return builder.ranks


# Memory. Processes stay apart, and so do their paths.


def _merge_memory(
    profiles: Iterable[Profile], all_places: Iterable[Places]
) -> HostMemory:
    """Return the memory of all profiles; `all_places` has their processes."""
    paths: list[MemoryPath] = []
    sums: list[MemorySum] = []
    runs: list[MemoryRun] = []
    curves: list[MemoryCurve] = []
    for profile, places in zip(profiles, all_places):
        memory = profile.memory
        sums += MEMORY_SUMS.moved(memory.sums, {PATH: moved_by(len(paths))})
        paths += MEMORY_PATHS.moved(memory.paths, places)
        runs += MEMORY_RUNS.moved(memory.runs, places)
        curves += (
            one._replace(process=placed(one.process, PROCESS, places))
            for one in memory.curves
        )
    return HostMemory(
        paths=tuple(paths), sums=tuple(sums), runs=tuple(runs), curves=tuple(curves)
    )


# Traces and GPU data.


def _moved_traces(traces: Iterable[Trace], places: Places) -> Iterator[Trace]:
    """Yield traces with the indexes in the merged profile."""
    for trace in traces:
        yield replace(
            trace,
            process=placed(trace.process, PROCESS, places),
            threads=tuple([placed(one, THREAD, places) for one in trace.threads]),
        )


def _moved_timelines(
    timelines: Iterable[Timeline], places: Places
) -> Iterator[Timeline]:
    """Yield timelines with the indexes in the merged profile."""
    for timeline in timelines:
        yield replace(
            timeline,
            process=placed(timeline.process, PROCESS, places),
            first_path=placed(timeline.first_path, PATH, places),
        )
