"""Reader of the GPU data, the traces and the ranks in a ``.lprof`` file.

Events and slices stay packed in batches of columns, whose values are checked here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import compress
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
from lineprof.model.rank_lines import LINE_COLUMNS, LINES_PER_BATCH
from lineprof.model.records import UNKNOWN_THREAD, RankRun, Ranks
from lineprof.model.timelines import (
    EVENT_COLUMNS,
    EVENTS_PER_BATCH,
    SLICE_COLUMNS,
    SLICE_SIZES,
    SLICES_PER_BATCH,
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
from lineprof.storage.rows import (
    Damaged,
    check_natural,
    indexes_of,
    known,
    rows_of,
)
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

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from lineprof.model.records import Key
    from lineprof.storage.rows import Indexes, Keys
    from lineprof.storage.schema import BatchTables, Rows, Table

    Names = Mapping[object, str]  # by id

# A file may have so many events, or slices, without any data, and some more for each
# byte of packed columns. Measured ones, whose starts and lengths vary, take a byte or
# more. Without a limit, a small file could stand for hours of work.
_FREE_ITEMS = 300_000
_ITEMS_PER_BYTE = 4
_INTEGER_END = 1 << 63  # of SQLite's integers
_LAUNCH = range(-(1 << 31), 1 << 32)  # a driver's integers have 32 bits


def gpu_of(
    db: sqlite3.Connection, keys: Keys, processes: Indexes, threads: Indexes
) -> Gpu:
    """Return the GPU data in a checked database; Damaged if their values are invalid.

    `keys` has the functions, `processes` and `threads` the indexes, by their ids.
    """
    names: Names = dict(rows_of(db, GPU_NAMES))
    path_rows = rows_of(db, GPU_PATHS)
    device_rows = rows_of(db, GPU_DEVICES)
    paths, devices = indexes_of(path_rows), indexes_of(device_rows)
    return Gpu(
        paths=tuple(_paths(db, path_rows, keys, threads)),
        sums=tuple(_sums(db, names, paths, devices)),
        devices=tuple(
            _device(row, processes) for row in GPU_DEVICES.named(device_rows)
        ),
        runs=tuple(
            _run(row, processes) for row in GPU_RUNS.named(rows_of(db, GPU_RUNS))
        ),
        timelines=tuple(_timelines(db, names, processes, len(path_rows))),
    )


def _paths(
    db: sqlite3.Connection, rows: Rows, keys: Keys, threads: Indexes
) -> Iterator[GpuPath]:
    lines: dict[object, list[tuple[Key, int]]] = {one: [] for one in indexes_of(rows)}
    for row in GPU_PATH_LINES.named(rows_of(db, GPU_PATH_LINES)):
        key = known(keys, row["function_id"], "function")
        known(lines, row["path_id"], "path").append((key, row["line"]))
    threads = {None: UNKNOWN_THREAD, **threads}
    for row in GPU_PATHS.named(rows):
        if not lines[row["id"]]:
            raise Damaged(f"path {row['id']} has no lines")
        check_natural([row["nvtx_payload"]], "a path")
        yield GpuPath(
            thread=known(threads, row["thread_id"], "thread"),
            adopted=_bool(row["adopted"]),
            lines=tuple(lines[row["id"]]),
            range=row["nvtx_payload"],
        )


def _sums(
    db: sqlite3.Connection, names: Names, paths: Indexes, devices: Indexes
) -> Iterator[GpuSum]:
    paths = {None: NO_PATH, **paths}
    devices = {None: NO_DEVICE, **devices}
    for row in GPU_SUMS.named(rows_of(db, GPU_SUMS)):
        one = GpuSum(
            path=known(paths, row["path_id"], "path"),
            origin=known(paths, row["origin_id"], "path"),
            kind=row["kind"],
            name=known(names, row["name_id"], "name"),
            device=known(devices, row["device_id"], "device"),
            count=row["count"],
            ns=row["ns"],
            min_ns=row["min_ns"],
            max_ns=row["max_ns"],
            bytes=row["bytes"],
        )
        check_natural([one.count, one.ns, one.min_ns, one.max_ns, one.bytes], "a sum")
        if one.min_ns > one.max_ns:
            raise Damaged(f"a sum has min_ns {one.min_ns} above max_ns {one.max_ns}")
        yield one


def _device(row: Mapping[str, Any], processes: Indexes) -> GpuDevice:
    check_natural([row["device"], row["busy_ns"]], "a device")
    attributes = json.loads(row["attributes"])
    if not isinstance(attributes, dict) or not all(
        type(value) is int and 0 <= value < _INTEGER_END
        for value in attributes.values()
    ):
        raise Damaged("the attributes of a device are no numbers by name")
    return GpuDevice(
        process=known(processes, row["process_id"], "process"),
        device=row["device"],
        name=row["name"],
        busy_ns=row["busy_ns"],
        busy_exact=_bool(row["busy_exact"]),
        attributes=tuple(attributes.items()),
    )


def _run(row: Mapping[str, Any], processes: Indexes) -> GpuRun:
    one = GpuRun(
        process=known(processes, row["process_id"], "process"),
        backend=row["backend"],
        reason=row["reason"],
        present=_bool(row["present"]),
        version=row["version"],
        dropped=row["dropped"],
        invalid=row["invalid"],
        outstanding=row["outstanding"],
        left_out=row["left_out"],
        realigned=row["realigned"] or 0,
        undated=row["undated"] or 0,
        unfinished=row["unfinished"] or 0,
        cut_ns=row["cut_ns"],
        foreign_buffers=row["foreign_buffers"] or 0,
        taken=row["taken"] or 0,
    )
    counts = (one.version, one.dropped, one.invalid, one.outstanding, one.left_out)
    clocks = (one.realigned, one.undated, one.unfinished, one.cut_ns or 0)
    check_natural((*counts, *clocks, one.foreign_buffers, one.taken), "a run")
    return one


def _bool(number: int) -> bool:
    if number not in {0, 1}:
        raise Damaged(f"{number} where yes or no is due")
    return number == 1


# Batches of packed columns: timelines and traces have some.


@dataclass(frozen=True)
class _Batches:
    """The batches of timelines, or of traces, in a file."""

    tables: BatchTables
    names: Iterable[str]  # of columns; other ones, of later versions, are left out
    max_items: int  # in one batch

    def read(
        self, db: sqlite3.Connection, owners: Rows, free_items: int = _FREE_ITEMS
    ) -> dict[object, list[Batch]]:
        """Return the batches in order, by the id that is first in `owners`' rows.

        Damaged if a batch is empty or too long, or all of them together are too long,
        or have many more items than data, of which `free_items` need none.
        """
        owner, items = self.tables.owner, self.tables.items
        rows = list(self.tables.batches.named(rows_of(db, self.tables.batches)))
        columns = self._columns(db, rows)
        room = MAX_EVENTS
        size = 0  # of packed columns, in bytes
        found: dict[object, list[Batch]] = {one: [] for one in indexes_of(owners)}
        for row in rows:
            count = row[items]
            if not 0 < count <= self.max_items:
                raise Damaged(f"a batch has {count} {items}")
            room -= count
            if room < 0:
                raise Damaged(f"the {owner}s have more than {MAX_EVENTS} {items}")
            data = columns[row["id"]]
            batch = Batch(
                events=count,
                columns=tuple(
                    (name, data[name]) for name in self.names if name in data
                ),
            )
            size += sum(len(column) for _, column in batch.columns)
            known(found, row[self.tables.owner_id], owner).append(batch)
        total = MAX_EVENTS - room
        if total > free_items + size * _ITEMS_PER_BYTE:
            raise Damaged(f"the {owner}s have {total} {items} in {size} bytes")
        return found

    def _columns(
        self, db: sqlite3.Connection, batches: Iterable[Mapping[str, Any]]
    ) -> dict[object, dict[str, bytes]]:
        """Return the packed columns of each batch by their names, by its id."""
        columns: dict[object, dict[str, bytes]] = {row["id"]: {} for row in batches}
        for row in self.tables.columns.named(rows_of(db, self.tables.columns)):
            of_batch = known(columns, row["batch_id"], "batch")
            if row["name"] in of_batch:
                raise Damaged(f"a batch has two columns {row['name']}")
            of_batch[row["name"]] = row["data"]
        return columns

    def grouped(
        self, db: sqlite3.Connection, owners: Rows, table: Table
    ) -> dict[object, list[dict[str, Any]]]:
        """Return the rows of a table, without the owner's id, by that id."""
        groups: dict[object, list[dict[str, Any]]] = {
            one: [] for one in indexes_of(owners)
        }
        for row in table.named(rows_of(db, table)):
            owner_id = row.pop(self.tables.owner_id)
            known(groups, owner_id, self.tables.owner).append(row)
        return groups


