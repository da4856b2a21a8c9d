"""Reading the GPU data of a profile's file, which anyone may have made or damaged."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lineprof.model.gpu import (
    NO_DEVICE,
    NO_PATH,
    Gpu,
    GpuDevice,
    GpuPath,
    GpuRun,
    GpuSum,
)
from lineprof.model.records import UNKNOWN_THREAD
from lineprof.model.timelines import (
    EVENT_COLUMNS,
    EVENTS_PER_BATCH,
    SLICE_COLUMNS,
    SLICES_PER_BATCH,
    Batch,
    Timeline,
    Trace,
    columns_of,
    unpack_events,
)
from lineprof.storage.schema import (
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
    MOST_EVENTS,
    TRACE_BATCHES,
    TRACE_COLUMNS,
    TRACE_FUNCTIONS,
    TRACE_THREADS,
    TRACES,
    Damaged,
    known,
    natural,
    places_of,
    rows_of,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from lineprof.model.records import Key
    from lineprof.storage.schema import Rows, Table

    Places = Mapping[object, int]


# Reading batches of packed columns: timelines have some, and traces.
#
# They stay packed; whose they are sees to it that they are fit to use.


@dataclass(frozen=True)
class Batches:
    """Where something has its batches, and how they are spoken of."""

    batches: Table
    columns: Table
    names: Iterable[str]  # of columns; later versions' are passed over
    longest: int  # so much in one
    owner: str  # "timeline"
    items: str  # "events"

    def read(self, db: sqlite3.Connection, owners: Rows) -> dict[object, list[Batch]]:
        """Return the batches in order, by the id that is first in `owners`' rows.

        Damaged where one has none, is too long, or all together are.
        """
        rows = rows_of(db, self.batches)
        columns = self._columns(db, places_of(rows))
        most = MOST_EVENTS
        found: dict[object, list[Batch]] = {index: [] for index, *_ in owners}
        for index, owner, count in rows:
            if not 0 < count <= self.longest:
                raise Damaged(f"a batch has {count} {self.items}")
            most -= count
            if most < 0:
                text = f"the {self.owner}s have more than {MOST_EVENTS} {self.items}"
                raise Damaged(text)
            own = columns[index]
            made = tuple((name, own[name]) for name in self.names if name in own)
            known(found, owner, self.owner).append(Batch(count, made))
        return found

    def _columns(
        self, db: sqlite3.Connection, batches: Iterable[object]
    ) -> dict[object, dict[str, bytes]]:
        columns: dict[object, dict[str, bytes]] = {index: {} for index in batches}
        for index, name, data in rows_of(db, self.columns):
            of_batch = known(columns, index, "batch")
            if name in of_batch:
                raise Damaged(f"a batch has two columns {name}")
            of_batch[name] = data
        return columns

    def grouped(self, owners: Rows, parts: Rows) -> dict[object, list[Any]]:
        """Return `parts` by the owner in their first column, which is cut off."""
        groups: dict[object, list[Any]] = {index: [] for index, *_ in owners}
        for owner, *part in parts:
            known(groups, owner, self.owner).append(part)
        return groups


def gpu_of(
    db: sqlite3.Connection,
    keys: Mapping[object, Key],
    processes: Places,
    threads: Places,
) -> Gpu:
    """Return the GPU data in an open and checked database; Damaged if they are.

    `keys`, `processes` and `threads` have the functions, and the indexes of
    the others, by their ids.
    """
    names = {row[0]: row[1] for row in rows_of(db, GPU_NAMES)}
    path_rows = rows_of(db, GPU_PATHS)
    device_rows = rows_of(db, GPU_DEVICES)
    paths, devices = places_of(path_rows), places_of(device_rows)
    made = list(_paths(db, path_rows, keys, threads))
    return Gpu(
        paths=tuple(made),
        sums=tuple(_sums(db, names, paths, devices)),
        devices=tuple(_device(row, processes) for row in device_rows),
        runs=tuple(_run(row, processes) for row in rows_of(db, GPU_RUNS)),
        timelines=tuple(timelines_of(db, names, processes, len(made))),
    )


def _bool(number: int) -> bool:
    if number not in {0, 1}:
        raise Damaged(f"{number} where yes or no is due")
    return number == 1


def _paths(
    db: sqlite3.Connection,
    rows: Rows,
    keys: Mapping[object, Key],
    threads: Places,
) -> Iterator[GpuPath]:
    lines: dict[object, list[tuple[Key, int]]] = {index: [] for index, *_ in rows}
    for path, function, line in rows_of(db, GPU_PATH_LINES):
        key = known(keys, function, "function")
        known(lines, path, "path").append((key, line))
    for index, thread, adopted, payload in rows:
        if not lines[index]:
            raise Damaged(f"path {index} has no lines")
        place = UNKNOWN_THREAD
        if thread is not None:
            place = known(threads, thread, "thread")
        natural([payload], "a path")
        yield GpuPath(
            thread=place,
            adopted=_bool(adopted),
            lines=tuple(lines[index]),
            range=payload,
        )


def _sums(
    db: sqlite3.Connection, names: Mapping[object, str], paths: Places, devices: Places
) -> Iterator[GpuSum]:
    for path, origin, kind, name, device, *numbers in rows_of(db, GPU_SUMS):
        natural(numbers, "a sum")
        count, ns, least, most, size = numbers
        if least > most:
            raise Damaged(f"a sum has a least time of {least} and a greatest of {most}")
        yield GpuSum(
            path=NO_PATH if path is None else known(paths, path, "path"),
            origin=NO_PATH if origin is None else known(paths, origin, "path"),
            kind=kind,
            name=known(names, name, "name"),
            device=NO_DEVICE if device is None else known(devices, device, "device"),
            count=count,
            ns=ns,
            min_ns=least,
            max_ns=most,
            bytes=size,
        )


def _device(row: tuple[Any, ...], processes: Places) -> GpuDevice:
    _, process, device, name, busy_ns, exact, text = row
    natural([device, busy_ns], "a device")
    limits = json.loads(text)
    if not isinstance(limits, dict) or not all(map(_is_limit, limits.values())):
        raise Damaged("the attributes of a device are no numbers by name")
    return GpuDevice(
        process=known(processes, process, "process"),
        device=device,
        name=name,
        busy_ns=busy_ns,
        busy_exact=_bool(exact),
        attributes=tuple(limits.items()),
    )


def _is_limit(value: object) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def _run(row: tuple[Any, ...], processes: Places) -> GpuRun:
    process, backend, reason, present, *numbers = row
    natural(numbers, "a run")
    version, dropped, invalid, outstanding, left_out = numbers
    return GpuRun(
        process=known(processes, process, "process"),
        backend=backend,
        reason=reason,
        present=_bool(present),
        version=version,
        dropped=dropped,
        invalid=invalid,
        outstanding=outstanding,
        left_out=left_out,
    )


# Reading the timelines of a profile's file, which anyone may have made or damaged.
#
# They stay packed; each batch is unpacked once, to see that it will be fit to use.


_INTEGER_END = 1 << 63  # of those that SQLite can hold

_EVENT_BATCHES = Batches(
    GPU_BATCHES, GPU_COLUMNS, EVENT_COLUMNS, EVENTS_PER_BATCH, "timeline", "events"
)

_LAUNCH = range(-(1 << 31), 1 << 32)  # a driver's integers have 32 bits


def timelines_of(
    db: sqlite3.Connection,
    names: Mapping[object, str],
    processes: Places,
    n_paths: int,
) -> Iterator[Timeline]:
    """Yield the timelines in an open and checked database; Damaged if they are.

    `names` and `processes` have texts and indexes by their ids; `n_paths` is
    how many paths there are.
    """
    rows = rows_of(db, GPU_TIMELINES)
    own_names = _EVENT_BATCHES.grouped(rows, rows_of(db, GPU_TIMELINE_NAMES))
    launches = _EVENT_BATCHES.grouped(rows, rows_of(db, GPU_LAUNCHES))
    batches = _EVENT_BATCHES.read(db, rows)
    for index, process, events, origin_ns, first_path in rows:
        natural([origin_ns, first_path], "a timeline")
        timeline = Timeline(
            process=known(processes, process, "process"),
            count=events,
            origin_ns=origin_ns,
            first_path=first_path,
            names=tuple([known(names, name, "name") for (name,) in own_names[index]]),
            launches=tuple(map(_launch, launches[index])),
            batches=tuple(batches[index]),
        )
        if sum(batch.events for batch in timeline.batches) != events:
            raise Damaged(f"timeline {index} has other than {events} events")
        _check_timeline(timeline, n_paths)
        yield timeline


def _launch(numbers: list[int]) -> tuple[int, ...]:
    if not all(number in _LAUNCH for number in numbers):
        raise Damaged("a launch has numbers beyond 32 bits")
    return tuple(numbers)


def _check_timeline(timeline: Timeline, n_paths: int) -> None:
    """Raise Damaged or ValueError unless every event makes sense."""
    paths = n_paths - timeline.first_path + 1  # and the number 0 for none
    ends = {
        "name": len(timeline.names),
        "launch": len(timeline.launches),
        "path": paths,
        "origin": paths,
        "start": _INTEGER_END,
        "ns": _INTEGER_END,
        "bytes": _INTEGER_END,
    }
    if timeline.batches and min(ends.values()) < 1:
        raise Damaged("a timeline lacks its names, launches or paths")
    for batch in timeline.batches:
        for name, data in batch.columns:
            values = unpack_events(name, data, batch.events)
            if name in ends and max(values) >= ends[name]:
                raise Damaged(f"an event has the {name} {max(values)}")


# Reading the traces of a profile's file, which anyone may have made or damaged.
#
# They stay packed; each batch is unpacked once, to see that it will be fit to use.


_SLICE_BATCHES = Batches(
    TRACE_BATCHES, TRACE_COLUMNS, SLICE_COLUMNS, SLICES_PER_BATCH, "trace", "slices"
)


def traces_of(
    db: sqlite3.Connection,
    keys: Mapping[object, Key],
    processes: Places,
    threads: Places,
) -> tuple[Trace, ...]:
    """Return the traces in an open and checked database; Damaged if they are.

    `keys`, `processes` and `threads` have the functions, and the indexes of
    the others, by their ids.
    """
    rows = rows_of(db, TRACES)
    places = {None: UNKNOWN_THREAD, **threads}
    functions = _SLICE_BATCHES.grouped(rows, rows_of(db, TRACE_FUNCTIONS))
    used = _SLICE_BATCHES.grouped(rows, rows_of(db, TRACE_THREADS))
    batches = _SLICE_BATCHES.read(db, rows)
    traces = []
    for index, process, count, left_out, origin_ns in rows:
        natural([left_out, origin_ns], "a trace")
        if sum(batch.events for batch in batches[index]) != count:
            raise Damaged(f"trace {index} has other than {count} slices")
        trace = Trace(
            process=known(processes, process, "process"),
            count=count,
            left_out=left_out,
            origin_ns=origin_ns,
            functions=tuple(
                [known(keys, id_, "function") for (id_,) in functions[index]]
            ),
            threads=tuple([known(places, id_, "thread") for (id_,) in used[index]]),
            batches=tuple(batches[index]),
        )
        _check_trace(trace)
        traces.append(trace)
    return tuple(traces)


def _check_trace(trace: Trace) -> None:
    """Raise Damaged or ValueError unless every slice makes sense."""
    ends = (
        *(len(trace.threads), len(trace.functions)),
        *(1 << 32, _INTEGER_END, _INTEGER_END),
    )
    for batch in trace.batches:
        columns: Iterable[Any] = columns_of(batch)
        for name, values, end in zip(SLICE_COLUMNS, columns, ends):
            if max(values) >= end:
                raise Damaged(f"a slice has the {name} {max(values)}")
