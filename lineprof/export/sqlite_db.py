"""SQLite databases for people: plain tables, and views of them.

A ``.lprof`` file is also a database, but its columns are packed; here each number has
a row of its own. docs/exports.md describes the tables. All times are in nanoseconds
(ns). A `..._id` is the `id` of a row of another table, or NULL if that row does not
exist or is unknown. Starts count from the start of the first process.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from contextlib import closing
from itertools import count
from operator import attrgetter
from typing import TYPE_CHECKING

from lineprof.errors import without_surrogates
from lineprof.export.encoding import int64
from lineprof.export.made_once import MadeOnce
from lineprof.export.tables import csv_remarks
from lineprof.export.timeline import (
    events_by_start,
    remarks_of_gpu,
    remarks_of_traces,
)
from lineprof.export.timeline_tracks import launch_values
from lineprof.model.call_graph import (
    deeper_note,
    edge_gpu_ns,
    edges,
    function_totals,
    line_self_ns,
)
from lineprof.model.clocks import Clock
from lineprof.model.gpu import (
    KERNEL,
    NO_DEVICE,
    NO_PATH,
    numbers_of_lines,
)
from lineprof.model.host_memory import (
    MEMORY_NUMBERS,
    NO_BYTES,
    NO_MEMORY,
    memory_of_lines,
    memory_of_processes,
    outside_memory,
)
from lineprof.model.records import LineTotals
from lineprof.model.relation import NONE
from lineprof.report.gpu_format import call_name, kernel_name
from lineprof.source import sources_of
from lineprof.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from lineprof.model.gpu import Gpu
    from lineprof.model.host_memory import HostMemory
    from lineprof.model.profile import Profile
    from lineprof.model.records import Key
    from lineprof.model.timelines import GpuEvent

    Row = tuple[object, ...]

    Rows = Iterator[Row]

    Ids = MadeOnce[Key, int]  # of functions

_CHUNK = 1 << 20  # bytes

_LINE = ("function_id INTEGER REFERENCES functions", "line INTEGER")

_THREAD = "thread_id INTEGER REFERENCES threads"

_PROCESS = "process_id INTEGER REFERENCES processes"

_CALLS = (
    "calls INTEGER",
    "primitive_calls INTEGER",  # while no other call of the function was open
    "total_ns INTEGER",  # of primitive calls: recursion counts once
    "inclusive_ns INTEGER",  # of every call
)

# Times of a line; raw_ns is the time with the profiler's cost.
_TIMES = tuple(n for n in LineTotals._fields if n not in {"line", "hits", "raw_ns"})

TABLES: dict[str, tuple[str, ...]] = {
    "meta": ("key TEXT", "value TEXT"),
    "processes": (
        *("id INTEGER PRIMARY KEY", "pid INTEGER", "host TEXT", "rank INTEGER"),
        "ranks INTEGER",  # of the parallel program
        *("program TEXT", "cwd TEXT", "python TEXT"),
        *("start_unix_ns INTEGER", "wall_ns INTEGER"),
        "overhead_ns INTEGER",  # of the profiler, in no line's time
        "exit TEXT",  # '' for a normal one
    ),
    "threads": ("id INTEGER PRIMARY KEY", _PROCESS, "native_id INTEGER", "name TEXT"),
    "functions": (
        *("id INTEGER PRIMARY KEY", "file TEXT", "name TEXT", "first_line INTEGER"),
        *("calls INTEGER", "primitive_calls INTEGER"),
        "self_ns INTEGER",  # without callees, as far as these are known
        "total_ns INTEGER",
    ),
    "lines": (
        *_LINE,
        "hits INTEGER",
        "own_ns INTEGER",  # without callees
        *(f"{name} INTEGER" for name in _TIMES),
        "source TEXT",
    ),
    "line_threads": (*_LINE, _THREAD, "hits INTEGER", "time_ns INTEGER"),
    "edges": (
        "caller_id INTEGER REFERENCES functions",
        "line INTEGER",  # of the caller
        "callee_id INTEGER REFERENCES functions",
        *_CALLS,
        "gpu_ns INTEGER",
    ),
    "call_tree": (
        "id INTEGER PRIMARY KEY",
        "parent_id INTEGER REFERENCES call_tree",
        "line INTEGER",  # of the parent's function
        "function_id INTEGER REFERENCES functions",
        _THREAD,
        *_CALLS,
        "self_ns INTEGER",
    ),
    "waits": (*_LINE, _THREAD, "cause TEXT", "ns INTEGER"),
    "gpu_devices": (
        *("id INTEGER PRIMARY KEY", _PROCESS, "device INTEGER", "name TEXT"),
        "busy_ns INTEGER",
    ),
    # Work and calls of the line itself, by kind and name.
    "gpu_kernels": (
        *_LINE,
        _THREAD,
        "device_id INTEGER REFERENCES gpu_devices",
        *("kind TEXT", "name TEXT", "count INTEGER"),
        *("ns INTEGER", "min_ns INTEGER", "max_ns INTEGER", "bytes INTEGER"),
    ),
    # Callees included, except in own_gpu_ns.
    "gpu_by_line": (
        *_LINE,
        *("gpu_ns INTEGER", "own_gpu_ns INTEGER", "kernels INTEGER"),
        *("copy_ns INTEGER", "copy_bytes INTEGER", "wait_ns INTEGER"),
        *("alloc_bytes INTEGER", "free_bytes INTEGER"),
        *("live_bytes INTEGER", "peak_bytes INTEGER"),  # NULL: not known
    ),
    "slices": (
        _PROCESS,
        _THREAD,
        *_LINE,  # line 0: the whole function
        *("start_ns INTEGER", "ns INTEGER"),
    ),
    "gpu_events": (
        _PROCESS,
        _THREAD,
        *_LINE,
        *("kind TEXT", "name TEXT", "start_ns INTEGER", "ns INTEGER"),
        *("device INTEGER", "context INTEGER", "stream INTEGER"),
        *("correlation INTEGER", "bytes INTEGER", "grid TEXT", "block TEXT"),
        "registers INTEGER",  # of a thread
        *("static_smem INTEGER", "dynamic_smem INTEGER"),  # bytes of a block
        *("source TEXT", "target TEXT"),  # kinds of memory
    ),
}

_MEMORY = tuple(f"{name} INTEGER" for name in MEMORY_NUMBERS)

# Only if memory was measured.
MEMORY_TABLES: dict[str, tuple[str, ...]] = {
    "memory_runs": (
        _PROCESS,
        *("peak_bytes INTEGER", "peak_ns INTEGER"),
        "outside_bytes INTEGER",  # at the peak, that no line allocated
        *("side_bytes INTEGER", "sample_bytes INTEGER"),
        *("lost INTEGER", "is_native INTEGER"),
    ),
    # Callees included, except in own_...; no line: outside of profiled lines.
    "memory_by_line": (*_LINE, *_MEMORY, *(f"own_{name}" for name in _MEMORY)),
    # Of each process, and of its lines with most.
    "memory_curve": (_PROCESS, *_LINE, "at_ns INTEGER", "live_bytes INTEGER"),
}

_EDGES = """
    SELECT {mine}.file AS file, {mine}.name AS name,
        {other}.file AS {kind}_file, {other}.name AS {kind}, edges.line AS line,
        edges.calls AS calls, edges.primitive_calls AS primitive_calls,
        edges.total_ns AS total_ns, edges.inclusive_ns AS inclusive_ns,
        edges.gpu_ns AS gpu_ns
    FROM edges
    LEFT JOIN functions AS caller ON caller.id = edges.caller_id
    JOIN functions AS callee ON callee.id = edges.callee_id
    ORDER BY {mine}.file, {mine}.name, edges.inclusive_ns DESC