_EVENT_BATCHES = _Batches(
    tables=EVENT_BATCHES, names=EVENT_COLUMNS, max_items=EVENTS_PER_BATCH
)
_SLICE_BATCHES = _Batches(
    tables=SLICE_BATCHES,
    names=(*SLICE_COLUMNS, WAIT_COLUMN, UNSURE_COLUMN),
    max_items=SLICES_PER_BATCH,
)
_RANK_BATCHES = _Batches(
    tables=RANK_LINE_BATCHES, names=LINE_COLUMNS, max_items=LINES_PER_BATCH
)


def _timelines(
    db: sqlite3.Connection, names: Names, processes: Indexes, n_paths: int
) -> Iterator[Timeline]:
    """Yield the timelines; Damaged or ValueError if their values are invalid."""
    rows = rows_of(db, GPU_TIMELINES)
    used_names = _EVENT_BATCHES.grouped(db, rows, GPU_TIMELINE_NAMES)
    launches = _EVENT_BATCHES.grouped(db, rows, GPU_LAUNCHES)
    batches = _EVENT_BATCHES.read(db, rows)
    for row in GPU_TIMELINES.named(rows):
        row_id, events = row["id"], row["events"]
        check_natural([row["origin_ns"], row["first_path"]], "a timeline")
        timeline = Timeline(
            process=known(processes, row["process_id"], "process"),
            count=events,
            origin_ns=row["origin_ns"],
            first_path=row["first_path"],
            names=tuple(
                [known(names, one["name_id"], "name") for one in used_names[row_id]]
            ),
            launches=tuple(map(_launch, launches[row_id])),
            batches=tuple(batches[row_id]),
        )
        if sum(batch.events for batch in timeline.batches) != events:
            raise Damaged(f"timeline {row_id} has other than {events} events")
        _check_timeline(timeline, n_paths)
        yield timeline


