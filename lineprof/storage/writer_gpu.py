"""Rows of a ``.lprof`` file that hold GPU data, traces and ranks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeVar

from lineprof.errors import LineprofError
from lineprof.model.gpu_memory import NO_GPU_MEMORY
from lineprof.model.relation import DEVICE, FUNCTION, NAME, PATH, THREAD
from lineprof.storage import schema_gpu
from lineprof.storage.schema import Indexes, filled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lineprof.model.profile import Profile
    from lineprof.model.records import RankRun
    from lineprof.model.timelines import Timeline, Trace
    from lineprof.storage.schema import Filled, Ids
    from lineprof.storage.schema_gpu import BatchTables

Part = TypeVar("Part")


def gpu_tables(stats: Profile, refer: Ids) -> Iterator[Filled]:
    """Yield each table of GPU data with its rows; `refer` as for `filled`.

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
    path_lines = _numbered(path.lines for path in gpu.paths)
    name_lists = _numbered(timeline.names for timeline in lines)
    launches = [*_numbered(timeline.launches for timeline in lines)]
    yield filled(schema_gpu.GPU_RUNS, gpu.runs, refer)
    yield filled(schema_gpu.GPU_DEVICES, devices, refer)
    yield schema_gpu.GPU_NAMES, enumerate(names)
    yield filled(schema_gpu.GPU_PATHS, gpu.paths, refer)
    yield (
        schema_gpu.GPU_PATH_LINES,
        ((index, ids[key], line) for index, (key, line) in path_lines),
    )
    yield filled(schema_gpu.GPU_SUMS, gpu.sums, refer)
    yield filled(schema_gpu.GPU_TIMELINES, lines, refer)
    yield (
        schema_gpu.GPU_TIMELINE_NAMES,
        ((index, names[name]) for index, name in name_lists),
    )
    yield filled(
        schema_gpu.GPU_LAUNCHES,
        [one for _, one in launches],
        refer,
        timeline_id=[index for index, _ in launches],
    )
    yield from _batch_tables(schema_gpu.EVENT_BATCHES, lines)
    memory = gpu.memory
    if memory != NO_GPU_MEMORY:
        sums = [
            one._replace(freed_bytes=min(one.freed_bytes, one.alloc_bytes))
            for one in memory.sums  # of a difference, more may be freed
        ]
        yield filled(schema_gpu.GPU_MEMORY_SUMS, sums, refer)
        yield filled(schema_gpu.GPU_MEMORY_PEAKS, memory.peaks, refer)
        yield filled(schema_gpu.GPU_MEMORY_RUNS, memory.runs, refer)


def trace_tables(stats: Profile, refer: Ids) -> Iterator[Filled]:
    """Yield each table of traces with its rows; `refer` as for `filled`.

    IndexError if a trace names a thread that the profile does not have;
    LineprofError if a reader would refuse so many slices.
    """
    traces = (*stats.traces, *stats.gpu.slices)
    _check_count(
        sum(trace.count for trace in traces),
        "slices of time",
        "merge fewer profiles, or record less: kernprof -l --trace-memory MB",
    )
    yield filled(schema_gpu.TRACES, traces, refer)
    functions = _numbered(trace.functions for trace in traces)
    yield (
        schema_gpu.TRACE_FUNCTIONS,
        [(index, refer[FUNCTION](one)) for index, one in functions],
    )
    threads = _numbered(trace.threads for trace in traces)
    yield (
        schema_gpu.TRACE_THREADS,
        [(index, refer[THREAD](one)) for index, one in threads],
    )
    yield from _batch_tables(schema_gpu.SLICE_BATCHES, traces)


def rank_tables(stats: Profile, refer: Ids) -> Iterator[Filled]:
    """Yield each table of ranks with its rows; `refer` as for `filled`.

    LineprofError if a reader would refuse so many lines.
    """
    runs = stats.ranks.runs
    _check_count(sum(run.lines for run in runs), "lines of ranks", "merge fewer files")
    yield (
        schema_gpu.RANK_LINES,
        (
            (index, refer[FUNCTION](key), line)
            for index, (key, line) in enumerate(stats.ranks.places)
        ),
    )
    yield filled(schema_gpu.RANK_RUNS, runs, refer)
    yield from _batch_tables(schema_gpu.RANK_LINE_BATCHES, runs)


def _check_count(number: int, of: str, hint: str) -> None:
    if number > schema_gpu.MAX_EVENTS:
        most = schema_gpu.MAX_EVENTS
        message = f"a profile can't hold {number} {of} (at most {most})"
        raise LineprofError(message, hint=hint)


def _numbered(parts: Iterable[Iterable[Part]]) -> Iterator[tuple[int, Part]]:
    """Yield the parts of all owners, each with the index of its owner."""
    for index, own in enumerate(parts):
        for part in own:
            yield index, part


def _batch_tables(
    tables: BatchTables, owners: Sequence[Timeline | Trace | RankRun]
) -> Iterator[Filled]:
    """Yield the tables with the batches of timelines, traces or ranks."""
    batches = [*_numbered(owner.batches for owner in owners)]
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
