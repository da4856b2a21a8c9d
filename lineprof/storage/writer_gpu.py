"""Rows of a ``.lprof`` file that hold GPU data, traces and ranks."""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING

from lineprof.errors import LineprofError
from lineprof.model.gpu import NO_DEVICE, NO_PATH
from lineprof.model.records import UNKNOWN_THREAD
from lineprof.storage.schema import (
    EVENT_BATCHES,
    GPU_DEVICES,
    GPU_LAUNCHES,
    GPU_NAMES,
    GPU_PATH_LINES,
    GPU_PATHS,
    GPU_RUNS,
    GPU_SUMS,
    GPU_TIMELINE_NAMES,
    GPU_TIMELINES,
    MAX_EVENTS,
    RANK_LINE_BATCHES,
    RANK_LINES,
    RANK_RUNS,
    SLICE_BATCHES,
    TRACE_FUNCTIONS,
    TRACE_THREADS,
    TRACES,
)
from lineprof.storage.writer import id_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from lineprof.model.gpu import Gpu
    from lineprof.model.profile import Profile
    from lineprof.model.records import Key, RankRun
    from lineprof.model.timelines import Timeline, Trace
    from lineprof.storage.schema import BatchTables, Table

    Row = Iterable[object]


def gpu_tables(stats: Profile) -> Iterator[tuple[Table, Iterable[Row]]]:
    """Yield each table of GPU data with its rows.

    IndexError or KeyError if the data refer to records that the profile does not
    have; LineprofError if a reader would refuse so many events.
    """
    gpu = stats.gpu
    events = sum(timeline.count for timeline in gpu.timelines)
    if events > MAX_EVENTS:
        raise LineprofError(
            f"a profile can't hold {events} GPU events (at most {MAX_EVENTS})",
            hint="merge fewer profiles, or record fewer events",
        )
    texts = [one.name for one in gpu.sums]
    texts += [name for timeline in gpu.timelines for name in timeline.names]
    names = {name: index for index, name in enumerate(dict.fromkeys(texts))}
    yield GPU_RUNS, _runs(gpu)
    yield GPU_DEVICES, _devices(gpu)
    yield GPU_NAMES, (GPU_NAMES.row(id=names[name], name=name) for name in names)
    yield GPU_PATHS, _paths(stats)
    yield GPU_PATH_LINES, _path_lines(stats)
    yield GPU_SUMS, _sums(gpu, names)
    yield GPU_TIMELINES, _timelines(gpu)
    yield GPU_TIMELINE_NAMES, _timeline_names(gpu, names)
    yield GPU_LAUNCHES, _launches(gpu)
    yield from _batch_tables(EVENT_BATCHES, gpu.timelines)


def _runs(gpu: Gpu) -> Iterator[Row]:
    for run in gpu.runs:
        yield GPU_RUNS.row(
            process_id=run.process,
            backend=run.backend,
            reason=run.reason,
            present=run.present,
            version=run.version,
            dropped=run.dropped,
            invalid=run.invalid,
            outstanding=run.outstanding,
            left_out=run.left_out,
            realigned=run.realigned,
            undated=run.undated,
            unfinished=run.unfinished,
            cut_ns=run.cut_ns,
            foreign_buffers=run.foreign_buffers,
            taken=run.taken,
        )


def _devices(gpu: Gpu) -> Iterator[Row]:
    for index, device in enumerate(gpu.devices):
        yield GPU_DEVICES.row(
            id=index,
            process_id=device.process,
            device=device.device,
            name=device.name,
            busy_ns=device.busy_ns,
            busy_exact=device.busy_exact,
            attributes=json.dumps(dict(device.attributes)),
        )


def _paths(stats: Profile) -> Iterator[Row]:
    for index, path in enumerate(stats.gpu.paths):
        yield GPU_PATHS.row(
            id=index,
            thread_id=id_of(path.thread, stats.threads, UNKNOWN_THREAD, "thread"),
            adopted=path.adopted,
            nvtx_payload=path.range,
        )


def _path_lines(stats: Profile) -> Iterator[Row]:
    ids = {function.key: index for index, function in enumerate(stats.functions)}
    for index, path in enumerate(stats.gpu.paths):
        for key, line in path.lines:
            yield GPU_PATH_LINES.row(path_id=index, function_id=ids[key], line=line)


def _sums(gpu: Gpu, names: Mapping[str, int]) -> Iterator[Row]:
    for one in gpu.sums:
        yield GPU_SUMS.row(
            path_id=id_of(one.path, gpu.paths, NO_PATH, "path"),
            origin_id=id_of(one.origin, gpu.paths, NO_PATH, "path"),
            kind=one.kind,
            name_id=names[one.name],
            device_id=id_of(one.device, gpu.devices, NO_DEVICE, "device"),
            count=one.count,
            ns=one.ns,
            min_ns=one.min_ns,
            max_ns=one.max_ns,
            bytes=one.bytes,
        )


def _timelines(gpu: Gpu) -> Iterator[Row]:
    for index, timeline in enumerate(gpu.timelines):
        yield GPU_TIMELINES.row(
            id=index,
            process_id=timeline.process,
            events=timeline.count,
            origin_ns=timeline.origin_ns,
            first_path=timeline.first_path,
        )


