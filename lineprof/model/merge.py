"""Several profiles become one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lineprof.model.gpu import NO_DEVICE, NO_PATH, Gpu
from lineprof.model.profile import Profile, sum_timings
from lineprof.model.records import (
    NO_CALLS,
    NO_NODE,
    UNKNOWN_THREAD,
    CallNode,
    CallTree,
    FunctionStats,
    LineBreakdown,
    SourceFile,
    Wait,
)
from lineprof.model.units import NANOSECOND

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lineprof.model.gpu import GpuDevice, GpuPath, GpuRun, GpuSum
    from lineprof.model.profile import Timings
    from lineprof.model.records import Key, Process, Thread, ThreadLine
    from lineprof.model.timelines import Timeline, Trace

    Way = tuple[int, int, Key, int]  # parent, line, function, thread


def _shifted(functions: Iterable[FunctionStats], by: int) -> Iterator[FunctionStats]:
    """Yield `functions` with the threads' indexes moved on."""
    if not by:
        yield from functions
        return
    for function in functions:
        yield function._replace(
            thread_lines=tuple(
                cell if cell.thread == UNKNOWN_THREAD else _shifted_cell(cell, by)
                for cell in function.thread_lines
            ),
        )


def _shifted_cell(cell: ThreadLine, by: int) -> ThreadLine:
    """Return `cell` of another thread."""
    return cell._replace(thread=cell.thread + by)


def _gpu(profiles: Iterable[Profile]) -> Gpu:
    """Return the GPU data of all `profiles`, its indexes moved on."""
    paths: list[GpuPath] = []
    sums: list[GpuSum] = []
    devices: list[GpuDevice] = []
    runs: list[GpuRun] = []
    timelines: list[Timeline] = []
    processes = threads = 0
    for profile in profiles:
        gpu = profile.gpu
        shifts = (len(paths), len(devices))
        sums += [_shifted_sum(one, *shifts) if any(shifts) else one for one in gpu.sums]
        for timeline in gpu.timelines:
            moved = replace(
                timeline,
                process=timeline.process + processes,
                first_path=timeline.first_path + len(paths),
            )
            timelines.append(moved)
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
        threads += len(profile.threads)
    return Gpu(
        paths=tuple(paths),
        sums=tuple(sums),
        devices=tuple(devices),
        runs=tuple(runs),
        timelines=tuple(timelines),
    )


def _shifted_sum(one: GpuSum, paths: int, devices: int) -> GpuSum:
    return one._replace(
        path=one.path if one.path == NO_PATH else one.path + paths,
        origin=one.origin if one.origin == NO_PATH else one.origin + paths,
        device=one.device if one.device == NO_DEVICE else one.device + devices,
    )


def _differ(first: SourceFile, second: SourceFile) -> bool:
    """Tell whether two texts of one file are known to be different."""
    if first.text is not None and second.text is not None:
        return first.text != second.text
    return bool(first.sha256 and second.sha256) and first.sha256 != second.sha256


def _sources(profiles: Iterable[Profile]) -> tuple[dict[str, SourceFile], list[str]]:
    """Return the text of each file, and a warning for each that has several."""
    sources: dict[str, SourceFile] = {}
    changed: dict[str, None] = {}
    for profile in profiles:
        for file, source in profile.sources.items():
            first = sources.setdefault(file, source)
            if _differ(first, source):
                changed[file] = None
            elif first.text is None and source.text is not None:
                sources[file] = source
    return sources, [
        f"{file} differs between the merged profiles; shown is its first text"
        for file in changed
    ]


def merge(profiles: list[Profile]) -> Profile:
    """Return the sum of `profiles` (at least one).

    Functions are joined by file, line and name, calls by the way to them;
    processes, threads and devices stay apart; the unit is the coarsest; where
    the text of a file differs, the first is kept and a warning added.
    """
    unit = max(profile.unit for profile in profiles)
    functions: list[FunctionStats] = []
    processes: list[Process] = []
    threads: list[Thread] = []
    for profile in profiles:
        functions += _shifted(profile.functions, by=len(threads))
        threads += [
            thread._replace(process=thread.process + len(processes))
            for thread in profile.threads
        ]
        processes += profile.processes
    sources, changes = _sources(profiles)
    warnings = [warning for profile in profiles for warning in profile.warnings]
    return Profile.from_functions(
        functions,
        processes=processes,
        threads=threads,
        sources=sources,
        warnings=dict.fromkeys(warnings + changes + calls_unknown(profiles)),
        unit=unit,
        gpu=_gpu(profiles),
        calls=calls_of(profiles),
        waits=waits_of(profiles),
        traces=traces_of(profiles),
        breakdowns=own_times_of(profiles),
        timings=_timings(profiles, unit),
    )


