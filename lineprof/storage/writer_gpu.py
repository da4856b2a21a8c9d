"""Rows of a ``.lprof`` file that hold GPU data, traces and ranks."""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING

from lineprof.errors import LineprofError
from lineprof.model.relation import DEVICE, FUNCTION, NAME, PATH, THREAD
from lineprof.storage.schema import Indexes, rows_of
from lineprof.storage.schema_gpu import (
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

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lineprof.model.profile import Profile
    from lineprof.model.records import RankRun
    from lineprof.model.timelines import Timeline, Trace
    from lineprof.storage.schema import Ids, Row, Table
    from lineprof.storage.schema_gpu import BatchTables

    Tables = Iterator[tuple[Table, Iterable[Row]]]


def gpu_tables(stats: Profile, refer: Ids) -> Tables:
    """Yield each table of GPU data with its rows; `refer` as for `rows_of`.

    IndexError or KeyError if the data refer to records that the profile does not
    have; LineprofError if a reader would refuse so many events.
    """
    gpu, lines = stats.gpu, stats.gpu.timelines
    _check_count(
        sum(one.count for one in lines),
        "GPU events",
        "merge fewer profiles, or record fewer events",
    )
    texts = [one.name for one in gpu.sums]
    texts += [name for timeline in lines for name in timeline.names]
    names = {name: index for index, name in enumerate(dict.fromkeys(texts))}
    # Lines of paths are those of functions with lines alone.
    ids = {function.key: index for index, function in enumerate(stats.functions)}
    refer = {
        **refer,
        PATH: Indexes(gpu.paths, "path").__getitem__,
        DEVICE: Indexes(gpu.devices, "device").__getitem__,
        NAME: names.__getitem__,
    }
    devices = [
        one._replace(attributes=json.dumps(dict(one.attributes)))  # type: ignore[arg-type]
        for one in gpu.devices
    ]
    launches = [one for timeline in lines for one in timeline.launches]
    owners = [index for index, timeline in enumerate(lines) for _ in timeline.launches]
    yield GPU_RUNS, rows_of(GPU_RUNS, gpu.runs, refer)
    yield GPU_DEVICES, rows_of(GPU_DEVICES, devices, refer, id=count())
    yield GPU_NAMES, enumerate(names)
    yield GPU_PATHS, rows_of(GPU_PATHS, gpu.paths, refer, id=count())
    yield (
        GPU_PATH_LINES,
        (
            (index, ids[key], line)
            for index, path in enumerate(gpu.paths)
            for key, line in path.lines
        ),
    )
    yield GPU_SUMS, rows_of(GPU_SUMS, gpu.sums, refer)
    yield GPU_TIMELINES, rows_of(GPU_TIMELINES, lines, refer, id=count())
    yield (
        GPU_TIMELINE_NAMES,
        (
            (index, names[name])
            for index, timeline in enumerate(lines)
            for name in timeline.names
        ),
    )
    yield GPU_LAUNCHES, rows_of(GPU_LAUNCHES, launches, refer, timeline_id=owners)
    yield from _batch_tables(EVENT_BATCHES, lines)


def trace_tables(stats: Profile, refer: Ids) -> Tables:
    """Yield each table of traces with its rows; `refer` as for `rows_of`.

    IndexError if a trace names a thread that the profile does not have;
    LineprofError if a reader would refuse so many slices.
    """
    traces = (*stats.traces, *stats.gpu.slices)
    _check_count(
        sum(trace.count for trace in traces),
        "slices of time",
        "merge fewer profiles, or record less: kernprof -l --trace-memory MB",
    )
    yield TRACES, rows_of(TRACES, traces, refer, id=count())
    for table, name, to in (
        (TRACE_FUNCTIONS, "functions", FUNCTION),
        (TRACE_THREADS, "threads", THREAD),
    ):
        rows = [
            (index, refer[to](one))
            for index, trace in enumerate(traces)
            for one in getattr(trace, name)
        ]
        yield table, rows
    yield from _batch_tables(SLICE_BATCHES, traces)


def rank_tables(stats: Profile, refer: Ids) -> Tables:
    """Yield each table of ranks with its rows; `refer` as for `rows_of`.

    LineprofError if a reader would refuse so many lines.
    """
    runs = stats.ranks.runs
    _check_count(sum(run.lines for run in runs), "lines of ranks", "merge fewer files")
    yield (
        RANK_LINES,
        (
            (index, refer[FUNCTION](key), line)
            for index, (key, line) in enumerate(stats.ranks.places)
        ),
    )
    yield RANK_RUNS, rows_of(RANK_RUNS, runs, refer, id=count())
    yield from _batch_tables(RANK_LINE_BATCHES, runs)


def _check_count(number: int, of: str, hint: str) -> None:
    if number > MAX_EVENTS:
        message = f"a profile can't hold {number} {of} (at most {MAX_EVENTS})"
        raise LineprofError(message, hint=hint)


def _batch_tables(
    tables: BatchTables, owners: Sequence[Timeline | Trace | RankRun]
) -> Tables:
    """Yield the tables with the batches of timelines, traces or ranks."""
    batches = [
        (index, one) for index, owner in enumerate(owners) for one in owner.batches
    ]
    yield (
        tables.batches,
        ((number, index, one.events) for number, (index, one) in enumerate(batches)),
    )
    yield (
        tables.columns,
        (
            (number, name, data)
            for number, (_, one) in enumerate(batches)
            for name, data in one.columns
        ),
    )
