"""Several profiles become one."""

from __future__ import annotations

from dataclasses import replace

from lineprof.gpu_records import NO_DEVICE, NO_PATH, Gpu
from lineprof.records import UNKNOWN_THREAD, FunctionStats, SourceFile
from lineprof.stats import Profile
from lineprof.stats_merge_calls import (
    calls_of,
    calls_unknown,
    own_times_of,
    traces_of,
    waits_of,
)
from lineprof.stats_timings import summed
from lineprof.units import NANOSECOND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lineprof.gpu_records import GpuDevice, GpuPath, GpuRun, GpuSum
    from lineprof.gpu_timeline import Timeline
    from lineprof.records import Cell, Process, Thread
    from lineprof.stats_timings import Timings


def _shifted(functions: Iterable[FunctionStats], by: int) -> Iterator[FunctionStats]:
    """Yield `functions` with the threads' indexes moved on."""
    if not by:
        yield from functions
        return
    for function in functions:
        yield function._replace(
            cells=tuple(
                cell if cell.thread == UNKNOWN_THREAD else _shifted_cell(cell, by)
                for cell in function.cells
            ),
        )


def _shifted_cell(cell: Cell, by: int) -> Cell:
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
        own_times=own_times_of(profiles),
        timings=_timings(profiles, unit),
    )


def _timings(profiles: list[Profile], unit: float) -> Timings | None:
    """Return the sum in ticks of `unit` (s); None where ns are the ticks."""
    if len(profiles) == 1:
        return profiles[0].timings
    if all(profile.unit == NANOSECOND for profile in profiles):
        return None
    return summed(profiles, unit)