def _timings(profiles: list[Profile], unit: float) -> Timings | None:
    """Return the sum in ticks of `unit` (s); None where ns are the ticks."""
    if len(profiles) == 1:
        return profiles[0].timings
    if all(profile.unit == NANOSECOND for profile in profiles):
        return None
    return sum_timings(profiles, unit)


# Calls, waits and traces of several profiles become one's.


def _moved(thread: int, by: int) -> int:
    """Return a thread's index, with so many others before it."""
    return thread if thread == UNKNOWN_THREAD else thread + by


def _shifts(profiles: Iterable[Profile]) -> Iterator[tuple[Profile, int]]:
    """Yield each profile and how many threads those before it have."""
    threads = 0
    for profile in profiles:
        yield profile, threads
        threads += len(profile.threads)


def calls_of(profiles: Sequence[Profile]) -> CallTree:
    """Return one tree of all calls, with the threads' indexes moved on.

    Nodes become one where thread, function and line are the same, and those of
    all nodes above them up to the root, too.
    """
    trees = [(one.calls, by) for one, by in _shifts(profiles) if one.calls != NO_CALLS]
    if not trees:
        return NO_CALLS
    if len(trees) == 1 and not trees[0][1]:
        return trees[0][0]
    places: dict[Way, int] = {}
    nodes: list[CallNode] = []
    for tree, by in trees:
        _add_tree(tree, by, places, nodes)
    return CallTree(tuple(nodes), sum(tree.folded for tree, _ in trees))


def _add_tree(
    tree: CallTree, by: int, places: dict[Way, int], nodes: list[CallNode]
) -> None:
    """Add a tree to `nodes`; `places` has the index there of each way."""
    new: list[int] = []  # by the index in the tree
    for node in tree.nodes:
        parent = node.parent if node.parent == NO_NODE else new[node.parent]
        thread = _moved(node.thread, by)
        way = (parent, node.line, node.function, thread)
        place = places.setdefault(way, len(nodes))
        new.append(place)
        if place < len(nodes):
            nodes[place] = _sum(nodes[place], node)
            continue
        nodes.append(node._replace(parent=parent, thread=thread))


def _sum(one: CallNode, other: CallNode) -> CallNode:
    """Return the node `one` with the numbers of `other` added to its own."""
    return one._replace(
        calls=one.calls + other.calls,
        primitive_calls=one.primitive_calls + other.primitive_calls,
        self_ns=one.self_ns + other.self_ns,
        total_ns=one.total_ns + other.total_ns,
        inclusive_ns=one.inclusive_ns + other.inclusive_ns,
    )


def calls_unknown(profiles: Sequence[Profile]) -> list[str]:
    """Return what to say where some profiles have calls and others have none."""
    ran = [one for one in profiles if any(f.thread_lines for f in one.functions)]
    without = sum(not one.calls.nodes for one in ran)
    if not 0 < without < len(ran):
        return []
    some = f"{without} of the {len(ran)} merged profiles"
    have = "has" if without == 1 else "have"
    return [f"{some} {have} no call tree: who called whom is told of the others alone"]


def waits_of(profiles: Sequence[Profile]) -> tuple[Wait, ...]:
    """Return all waits, with the threads' indexes moved on, and added up."""
    sums: dict[tuple[Key, int, int, str], int] = {}
    for profile, by in _shifts(profiles):
        for one in profile.waits:
            place = (one.function, one.line, _moved(one.thread, by), one.cause)
            sums[place] = sums.get(place, 0) + one.ns
    return tuple(
        [
            Wait(function=function, line=line, thread=thread, cause=cause, ns=ns)
            for (function, line, thread, cause), ns in sums.items()
        ]
    )


def own_times_of(profiles: Sequence[Profile]) -> tuple[LineBreakdown, ...]:
    """Return all own times of lines in the same way."""
    sums: dict[tuple[Key, int, int, str], int] = {}
    for profile, by in _shifts(profiles):
        for one in profile.breakdowns:
            place = (one.function, one.line, _moved(one.thread, by), one.part)
            sums[place] = sums.get(place, 0) + one.ns
    return tuple(
        [
            LineBreakdown(function=function, line=line, thread=thread, part=part, ns=ns)
            for (function, line, thread, part), ns in sums.items()
        ]
    )


def traces_of(profiles: Sequence[Profile]) -> tuple[Trace, ...]:
    """Return all traces, with the indexes of processes and threads moved on."""
    traces: list[Trace] = []
    processes = 0
    for profile, by in _shifts(profiles):
        traces += [
            replace(
                one,
                process=one.process + processes,
                threads=tuple([_moved(thread, by) for thread in one.threads]),
            )
            for one in profile.traces
        ]
        processes += len(profile.processes)
    return tuple(traces)
