"""The rows of a profile's file that hold GPU data."""

from __future__ import annotations

import json

from lineprof.gpu_records import NO_DEVICE, NO_PATH
from lineprof.records import UNKNOWN_THREAD
from lineprof.store_schema import (
    GPU_BATCHES,
    GPU_COLUMNS,
    GPU_DEVICES,
    GPU_LAUNCHES,
    GPU_NAMES,
    GPU_PATH_LINES,
    GPU_PATHS,
    GPU_RUNS,
    GPU_SUMS,
    GPU_TIMELINE_NAMES,
    GPU_TIMELINES,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from lineprof.gpu_records import Gpu
    from lineprof.stats import Profile
    from lineprof.store_schema import Table

    Row = Iterable[object]


def tables(stats: Profile) -> Iterator[tuple[Table, Iterable[Row]]]:
    """Yield each table of GPU data with its rows.

    IndexError or KeyError when they speak of what the profile does not have.
    """
    gpu = stats.gpu
    texts = [one.name for one in gpu.sums]
    texts += [name for timeline in gpu.timelines for name in timeline.names]
    names = {name: index for index, name in enumerate(dict.fromkeys(texts))}
    yield GPU_RUNS, _runs(gpu)
    yield GPU_DEVICES, _devices(gpu)
    yield GPU_NAMES, ((index, name) for name, index in names.items())
    yield GPU_PATHS, _paths(stats)
    yield GPU_PATH_LINES, _path_lines(stats)
    yield GPU_SUMS, _sums(gpu, names)
    yield GPU_TIMELINES, _timelines(gpu)
    yield (
        GPU_TIMELINE_NAMES,
        (
            (index, names[name])
            for index, timeline in enumerate(gpu.timelines)
            for name in timeline.names
        ),
    )
    yield (
        GPU_LAUNCHES,
        (
            (index, *launch)
            for index, timeline in enumerate(gpu.timelines)
            for launch in timeline.launches
        ),
    )
    yield GPU_BATCHES, _batches(gpu)
    yield GPU_COLUMNS, _columns(gpu)


def _id(place: int, of: Sequence[object], none: int) -> int | None:
    """Return the id of what has the index `place`; NULL for `none`."""
    if place == none:
        return None
    if not 0 <= place < len(of):
        raise IndexError(f"there is no index {place} in the profile")
    return place


def _runs(gpu: Gpu) -> Iterator[Row]:
    for run in gpu.runs:
        yield (
            run.process,
            run.backend,
            run.reason,
            run.present,
            run.version,
            run.dropped,
            run.invalid,
            run.outstanding,
            run.left_out,
        )


def _devices(gpu: Gpu) -> Iterator[Row]:
    for index, device in enumerate(gpu.devices):
        yield (
            index,
            device.process,
            device.device,
            device.name,
            device.busy_ns,
            device.busy_exact,
            json.dumps(dict(device.attributes)),
        )


def _paths(stats: Profile) -> Iterator[Row]:
    for index, path in enumerate(stats.gpu.paths):
        thread = _id(path.thread, stats.threads, UNKNOWN_THREAD)
        yield (index, thread, path.adopted, path.range)


def _path_lines(stats: Profile) -> Iterator[Row]:
    places = {function.key: place for place, function in enumerate(stats.functions)}
    for index, path in enumerate(stats.gpu.paths):
        for key, line in path.lines:
            yield (index, places[key], line)


def _sums(gpu: Gpu, names: Mapping[str, int]) -> Iterator[Row]:
    for one in gpu.sums:
        yield (
            _id(one.path, gpu.paths, NO_PATH),
            _id(one.origin, gpu.paths, NO_PATH),
            one.kind,
            names[one.name],
            _id(one.device, gpu.devices, NO_DEVICE),
            one.count,
            one.ns,
            one.min_ns,
            one.max_ns,
            one.bytes,
        )


def _timelines(gpu: Gpu) -> Iterator[Row]:
    for index, one in enumerate(gpu.timelines):
        yield (index, one.process, one.count, one.origin_ns, one.first_path)


def _batches(gpu: Gpu) -> Iterator[Row]:
    index = 0
    for timeline, one in enumerate(gpu.timelines):
        for batch in one.batches:
            yield (index, timeline, batch.events)
            index += 1


def _columns(gpu: Gpu) -> Iterator[Row]:
    batches = [batch for one in gpu.timelines for batch in one.batches]
    for index, batch in enumerate(batches):
        for name, data in batch.columns:
            yield (index, name, data)