def _timeline_names(gpu: Gpu, names: Mapping[str, int]) -> Iterator[Row]:
    for index, timeline in enumerate(gpu.timelines):
        for name in timeline.names:
            yield GPU_TIMELINE_NAMES.row(timeline_id=index, name_id=names[name])


def _launches(gpu: Gpu) -> Iterator[Row]:
    for index, timeline in enumerate(gpu.timelines):
        for launch in timeline.launches:
            yield GPU_LAUNCHES.row(
                timeline_id=index,
                grid_x=launch.grid_x,
                grid_y=launch.grid_y,
                grid_z=launch.grid_z,
                block_x=launch.block_x,
                block_y=launch.block_y,
                block_z=launch.block_z,
                registers=launch.registers,
                static_smem=launch.static_smem,
                dynamic_smem=launch.dynamic_smem,
            )


def trace_tables(
    stats: Profile, ids: Mapping[Key, int]
) -> Iterator[tuple[Table, Iterable[Row]]]:
    """Yield each table of traces with its rows; `ids` are those of functions.

    IndexError if a trace names a thread that the profile does not have;
    LineprofError if a reader would refuse so many slices.
    """
    traces = (*stats.traces, *stats.gpu.slices)
    slices = sum(trace.count for trace in traces)
    if slices > MAX_EVENTS:
        raise LineprofError(
            f"a profile can't hold {slices} slices of time (at most {MAX_EVENTS})",
            hint="merge fewer profiles, or record less: kernprof -l --trace-memory MB",
        )
    yield TRACES, _traces(traces)
    yield TRACE_FUNCTIONS, _trace_functions(traces, ids)
    yield TRACE_THREADS, _trace_threads(stats, traces)
    yield from _batch_tables(SLICE_BATCHES, traces)


def _traces(traces: Iterable[Trace]) -> Iterator[Row]:
    for index, trace in enumerate(traces):
        yield TRACES.row(
            id=index,
            process_id=trace.process,
            slices=trace.count,
            left_out=trace.left_out,
            origin_ns=trace.origin_ns,
            min_ns=trace.min_ns,
            min_line_ns=trace.min_line_ns,
            full_ns=trace.full_ns,
        )


def _trace_functions(traces: Iterable[Trace], ids: Mapping[Key, int]) -> Iterator[Row]:
    for index, trace in enumerate(traces):
        for key in trace.functions:
            yield TRACE_FUNCTIONS.row(trace_id=index, function_id=ids[key])


def _trace_threads(stats: Profile, traces: Iterable[Trace]) -> Iterator[Row]:
    for index, trace in enumerate(traces):
        for thread in trace.threads:
            yield TRACE_THREADS.row(
                trace_id=index,
                thread_id=id_of(thread, stats.threads, UNKNOWN_THREAD, "thread"),
            )


def rank_tables(
    stats: Profile, ids: Mapping[Key, int]
) -> Iterator[tuple[Table, Iterable[Row]]]:
    """Yield each table of ranks with its rows; `ids` are those of functions.

    LineprofError if a reader would refuse so many lines.
    """
    runs = stats.ranks.runs
    lines = sum(batch.events for run in runs for batch in run.batches)
    if lines > MAX_EVENTS:
        raise LineprofError(
            f"a profile can't hold {lines} lines of ranks (at most {MAX_EVENTS})",
            hint="merge fewer files",
        )
    yield (
        RANK_LINES,
        (
            RANK_LINES.row(id=index, function_id=ids[key], line=line)
            for index, (key, line) in enumerate(stats.ranks.places)
        ),
    )
    yield RANK_RUNS, _rank_runs(runs)
    yield from _batch_tables(RANK_LINE_BATCHES, runs)


def _rank_runs(runs: Iterable[RankRun]) -> Iterator[Row]:
    for index, run in enumerate(runs):
        yield RANK_RUNS.row(
            id=index,
            rank=run.rank,
            lines=sum(batch.events for batch in run.batches),
            wall_ns=run.wall_ns,
            mpi_ns=run.mpi_ns,
        )


# Batches of packed columns: the tables of timelines, traces and ranks are alike.


def _batch_tables(
    tables: BatchTables, owners: Sequence[Timeline | Trace | RankRun]
) -> Iterator[tuple[Table, Iterable[Row]]]:
    """Yield the tables with the batches of timelines, or of traces, and their rows."""
    yield tables.batches, _batches(tables, owners)
    yield tables.columns, _columns(tables.columns, owners)


def _batches(
    tables: BatchTables, owners: Sequence[Timeline | Trace | RankRun]
) -> Iterator[Row]:
    ids = count()
    for owner_id, owner in enumerate(owners):
        for batch in owner.batches:
            row = {tables.owner_id: owner_id, tables.items: batch.events}
            yield tables.batches.row(id=next(ids), **row)


def _columns(
    table: Table, owners: Sequence[Timeline | Trace | RankRun]
) -> Iterator[Row]:
    batches = [batch for owner in owners for batch in owner.batches]
    for batch_id, batch in enumerate(batches):
        for name, data in batch.columns:
            yield table.row(batch_id=batch_id, name=name, data=data)
