"""Merging of profiles: the sum of several profiles as one.

Records refer to processes, threads, paths and devices by index. A merged profile has
those of all profiles one after the other, so the indexes of later ones move up.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lineprof.model.gpu import NO_DEVICE, NO_PATH, Gpu
from lineprof.model.profile import Profile, sum_timings
from lineprof.model.records import (
    NO_CALLS,
    NO_NODE,
    NO_RANKS,
    UNKNOWN_THREAD,
    CallNode,
    CallTree,
    FunctionStats,
    SourceFile,
    ranked,
    sum_parts,
)
from lineprof.model.units import NANOSECOND

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import TypeVar

    from lineprof.model.gpu import GpuDevice, GpuPath, GpuRun, GpuSum
    from lineprof.model.profile import Timings
    from lineprof.model.records import (
        Cut,
        Key,
        LineBreakdown,
        MergedCall,
        Process,
        Ranks,
        Thread,
        Wait,
    )
    from lineprof.model.timelines import Timeline, Trace

    Counted = TypeVar("Counted", CallNode, MergedCall)

    NodeKey = tuple[int, int, Key, int]  # parent, line, function, thread


def merge(profiles: Sequence[Profile]) -> Profile:
    """Return the sum of `profiles` (at least one).

    Functions are joined by file, line and name, calls by their call path; processes,
    threads and devices stay apart. The unit is the coarsest. If the text of a file
    differs, the first is kept and a warning added.
    """
    unit = max(profile.unit for profile in profiles)
    functions: list[FunctionStats] = []
    processes: list[Process] = []
    threads: list[Thread] = []
    for profile in profiles:
        functions += _shifted_functions(profile.functions, len(threads))
        threads += [
            thread._replace(process=thread.process + len(processes))
            for thread in profile.threads
        ]
        processes += ranked(profile.processes)
    sources, changes = _merge_sources(profiles)
    warnings = [warning for profile in profiles for warning in profile.warnings]
    return Profile.from_functions(
        functions,
        processes=processes,
        threads=threads,
        sources=sources,
        warnings=dict.fromkeys(warnings + changes + _missing_call_trees(profiles)),
        unit=unit,
        gpu=_merge_gpu(profiles),
        calls=_merge_calls(profiles),
        waits=_merge_waits(profiles),
        traces=_merge_traces(profiles),
        breakdowns=_merge_breakdowns(profiles),
        cuts=_merge_cuts(profiles),
        ranks=_merge_ranks(profiles),
        timings=_merge_timings(profiles, unit),
        source_roots=_merge_source_roots(profiles),
    )


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


# Threads: their indexes in the merged profile.


def _thread_offsets(profiles: Iterable[Profile]) -> Iterator[tuple[Profile, int]]:
    """Yield each profile and the number of threads in the profiles before it."""
    threads = 0
    for profile in profiles:
        yield profile, threads
        threads += len(profile.threads)


def _shifted(thread: int, offset: int) -> int:
    """Return the index of a thread in the merged profile."""
    return thread if thread == UNKNOWN_THREAD else thread + offset


def _shifted_functions(
    functions: Iterable[FunctionStats], offset: int
) -> Iterator[FunctionStats]:
    """Yield `functions` with the indexes of threads in the merged profile."""
    if not offset:
        yield from functions
        return
    for function in functions:
        yield function._replace(
            thread_lines=tuple(
                line
                if line.thread == UNKNOWN_THREAD
                else line._replace(thread=line.thread + offset)
                for line in function.thread_lines
            ),
        )


# Source files.


def _merge_sources(
    profiles: Iterable[Profile],
) -> tuple[dict[str, SourceFile], list[str]]:
    """Return the text of each file, and a warning for each file with several."""
    sources: dict[str, SourceFile] = {}
    changed: dict[str, None] = {}
    for profile in profiles:
        for file, source in profile.sources.items():
            first = sources.setdefault(file, source)
            if first.is_left_out or source.is_left_out:
                sources[file] = first if first.is_left_out else source
            elif differ(first, source):
                changed[file] = None
            elif first.text is None and source.text is not None:
                sources[file] = source
    return sources, [text_differs(file) for file in changed]


def text_differs(file: str) -> str:
    """Return the warning that profiles with other texts of a file were merged."""
    return f"{file} differs between the merged profiles; shown is its first text"


def differ(first: SourceFile, second: SourceFile) -> bool:
    """Tell whether two texts of one file are known to be different."""
    if first.text is not None and second.text is not None:
        return first.text != second.text
    return bool(first.sha256 and second.sha256) and first.sha256 != second.sha256


# Calls, waits and breakdowns of lines.


def _merge_calls(profiles: Sequence[Profile]) -> CallTree:
    """Return one tree of all calls.

    Nodes become one if thread, function and calling line are the same for them and
    for all nodes above them, up to the root.
    """
    trees = [
        (profile.calls, offset)
        for profile, offset in _thread_offsets(profiles)
        if profile.calls != NO_CALLS
    ]
    if not trees:
        return NO_CALLS
    if len(trees) == 1 and not trees[0][1]:
        return trees[0][0]
    indexes: dict[NodeKey, int] = {}
    nodes: list[CallNode] = []
    for tree, offset in trees:
        _add_tree(tree, offset, indexes, nodes)
    return CallTree(
        nodes=tuple(nodes),
        folded=sum(tree.folded for tree, _ in trees),
        merged=sum_merged(
            one._replace(thread=_shifted(one.thread, offset))
            for tree, offset in trees
            for one in tree.merged
        ),
    )


def sum_merged(calls: Iterable[MergedCall]) -> tuple[MergedCall, ...]:
    """Return merged calls with one record for each caller, line, callee and thread."""
    found: dict[tuple[Key | None, int, Key, int], MergedCall] = {}
    for one in calls:
        key = (one.caller, one.line, one.function, one.thread)
        known = found.get(key)
        found[key] = one if known is None else _sum_of_nodes(known, one)
    return tuple(found.values())


def _add_tree(
    tree: CallTree, offset: int, indexes: dict[NodeKey, int], nodes: list[CallNode]
) -> None:
    """Add a tree to `nodes`; `indexes` has the index in `nodes` of each node."""
    new: list[int] = []  # by the index in the tree
    for node in tree.nodes:
        parent = node.parent if node.parent == NO_NODE else new[node.parent]
        thread = _shifted(node.thread, offset)
        key = (parent, node.line, node.function, thread)
        index = indexes.setdefault(key, len(nodes))
        new.append(index)
        if index < len(nodes):
            nodes[index] = _sum_of_nodes(nodes[index], node)
        else:
            nodes.append(node._replace(parent=parent, thread=thread))


def _sum_of_nodes(one: Counted, other: Counted) -> Counted:
    """Return the node `one` with the numbers of `other` added to its own."""
    return one._replace(
        calls=one.calls + other.calls,
        primitive_calls=one.primitive_calls + other.primitive_calls,
        self_ns=one.self_ns + other.self_ns,
        total_ns=one.total_ns + other.total_ns,
        inclusive_ns=one.inclusive_ns + other.inclusive_ns,
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


def _merge_waits(profiles: Sequence[Profile]) -> tuple[Wait, ...]:
    """Return all waits, summed by function, line, thread and cause."""
    return sum_parts(
        wait._replace(thread=_shifted(wait.thread, offset))
        for profile, offset in _thread_offsets(profiles)
        for wait in profile.waits
    )


def _merge_breakdowns(profiles: Sequence[Profile]) -> tuple[LineBreakdown, ...]:
    """Return all breakdowns, summed by function, line, thread and part."""
    return sum_parts(
        one._replace(thread=_shifted(one.thread, offset))
        for profile, offset in _thread_offsets(profiles)
        for one in profile.breakdowns
    )


def _merge_cuts(profiles: Sequence[Profile]) -> tuple[Cut, ...]:
    """Return the cuts of all profiles: each process keeps its own."""
    cuts: list[Cut] = []
    processes = 0
    for profile in profiles:
        cuts += [cut._replace(process=cut.process + processes) for cut in profile.cuts]
        processes += len(profile.processes)
    return tuple(cuts)


def _merge_ranks(profiles: Sequence[Profile]) -> Ranks:
    """Return the lines of each rank, if one of the profiles has them packed."""
    if not any(profile.ranks.runs for profile in profiles):
        return NO_RANKS  # the threads have them
    from lineprof.model.rank_lines import RanksBuilder, ranks_of  # noqa: PLC0415  # rare

    builder = RanksBuilder()
    for profile in profiles:
        builder.add_ranks(ranks_of(profile))
    return builder.ranks


# Traces and GPU data.


def _merge_traces(profiles: Sequence[Profile]) -> tuple[Trace, ...]:
    """Return all traces, with the indexes in the merged profile."""
    traces: list[Trace] = []
    processes = 0
    for profile, offset in _thread_offsets(profiles):
        traces += [_shifted_trace(one, processes, offset) for one in profile.traces]
        processes += len(profile.processes)
    return tuple(traces)


def _shifted_trace(trace: Trace, processes: int, threads: int) -> Trace:
    """Return a trace with the indexes of its process and its threads moved up."""
    return replace(
        trace,
        process=trace.process + processes,
        threads=tuple([_shifted(thread, threads) for thread in trace.threads]),
    )


def _merge_gpu(profiles: Iterable[Profile]) -> Gpu:
    """Return the GPU data of all profiles, with the indexes in the merged profile."""
    paths: list[GpuPath] = []
    sums: list[GpuSum] = []
    devices: list[GpuDevice] = []
    runs: list[GpuRun] = []
    timelines: list[Timeline] = []
    slices: list[Trace] = []
    processes = 0
    for profile, threads in _thread_offsets(profiles):
        gpu = profile.gpu
        offsets = (len(paths), len(devices))
        sums += [
            _shifted_sum(one, *offsets) if any(offsets) else one for one in gpu.sums
        ]
        timelines += [
            replace(
                timeline,
                process=timeline.process + processes,
                first_path=timeline.first_path + len(paths),
            )
            for timeline in gpu.timelines
        ]
        slices += [_shifted_trace(one, processes, threads) for one in gpu.slices]
        paths += [
            one
            if one.thread == UNKNOWN_THREAD or not threads
            else one._replace(thread=one.thread + threads)
            for one in gpu.paths
        ]
        devices += [
            one._replace(process=one.process + processes) for one in gpu.devices
        ]
        runs += [one._replace(process=one.process + processes) for one in gpu.runs]
        processes += len(profile.processes)
    return Gpu(
        paths=tuple(paths),
        sums=tuple(sums),
        devices=tuple(devices),
        runs=tuple(runs),
        timelines=tuple(timelines),
        slices=tuple(slices),
    )


def _shifted_sum(one: GpuSum, paths: int, devices: int) -> GpuSum:
    """Return a sum with the indexes of its paths and its device moved up."""
    return one._replace(
        path=one.path if one.path == NO_PATH else one.path + paths,
        origin=one.origin if one.origin == NO_PATH else one.origin + paths,
        device=one.device if one.device == NO_DEVICE else one.device + devices,
    )
