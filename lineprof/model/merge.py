"""Merging of profiles: the sum of several profiles as one.

Records refer to processes, threads, paths and devices by index. A merged profile has
those of all profiles one after the other, so the indexes of later ones move up.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lineprof.model.gpu import GPU_DEVICES, GPU_PATHS, GPU_RUNS, GPU_SUMS, Gpu
from lineprof.model.profile import Profile, sum_timings
from lineprof.model.records import (
    CALL_NODES,
    CELLS,
    CUTS,
    MERGED_CALLS,
    NO_CALLS,
    NO_NODE,
    NO_RANKS,
    OWN_TIMES,
    THREADS,
    WAITS,
    CallTree,
    SourceFile,
    ranked,
)
from lineprof.model.relation import DEVICE, NONE, PATH, PROCESS, THREAD
from lineprof.model.units import NANOSECOND

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from lineprof.model.profile import Timings
    from lineprof.model.records import (
        CallNode,
        Cut,
        FunctionStats,
        Key,
        LineBreakdown,
        MergedCall,
        Process,
        Ranks,
        Thread,
        Wait,
    )
    from lineprof.model.timelines import Trace

    NodeKey = tuple[int, int, Key, int]  # parent, line, function, thread


def merge(profiles: Sequence[Profile]) -> Profile:
    """Return the sum of `profiles` (at least one).

    Functions are joined by file, line and name, calls by their call path; processes,
    threads and devices stay apart. The unit is the coarsest. If the text of a file
    differs, the first is kept and a warning added.
    """
    unit = max(profile.unit for profile in profiles)
    processes: list[Process] = []
    threads: list[Thread] = []
    functions: list[FunctionStats] = []
    waits: list[Wait] = []
    breakdowns: list[LineBreakdown] = []
    cuts: list[Cut] = []
    traces: list[Trace] = []
    gpu = Gpu()
    trees: list[tuple[CallTree, Mapping[str, int]]] = []
    for profile in profiles:
        offsets = {
            PROCESS: len(processes),
            THREAD: len(threads),
            PATH: len(gpu.paths),
            DEVICE: len(gpu.devices),
        }
        functions += _moved_functions(profile.functions, offsets)
        waits += WAITS.moved(profile.waits, offsets)
        breakdowns += OWN_TIMES.moved(profile.breakdowns, offsets)
        cuts += CUTS.moved(profile.cuts, offsets)
        traces += _moved_traces(profile.traces, offsets)
        gpu = _with_gpu(gpu, profile.gpu, offsets)
        if profile.calls != NO_CALLS:
            trees.append((profile.calls, offsets))
        threads += THREADS.moved(profile.threads, offsets)
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
        gpu=gpu,
        calls=_merge_calls(trees),
        waits=WAITS.added_up(waits),
        traces=traces,
        breakdowns=OWN_TIMES.added_up(breakdowns),
        cuts=cuts,
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


def _moved_functions(
    functions: Iterable[FunctionStats], offsets: Mapping[str, int]
) -> Iterator[FunctionStats]:
    """Yield `functions` with the indexes of threads in the merged profile."""
    for function in functions:
        if not offsets[THREAD]:
            yield function
            continue
        lines = CELLS.moved(function.thread_lines, offsets)
        yield function._replace(thread_lines=tuple(lines))


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


# Calls.


def _merge_calls(trees: Sequence[tuple[CallTree, Mapping[str, int]]]) -> CallTree:
    """Return one tree of all calls; each tree has the offsets of its references.

    Nodes become one if thread, function and calling line are the same for them and
    for all nodes above them, up to the root.
    """
    if not trees:
        return NO_CALLS
    (first, offsets), *others = trees
    if not others and not offsets[THREAD]:
        return first
    indexes: dict[NodeKey, int] = {}
    nodes: list[CallNode] = []
    merged: list[MergedCall] = []
    for tree, offsets in trees:
        _add_tree(CALL_NODES.moved(tree.nodes, offsets), indexes, nodes)
        merged += MERGED_CALLS.moved(tree.merged, offsets)
    return CallTree(
        nodes=tuple(nodes),
        folded=sum(tree.folded for tree, _ in trees),
        merged=MERGED_CALLS.added_up(merged),
    )


def _add_tree(
    tree: Iterable[CallNode], indexes: dict[NodeKey, int], nodes: list[CallNode]
) -> None:
    """Add a tree to `nodes`; `indexes` has the index in `nodes` of each node."""
    new: list[int] = []  # by the index in the tree
    for node in tree:
        parent = node.parent if node.parent == NO_NODE else new[node.parent]
        key = (parent, node.line, node.function, node.thread)
        index = indexes.setdefault(key, len(nodes))
        new.append(index)
        if index < len(nodes):
            nodes[index] = CALL_NODES.sum(nodes[index], node)
        else:
            nodes.append(node._replace(parent=parent))


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


# Traces and GPU data.


def _moved_traces(
    traces: Iterable[Trace], offsets: Mapping[str, int]
) -> Iterator[Trace]:
    """Yield traces with the indexes in the merged profile."""
    for trace in traces:
        threads = [
            one if one == NONE else one + offsets[THREAD] for one in trace.threads
        ]
        process = trace.process + offsets[PROCESS]
        yield replace(trace, process=process, threads=tuple(threads))


def _with_gpu(before: Gpu, gpu: Gpu, offsets: Mapping[str, int]) -> Gpu:
    """Return the GPU data of both, with the indexes in the merged profile."""
    timelines = [
        replace(
            one,
            process=one.process + offsets[PROCESS],
            first_path=one.first_path + offsets[PATH],
        )
        for one in gpu.timelines
    ]
    return Gpu(
        paths=(*before.paths, *GPU_PATHS.moved(gpu.paths, offsets)),
        sums=(*before.sums, *GPU_SUMS.moved(gpu.sums, offsets)),
        devices=(*before.devices, *GPU_DEVICES.moved(gpu.devices, offsets)),
        runs=(*before.runs, *GPU_RUNS.moved(gpu.runs, offsets)),
        timelines=(*before.timelines, *timelines),
        slices=(*before.slices, *_moved_traces(gpu.slices, offsets)),
    )