"""

VIEWS = {
    # The longest self time first.
    "hot_lines": """
        SELECT functions.file AS file, lines.line AS line, functions.name AS name,
            lines.hits AS hits, lines.own_ns AS own_ns, lines.time_ns AS time_ns,
            100.0 * lines.own_ns / nullif((SELECT total(own_ns) FROM lines), 0)
                AS percent,
            coalesce(gpu_by_line.gpu_ns, 0) AS gpu_ns, lines.source AS source
        FROM lines
        JOIN functions ON functions.id = lines.function_id
        LEFT JOIN gpu_by_line ON gpu_by_line.function_id = lines.function_id
            AND gpu_by_line.line = lines.line
        ORDER BY lines.own_ns DESC, lines.time_ns DESC
    """,
    # Callers of each function (file, name), with their lines.
    "callers": _EDGES.format(mine="callee", other="caller", kind="caller"),
    # Callees of each function, with its lines that call them.
    "callees": _EDGES.format(mine="caller", other="callee", kind="callee"),
}


def sqlite_content(profile: Profile) -> Iterator[bytes]:
    """Yield the database, which is first written to a temporary folder.

    Raises OSError if that fails, for example because a disk is full.
    """
    with tempfile.TemporaryDirectory(prefix="lineprof-") as folder:
        name = os.path.join(folder, "profile.sqlite")
        try:
            with closing(sqlite3.connect(name, isolation_level=None)) as database:
                _fill(database, profile)
        except sqlite3.Error as error:
            raise OSError(0, f"SQLite says {error}", folder) from error
        with open(name, "rb") as file:
            while chunk := file.read(_CHUNK):
                yield chunk


def sqlite_remarks(profile: Profile) -> Iterator[str]:
    """Yield which tables are empty or incomplete, and why, one line each."""
    if not profile.calls.nodes:
        yield "the profile does not say who called whom: edges and call_tree are empty"
    if note := deeper_note(profile.calls):
        yield note
    if not profile.traces:
        yield "the run had no --trace: slices is empty"
    yield from remarks_of_traces(profile)
    yield from remarks_of_gpu(profile.gpu, "gpu_events", "the timeline was full")
    yield from csv_remarks(profile)


def _fill(database: sqlite3.Connection, profile: Profile) -> None:
    """Create and fill all tables and views."""
    # Nobody reads the file before it is complete: it needs no protection from crashes.
    database.execute("PRAGMA journal_mode = OFF")
    database.execute("PRAGMA synchronous = OFF")
    database.execute("BEGIN")
    tables = TABLES if profile.memory == NO_MEMORY else {**TABLES, **MEMORY_TABLES}
    for name, columns in tables.items():
        database.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
    for name, rows in _tables(profile):
        marks = ", ".join("?" * len(tables[name]))
        database.executemany(
            f"INSERT INTO {name} VALUES ({marks})",  # noqa: S608  # a name in TABLES
            map(_plain, rows),
        )
    for name, query in VIEWS.items():
        database.execute(f"CREATE VIEW {name} AS {query}")
    database.execute("COMMIT")


def _plain(row: Iterable[object]) -> list[object]:
    """Return a row as SQLite takes it, with surrogates as escapes.

    Raises LineprofError for a number of more than 64 bits.
    """
    return [
        without_surrogates(one)
        if isinstance(one, str) and not one.isascii()
        else int64(one)
        if isinstance(one, int)
        else one
        for one in row
    ]


# Rows of the tables. A function gets its id when a row first refers to it.


def _rows(table: str, records: Iterable[Any], ids: Ids) -> Rows:
    """Yield a row for each record: the values of the fields that the columns name.

    A column `..._id` that references a table is a field that refers to a record.
    """
    has_id = TABLES[table][0].startswith("id ")
    columns = TABLES[table][has_id:]
    references = [at for at, column in enumerate(columns) if "REFERENCES" in column]
    names = [column.partition(" ")[0] for column in columns]
    for at in references:
        names[at] = names[at].removesuffix("_id")
    values = attrgetter(*names)
    for number, record in enumerate(records, 1):
        row = list(values(record))
        for at in references:
            row[at] = _id(row[at], ids)
        yield (number, *row) if has_id else tuple(row)


def _id(to: int | Key, ids: Ids) -> int | None:
    """Return the id of a function, or of the record of an index; None if unknown."""
    if isinstance(to, int):
        return None if to == NONE else to + 1
    return ids[to]


def _tables(profile: Profile) -> Iterator[tuple[str, Iterable[Row]]]:
    """Yield each table's name and its rows, which must be read before the next table.

    Functions come last: by then all of them have an id.
    """
    numbers = count(1)
    ids: Ids = MadeOnce(lambda _: next(numbers))
    yield "meta", [("exporter", f"lineprof {VERSION}")]
    yield "meta", [("warning", text) for text in profile.warnings]
    yield "processes", _processes(profile)
    yield "threads", _rows("threads", profile.threads, ids)
    for function in profile.functions:
        ids[function.key]  # the first ids, in the order of registration
    yield "lines", _lines(profile, ids)
    yield "line_threads", _line_threads(profile, ids)
    yield "edges", _edges(profile, ids)
    yield "call_tree", _rows("call_tree", profile.calls.nodes, ids)
    yield "waits", _rows("waits", profile.waits, ids)
    gpu, clock = profile.gpu, Clock(profile)
    yield "gpu_devices", _rows("gpu_devices", gpu.devices, ids)
    yield "gpu_kernels", _sums(gpu, ids)
    yield "gpu_by_line", _by_line(gpu, ids)
    yield "gpu_events", _events(gpu, ids, clock)
    yield "slices", _slices(profile, ids, clock)
    if profile.memory != NO_MEMORY:
        yield "memory_runs", _memory_runs(profile.memory)
        yield "memory_by_line", _memory_by_line(profile.memory, ids)
        yield "memory_curve", _memory_curve(profile.memory, ids, clock)
    yield "functions", _functions(profile, ids)


def _processes(profile: Profile) -> Rows:
    for index, one in enumerate(profile.processes, 1):
        program = " ".join(one.argv)
        place = (one.pid, one.host, one.rank, one.ranks, program, one.cwd, one.python)
        times = (one.start_unix_ns, one.wall_ns, one.overhead_ns)
        yield (index, *place, *times, one.exit)


def _functions(profile: Profile, ids: Ids) -> Rows:
    totals = function_totals(profile)
    for key in totals:
        ids[key]  # also those that no other row refers to
    for key, number in ids.items():
        file, line, name = key
        one = totals.get(key)
        numbers = (0, 0, 0, 0)
        if one is not None:
            numbers = (one.calls, one.primitive_calls, one.self_ns, one.total_ns)
        yield (number, file, name, line, *numbers)


def _lines(profile: Profile, ids: Ids) -> Rows:
    sources, self_ns = sources_of(profile), line_self_ns(profile)
    for function in profile.functions:
        key = function.key
        for row in function.rows:
            yield (
                *(ids[key], row.line, row.hits, self_ns[key][row.line]),
                *(getattr(row, name) for name in _TIMES),
                sources.line(function.file, row.line),
            )


def _line_threads(profile: Profile, ids: Ids) -> Rows:
    for function in profile.functions:
        number = ids[function.key]
        for one in function.thread_lines:
            yield (number, one.line, _id(one.thread, ids), one.hits, one.time_ns)


def _edges(profile: Profile, ids: Ids) -> Rows:
    gpu = edge_gpu_ns(profile)
    for one in edges(profile.calls):
        yield (
            None if one.caller is None else ids[one.caller],
            *(one.line, ids[one.callee]),
            *(one.calls, one.primitive_calls, one.total_ns, one.inclusive_ns),
            gpu.get(one.ends, 0),
        )


def _slices(profile: Profile, ids: Ids, clock: Clock) -> Rows:
    for trace in profile.traces:
        zero, process = clock.zero_of(trace), trace.process + 1
        for one in trace:
            yield (
                *(process, _id(one.thread, ids), ids[one.function], one.line),
                *(zero + one.start_ns, one.ns),
            )


# Rows of GPU data.


def _places(gpu: Gpu, ids: Ids) -> dict[int, tuple[int | None, ...]]:
    """Return thread, function and line of each path: those of its innermost line."""
    places: dict[int, tuple[int | None, ...]] = {NO_PATH: (None, None, None)}
    for index, path in enumerate(gpu.paths):
        key, line = path.lines[-1]
        places[index] = (_id(path.thread, ids), ids[key], line)
    return places


def _sums(gpu: Gpu, ids: Ids) -> Rows:
    places = _places(gpu, ids)
    for one in gpu.sums:
        thread, function, line = places[one.path]
        place = (function, line, thread, _id(one.device, ids))
        numbers = (one.count, one.ns, one.min_ns, one.max_ns, one.bytes)
        yield (*place, one.kind, _name(one.kind, one.name), *numbers)


def _name(kind: str, name: str) -> str:
    return kernel_name(name) if kind == KERNEL else call_name(name)


def _by_line(gpu: Gpu, ids: Ids) -> Rows:
    knows_blocks = gpu.memory.is_known
    for key, lines in numbers_of_lines(gpu).items():
        for line, one in lines.items():
            yield (
                *(ids[key], line, one.gpu_ns, one.self_ns, one.kernels),
                *(one.memcpy_ns, one.memcpy_bytes, one.wait_ns),
                *(one.alloc_bytes, one.free_bytes),
                *((one.live_bytes, one.peak_bytes) if knows_blocks else (None, None)),
            )


def _events(gpu: Gpu, ids: Ids, clock: Clock) -> Rows:
    places = _places(gpu, ids)
    for timeline in gpu.timelines:
        zero, process = clock.zero_of(timeline), timeline.process + 1
        for one in events_by_start(timeline):
            name = _name(one.kind, one.name)
            yield (
                *(process, *places[one.path]),
                *(one.kind, name, zero + one.start_ns, one.ns),
                *_device(one),
                *(one.correlation, one.bytes or None, *_launch(one)),
                *(one.source or None, one.target or None),
            )


def _device(one: GpuEvent) -> tuple[object, ...]:
    """Return device, context and stream; None for a call of the host."""
    if one.device == NO_DEVICE:
        return (None,) * 3
    return one.device, one.context, one.stream


def _launch(one: GpuEvent) -> tuple[object, ...]:
    """Return the launch parameters of a kernel; None for other events."""
    if one.kind != KERNEL:
        return (None,) * 5
    return launch_values(one)


# Rows of memory.

_of_memory = attrgetter(*MEMORY_NUMBERS)


def _memory_runs(memory: HostMemory) -> Rows:
    outside = memory_of_processes(memory, outside=True)
    for one in memory.runs:
        yield (
            *(one.process + 1, one.peak_bytes, one.peak_ns),
            outside.get(one.process, NO_BYTES).peak_bytes,
            *(one.side_bytes, one.sample_bytes, one.lost, one.is_native),
        )


def _memory_by_line(memory: HostMemory, ids: Ids) -> Rows:
    alone = memory_of_lines(memory, alone=True)
    for key, lines in memory_of_lines(memory).items():
        for line, one in lines.items():
            own = alone.get(key, {}).get(line, NO_BYTES)
            yield (ids[key], line, *_of_memory(one), *_of_memory(own))
    outside = _of_memory(outside_memory(memory))
    yield (None, None, *outside, *outside)


def _memory_curve(memory: HostMemory, ids: Ids, clock: Clock) -> Rows:
    for one in memory.curves:
        start = clock.start_of(one.process)
        places: list[Row] = [(None, None), *((ids[key], at) for key, at in one.lines)]
        for place, sizes in zip(places, (one.live_bytes, *one.line_bytes)):
            for at_ns, size in zip(one.times_ns, sizes):
                yield (one.process + 1, *place, start + at_ns, size)