def _launch(row: dict[str, int]) -> Launch:
    if not all(number in _LAUNCH for number in row.values()):
        raise Damaged("a launch has numbers beyond 32 bits")
    return Launch(**row)


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


def traces_of(
    db: sqlite3.Connection, keys: Keys, processes: Indexes, threads: Indexes
) -> tuple[Trace, ...]:
    """Return the traces in a checked database; Damaged if their values are invalid.

    `keys` has the functions, `processes` and `threads` the indexes, by their ids.
    """
    rows = rows_of(db, TRACES)
    threads = {None: UNKNOWN_THREAD, **threads}
    functions = _SLICE_BATCHES.grouped(db, rows, TRACE_FUNCTIONS)
    used_threads = _SLICE_BATCHES.grouped(db, rows, TRACE_THREADS)
    batches = _SLICE_BATCHES.read(db, rows)
    traces = []
    for row in TRACES.named(rows):
        row_id = row["id"]
        names = ("left_out", "origin_ns", "min_ns", "min_line_ns", "full_ns")
        check_natural([row[name] or 0 for name in names], "a trace")
        if sum(batch.events for batch in batches[row_id]) != row["slices"]:
            raise Damaged(f"trace {row_id} has other than {row['slices']} slices")
        trace = Trace(
            process=known(processes, row["process_id"], "process"),
            count=row["slices"],
            left_out=row["left_out"],
            origin_ns=row["origin_ns"],
            functions=tuple(
                [
                    known(keys, one["function_id"], "function")
                    for one in functions[row_id]
                ]
            ),
            threads=tuple(
                [
                    known(threads, one["thread_id"], "thread")
                    for one in used_threads[row_id]
                ]
            ),
            batches=tuple(batches[row_id]),
            min_ns=row["min_ns"] or 0,
            min_line_ns=row["min_line_ns"],
            full_ns=row["full_ns"],
        )
        _check_trace(trace)
        traces.append(trace)
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
        columns = slice_columns(batch)
        for name, end in ends.items():
            values = getattr(columns, name)
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


def rank_lines_of(db: sqlite3.Connection, keys: Keys) -> Ranks:
    """Return the lines of each rank in a checked database, packed.

    `keys` has the functions by their ids. Damaged if the tables are invalid; the
    packed numbers are checked when they are unpacked (`rank_lines.values_of`).
    """
    places = []
    for row in RANK_LINES.named(rows_of(db, RANK_LINES)):
        check_natural([row["line"]], "a line of ranks")
        places.append((known(keys, row["function_id"], "function"), row["line"]))
    if len({*places}) < len(places):
        raise Damaged("a line of ranks is there twice")
    rows = rows_of(db, RANK_RUNS)
    # Lines that all ranks ran alike take few bytes: rows of lines and ranks bound them.
    free_lines = max(_FREE_ITEMS, len(places) * len(rows))
    batches = _RANK_BATCHES.read(db, rows, free_lines)
    runs: dict[int, RankRun] = {}
    for row in RANK_RUNS.named(rows):
        check_natural([row["rank"], row["wall_ns"], row["mpi_ns"]], "a rank")
        own = tuple(batches[row["id"]])
        if sum(batch.events for batch in own) != row["lines"]:
            raise Damaged(f"rank {row['rank']} has other than {row['lines']} lines")
        if row["lines"] > len(places):
            raise Damaged(f"rank {row['rank']} has more lines than there are")
        if row["rank"] in runs:
            raise Damaged(f"rank {row['rank']} is there twice")
        runs[row["rank"]] = RankRun(
            rank=row["rank"],
            wall_ns=row["wall_ns"],
            mpi_ns=row["mpi_ns"],
            batches=own,
        )
    return Ranks(places=tuple(places), runs=tuple(runs[rank] for rank in sorted(runs)))
