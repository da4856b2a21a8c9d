"""Reader of the GPU data, the traces and the ranks in a ``.lprof`` file.

Events and slices stay packed in batches of columns, whose values are checked here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from itertools import compress
from typing import TYPE_CHECKING, TypeVar

from lineprof.model.gpu import NO_DEVICE, NO_PATH, Gpu
from lineprof.model.gpu_memory import NO_GPU_MEMORY, GpuMemory
from lineprof.model.rank_lines import LINE_COLUMNS
from lineprof.model.records import Ranks, maker_of
from lineprof.model.relation import DEVICE, FUNCTION, NAME, PATH, THREAD
from lineprof.model.timelines import (
    EVENT_COLUMNS,
    ITEMS_PER_BATCH,
    SLICE_COLUMNS,
    SLICE_SIZES,
    UNSURE_COLUMN,
    WAIT_COLUMN,
    Batch,
    Launch,
    Timeline,
    Trace,
    slice_columns,
    slice_planes,
    slice_waits,
    unpack_events,
)
from lineprof.storage import schema_gpu
from lineprof.storage.rows import (
    Damaged,
    check_natural,
    fields_of,
    indexes_of,
    known,
    records_from,
    records_of,
    rows_of,
)
from lineprof.storage.schema_gpu import MAX_EVENTS

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import (
        Callable,
        Collection,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )
    from typing import Any

    from lineprof.model.gpu import GpuPath, GpuSum
    from lineprof.model.gpu_memory import GpuMemorySum
    from lineprof.model.records import Key, RankRun
    from lineprof.storage.rows import Lookup
    from lineprof.storage.schema import Rows, Table
    from lineprof.storage.schema_gpu import BatchTables

Packed = TypeVar("Packed", Timeline, Trace)
Value = TypeVar("Value")

# A file may have so many events, or slices, without any data, and some more for each
# byte of packed columns. Measured ones, whose starts and lengths vary, take a byte or
# more. Without a limit, a small file could stand for hours of work.
_FREE_ITEMS = 300_000
_ITEMS_PER_BYTE = 4
_INTEGER_END = 1 << 63  # of SQLite's integers
_LAUNCH = range(-(1 << 31), 1 << 32)  # a driver's integers have 32 bits


def gpu_of(db: sqlite3.Connection, tables: Collection[Table], lookup: Lookup) -> Gpu:
    """Return the GPU data in a checked database; Damaged if a value is invalid."""
    names: dict[object, str] = dict(rows_of(db, schema_gpu.GPU_NAMES))
    paths = fields_of(db, schema_gpu.GPU_PATHS, lookup)
    devices = fields_of(db, schema_gpu.GPU_DEVICES, lookup)
    lookup = {
        **lookup,
        NAME: names,
        PATH: {None: NO_PATH, **indexes_of(paths["id"])},
        DEVICE: {None: NO_DEVICE, **indexes_of(devices["id"])},
    }
    devices["attributes"] = [*map(_attributes, devices["attributes"])]
    sums: list[GpuSum] = records_of(db, schema_gpu.GPU_SUMS, lookup)
    for one in sums:
        if one.min_ns > one.max_ns:
            raise Damaged(f"a sum has min_ns {one.min_ns} above max_ns {one.max_ns}")
    return Gpu(
        paths=tuple(_paths(db, paths, lookup)),
        sums=tuple(sums),
        devices=tuple(records_from(schema_gpu.GPU_DEVICES, devices)),
        runs=tuple(records_of(db, schema_gpu.GPU_RUNS, lookup)),
        timelines=tuple(_timelines(db, lookup, len(paths["id"]))),
        memory=_memory(db, lookup)
        if schema_gpu.GPU_MEMORY_RUNS in tables
        else NO_GPU_MEMORY,
    )


def _memory(db: sqlite3.Connection, lookup: Lookup) -> GpuMemory:
    sums: list[GpuMemorySum] = records_of(db, schema_gpu.GPU_MEMORY_SUMS, lookup)
    for one in sums:
        if max(one.freed_bytes, one.peak_bytes) > one.alloc_bytes:
            raise Damaged("a sum of GPU memory has less allocated than freed or live")
    return GpuMemory(
        sums=tuple(sums),
        peaks=tuple(records_of(db, schema_gpu.GPU_MEMORY_PEAKS, lookup)),
        runs=tuple(records_of(db, schema_gpu.GPU_MEMORY_RUNS, lookup)),
    )


def _paths(
    db: sqlite3.Connection, fields: dict[str, list[Any]], lookup: Lookup
) -> list[GpuPath]:
    rows: Iterable[tuple[object, tuple[Key, int]]] = (
        (path_id, (known(lookup[FUNCTION], function_id, FUNCTION), line))
        for path_id, function_id, line in rows_of(db, schema_gpu.GPU_PATH_LINES)
    )
    lines = _grouped(rows, fields["id"], PATH)
    for path_id, own in lines.items():
        if not own:
            raise Damaged(f"path {path_id} has no lines")
    fields["lines"] = [lines[path_id] for path_id in fields["id"]]
    return records_from(schema_gpu.GPU_PATHS, fields)


def _grouped(
    rows: Iterable[tuple[object, Value]], owners: Iterable[object], kind: str
) -> dict[object, tuple[Value, ...]]:
    """Return the values of (owner's id, value) rows by the ids of all `owners`.

    `kind` is that of the owners, for messages.
    """
    groups: dict[object, list[Value]] = {one: [] for one in owners}
    for owner_id, value in rows:
        known(groups, owner_id, kind).append(value)
    return {owner_id: tuple(found) for owner_id, found in groups.items()}


def _referred(
    db: sqlite3.Connection,
    owners: Iterable[object],
    table: Table,
    kind: str,
    by: Lookup,
) -> dict[object, tuple[Any, ...]]:
    """Return the `kind` that each row of a table refers to, by the ids of `owners`."""
    groups: dict[object, list[Any]] = {one: [] for one in owners}
    for owner_id, row_id in rows_of(db, table):
        own = known(groups, owner_id, table.names[0].removesuffix("_id"))
        own.append(known(by[kind], row_id, kind))
    return {owner_id: tuple(found) for owner_id, found in groups.items()}


def _attributes(text: str) -> tuple[tuple[str, int], ...]:
    """Return the attributes of a device by name, from JSON."""
    attributes = json.loads(text)
    if not isinstance(attributes, dict) or not all(
        type(value) is int and 0 <= value < _INTEGER_END
        for value in attributes.values()
    ):
        raise Damaged("the attributes of a device are no numbers by name")
    return tuple(attributes.items())


# Batches of packed columns: timelines and traces have some.


@dataclass(frozen=True)
class _Batches:
    """The batches of timelines, or of traces, in a file."""

    tables: BatchTables
    names: Iterable[str]  # of columns; other ones, of later versions, are left out

    def read(
        self,
        db: sqlite3.Connection,
        owners: Sequence[object],
        free_items: int = _FREE_ITEMS,
    ) -> dict[object, tuple[Batch, ...]]:
        """Return the batches in order, by the ids of their `owners`.

        Damaged if a batch is empty or too long, or all of them together are too long,
        or have many more items than data, of which `free_items` need none.
        """
        owner, items = self.tables.owner, self.tables.items
        rows = rows_of(db, self.tables.batches)
        columns = self._columns(db, rows)
        total = 0  # of items
        size = 0  # of packed columns, in bytes
        found: dict[object, list[Batch]] = {one: [] for one in owners}
        for batch_id, owner_id, count in rows:
            if not 0 < count <= ITEMS_PER_BATCH:
                raise Damaged(f"a batch has {count} {items}")
            total += count
            if total > MAX_EVENTS:
                raise Damaged(f"the {owner}s have more than {MAX_EVENTS} {items}")
            data = columns[batch_id]
            batch = Batch(
                events=count,
                columns=tuple(
                    (name, data[name]) for name in self.names if name in data
                ),
            )
            size += sum(len(column) for _, column in batch.columns)
            known(found, owner_id, owner).append(batch)
        if total > free_items + size * _ITEMS_PER_BYTE:
            raise Damaged(f"the {owner}s have {total} {items} in {size} bytes")
        return {owner_id: tuple(batches) for owner_id, batches in found.items()}

    def _columns(
        self, db: sqlite3.Connection, batches: Rows
    ) -> dict[object, dict[str, bytes]]:
        """Return the packed columns of each batch by their names, by its id."""
        columns: dict[object, dict[str, bytes]] = {one[0]: {} for one in batches}
        for batch_id, name, data in rows_of(db, self.tables.columns):
            of_batch = known(columns, batch_id, "batch")
            if name in of_batch:
                raise Damaged(f"a batch has two columns {name}")
            of_batch[name] = data
        return columns

    def check_count(
        self, owner_id: object, batches: Iterable[Batch], count: int
    ) -> None:
        """Raise Damaged unless the batches of an owner have so many items."""
        if sum(batch.events for batch in batches) != count:
            owner, items = self.tables.owner, self.tables.items
            raise Damaged(f"{owner} {owner_id} has other than {count} {items}")

    def records(
        self,
        make: Callable[..., Packed],
        check: Callable[[Packed], None],
        fields: dict[str, list[Any]],
        **parts: Mapping[object, Any],
    ) -> Iterator[Packed]:
        """Yield the owners with these fields, checked; `parts` are by their ids."""
        ids = fields.pop("id")
        for row_id, *values in zip(ids, *fields.values()):
            own = {name: by_id[row_id] for name, by_id in parts.items()}
            made = make(**dict(zip(fields, values)), **own)
            self.check_count(row_id, made.batches, made.count)
            check(made)
            yield made


_EVENT_BATCHES = _Batches(tables=schema_gpu.EVENT_BATCHES, names=EVENT_COLUMNS)
_SLICE_BATCHES = _Batches(
    tables=schema_gpu.SLICE_BATCHES,
    names=(*SLICE_COLUMNS, WAIT_COLUMN, UNSURE_COLUMN),
)
_RANK_BATCHES = _Batches(tables=schema_gpu.RANK_LINE_BATCHES, names=LINE_COLUMNS)


def _timelines(
    db: sqlite3.Connection, lookup: Lookup, n_paths: int
) -> Iterator[Timeline]:
    """Return the timelines; Damaged or ValueError if their values are invalid."""
    fields = fields_of(db, schema_gpu.GPU_TIMELINES, lookup)
    ids = fields["id"]
    return _EVENT_BATCHES.records(
        Timeline,
        partial(_check_timeline, n_paths=n_paths),
        fields,
        names=_referred(db, ids, schema_gpu.GPU_TIMELINE_NAMES, NAME, lookup),
        batches=_EVENT_BATCHES.read(db, ids),
        launches=_grouped(_launches(db), ids, "timeline"),
    )


def _launches(db: sqlite3.Connection) -> Iterator[tuple[object, Launch]]:
    """Yield the id of its timeline and the launch of each row; Damaged if invalid."""
    for timeline_id, *numbers in rows_of(db, schema_gpu.GPU_LAUNCHES):
        if not all(number in _LAUNCH for number in numbers):
            raise Damaged("a launch has numbers beyond 32 bits")
        yield timeline_id, _make_launch(numbers)


_make_launch = maker_of(Launch, schema_gpu.GPU_LAUNCHES.names[1:])  # after timeline_id


def _check_timeline(timeline: Timeline, n_paths: int) -> None:
    """Raise Damaged or ValueError unless all values of the events are valid."""
    paths = n_paths - timeline.first_path + 1  # and the number 0 for none
    ends = {
        "name": len(timeline.names),
        "launch": len(timeline.launches),
        "path": paths,
        "origin": paths,
        "start": _INTEGER_END,
        "ns": _INTEGER_END,
        "bytes": _INTEGER_END,
        "launched": _INTEGER_END,
    }
    if timeline.batches and min(ends.values()) < 1:
        raise Damaged("a timeline lacks its names, launches or paths")
    for batch in timeline.batches:
        for name, data in batch.columns:
            values = unpack_events(name, data, batch.events)
            if name in ends and max(values) >= ends[name]:
                raise Damaged(f"an event has the {name} {max(values)}")


def traces_of(db: sqlite3.Connection, lookup: Lookup) -> tuple[Trace, ...]:
    """Return the traces in a checked database; Damaged if their values are invalid."""
    fields = fields_of(db, schema_gpu.TRACES, lookup)
    ids = fields["id"]
    traces = _SLICE_BATCHES.records(
        Trace,
        _check_trace,
        fields,
        functions=_referred(db, ids, schema_gpu.TRACE_FUNCTIONS, FUNCTION, lookup),
        threads=_referred(db, ids, schema_gpu.TRACE_THREADS, THREAD, lookup),
        batches=_SLICE_BATCHES.read(db, ids),
    )
    return tuple(traces)


def _check_trace(trace: Trace) -> None:
    """Raise Damaged or ValueError unless all values of the slices are valid."""
    ends = {
        "thread": len(trace.threads),
        "function": len(trace.functions),
        "line": 1 << 32,
        "start": _INTEGER_END,
        "ns": _INTEGER_END,
    }
    for batch in trace.batches:
        for column in (WAIT_COLUMN, UNSURE_COLUMN):
            if not slice_waits(batch, column)[-batch.events :].isascii():
                raise Damaged("a slice has a wait beyond 63 bits")
        if _is_plainly_valid(batch, ends):
            continue
        for (name, end), values in zip(ends.items(), slice_columns(batch)):
            if max(values) >= end:
                raise Damaged(f"a slice has the {name} {max(values)}")


_MAX_GAP_BYTES = 5  # of a start: 65,536 gaps of so many bytes make no overflow


def _is_plainly_valid(batch: Batch, ends: dict[str, int]) -> bool:
    """Tell whether all values are below their `ends`, as bytes alone can tell.

    Of a valid batch few bytes have to be looked at one by one: there may be hundreds
    of millions.
    """
    count = batch.events
    for (name, end), planes in zip(ends.items(), slice_planes(batch)):
        if not planes:
            valid = end > 0
        elif name == "start":
            valid = not any(
                planes[place * count + 1 : (place + 1) * count].strip(b"\0")
                for place in range(_MAX_GAP_BYTES, SLICE_SIZES[name])
            )
            valid = valid and planes[-count] < 0x40  # noqa: PLR2004  # no overflow
        elif end == _INTEGER_END:
            valid = planes[-count:].isascii()  # the highest bit of each value
        else:
            valid = end >= 1 << 8 * SLICE_SIZES[name] or _max_of(planes, count) < end
        if not valid:
            return False
    return True


def _max_of(planes: bytes, count: int) -> int:
    """Return the greatest of some values below 1 << 16; else 1 << 16."""
    if planes[2 * count :].strip(b"\0"):
        return 1 << 16
    highest = max(set(planes[count : 2 * count]))
    low = planes[:count]
    if highest:
        low = bytes(compress(low, map(highest.__eq__, planes[count : 2 * count])))
    return highest << 8 | max(set(low))


def rank_lines_of(db: sqlite3.Connection, lookup: Lookup) -> Ranks:
    """Return the lines of each rank in a checked database, packed.

    Damaged if the tables are invalid; the packed numbers are checked when they are
    unpacked (`rank_lines.values_of`).
    """
    places = []
    for _, function_id, line in rows_of(db, schema_gpu.RANK_LINES):
        check_natural([line], "a line of ranks")
        places.append((known(lookup[FUNCTION], function_id, FUNCTION), line))
    if len({*places}) < len(places):
        raise Damaged("a line of ranks is there twice")
    fields = fields_of(db, schema_gpu.RANK_RUNS, {})
    ids, lines = fields.pop("id"), fields.pop("lines")
    # Lines that all ranks ran alike take few bytes: rows of lines and ranks bound them.
    free_lines = max(_FREE_ITEMS, len(places) * len(ids))
    batches = _RANK_BATCHES.read(db, ids, free_lines)
    fields["batches"] = [batches[row_id] for row_id in ids]
    runs: dict[int, RankRun] = {}
    for run, count in zip(records_from(schema_gpu.RANK_RUNS, fields), lines):
        _RANK_BATCHES.check_count(run.rank, run.batches, count)
        if count > len(places):
            raise Damaged(f"rank {run.rank} has more lines than there are")
        if run.rank in runs:
            raise Damaged(f"rank {run.rank} is there twice")
        runs[run.rank] = run
    return Ranks(places=tuple(places), runs=tuple(runs[rank] for rank in sorted(runs)))
