"""Tables of a ``.lprof`` file, an SQLite database: docs/format.md explains them.

Rows are written by the names of columns (`Table.row`) and read by them
(`Table.named`). A new column needs a line here, one in the writer, and, unless the
record that the reader makes has a field of that name, one in the reader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from typing import Any

    Rows = list[tuple[Any, ...]]

APPLICATION_ID = int.from_bytes(b"LPRF", "big")
SCHEMA_VERSION = 2  # raised when an old reader would misread a new file
WITHOUT_MERGED = 1  # the version of files without MERGED_CALLS, which older ones read
MAX_EVENTS = 100_000_000  # of all timelines together; of all traces, slices
FOLDED = "calls_folded"  # the key in META of CallTree.folded, if that is not 0

_SQL = {int: "INTEGER", str: "TEXT", bytes: "BLOB"}


def database_uri(path: str, query: str) -> str:
    """Return the URI of the file at `path`, an absolute one, for sqlite3.connect.

    Characters that have a meaning in a URI are encoded, as
    https://www.sqlite.org/uri.html asks for.
    """
    for character, code in (("%", "%25"), ("?", "%3f"), ("#", "%23")):
        path = path.replace(character, code)
    return f"file://{path}?{query}"


class Column(NamedTuple):
    """One column; `kind` is the type of every value in it."""

    name: str
    kind: type[int | str | bytes]
    optional: bool = False  # may be NULL
    added: bool = False  # optional, and NULL in files of versions that lacked it

    @property
    def sql(self) -> str:
        """The column's definition in CREATE TABLE."""
        if self.name == "id":
            return "id INTEGER PRIMARY KEY"
        kind = _SQL[self.kind]
        return f"{self.name} {kind}" + ("" if self.optional else " NOT NULL")


class Table:
    """One table; its rows have an order, that of their rowid."""

    def __init__(self, name: str, columns: tuple[Column, ...]) -> None:
        """Take the name and the columns."""
        self.name = name
        self.columns = columns
        self.names = tuple([column.name for column in columns])

    def row(self, **values: object) -> tuple[object, ...]:
        """Return `values` in the order of the columns.

        Raises KeyError for a column without a value, TypeError for a value without
        a column.
        """
        if len(values) > len(self.names):
            raise TypeError(f"{self.name} has no {values.keys() - set(self.names)}")
        return tuple(map(values.__getitem__, self.names))

    def named(self, rows: Iterable[tuple[Any, ...]]) -> Iterator[dict[str, Any]]:
        """Yield the values of each row by the names of the columns."""
        for row in rows:
            yield dict(zip(self.names, row))

    @property
    def create(self) -> str:
        """The statement that makes the table."""
        columns = ", ".join(column.sql for column in self.columns)
        return f"CREATE TABLE {self.name} ({columns})"

    def insert(self, rows: int) -> str:
        """Return the statement that adds so many rows."""
        row = f"({', '.join('?' * len(self.columns))})"
        values = ", ".join([row] * rows)
        return f"INSERT INTO {self.name} ({', '.join(self.names)}) VALUES {values}"  # noqa: S608

    def select(self, present: Collection[str]) -> str:
        """Return the statement that reads all rows in order, from a file.

        `present` are the names of the columns that the table has in this file. An
        added column that is not among them reads as NULL.
        """
        columns = ", ".join(
            "NULL" if column.added and column.name not in present else column.name
            for column in self.columns
        )
        return f"SELECT {columns} FROM {self.name} ORDER BY rowid"  # noqa: S608


class BatchTables(NamedTuple):
    """The tables of packed columns: of events in timelines, or of slices in traces."""

    batches: Table
    columns: Table
    owner: str  # "timeline": `batches` has its id as timeline_id
    items: str  # "events": the column of `batches` with their number

    @property
    def owner_id(self) -> str:
        """The column with the id of a timeline, or of a trace."""
        return f"{self.owner}_id"


def _ints(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name, int) for name in names)


def _texts(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name, str) for name in names)


# Every profile has these.

META = Table("meta", _texts("key", "value"))
FILES = Table(
    "files",
    (
        *_ints("id"),
        *_texts("path"),
        Column("sha256", str, optional=True),
        Column("text", str, optional=True),
    ),
)
PROCESSES = Table(
    "processes",
    (
        *_ints("id", "pid"),
        *_texts("host"),
        Column("rank", int, optional=True),
        *_texts("argv", "cwd", "python"),
        *_ints("start_unix_ns", "wall_ns"),
        *_texts("core", "core_reason", "clock"),
        *_ints("overhead_ns"),
        *_texts("version", "exit"),
        Column("cpu_ns", int, optional=True, added=True),
        Column("is_whole", int, optional=True, added=True),
        Column("ranks", int, optional=True, added=True),
        Column("unix_offset_ns", int, optional=True, added=True),
        Column("parent_pid", int, optional=True, added=True),
    ),
)
THREADS = Table("threads", (*_ints("id", "process_id", "native_id"), *_texts("name")))
FUNCTIONS = Table(
    "functions",
    (
        *_ints("id", "file_id"),
        *_texts("name"),
        *_ints("first_line", "calls"),
        Column("recursive_ns", int, optional=True),
        *_ints("position"),
    ),
)
CELLS = Table(
    "cells",
    (
        *_ints("function_id", "line"),
        Column("thread_id", int, optional=True),
        *_ints("hits", "time_ns", "await_ns", "raw_ns"),
        Column("min_ns", int, optional=True),
        Column("max_ns", int, optional=True),
    ),
)
WARNINGS = Table("warnings", _texts("text"))

# Only profiles with GPU data have these.

GPU_RUNS = Table(
    "gpu_runs",
    (
        *_ints("process_id"),
        *_texts("backend", "reason"),
        *_ints("present", "version", "dropped", "invalid", "outstanding", "left_out"),
        Column("realigned", int, optional=True, added=True),
        Column("undated", int, optional=True, added=True),
        Column("unfinished", int, optional=True, added=True),
        Column("cut_ns", int, optional=True, added=True),
        Column("foreign_buffers", int, optional=True, added=True),
        Column("taken", int, optional=True, added=True),
    ),
)
GPU_DEVICES = Table(
    "gpu_devices",
    (
        *_ints("id", "process_id", "device"),
        *_texts("name"),
        *_ints("busy_ns", "busy_exact"),
        *_texts("attributes"),
    ),
)
GPU_NAMES = Table("gpu_names", (*_ints("id"), *_texts("name")))
GPU_PATHS = Table(
    "gpu_paths",
    (
        *_ints("id"),
        Column("thread_id", int, optional=True),
        *_ints("adopted", "nvtx_payload"),
    ),
)
GPU_PATH_LINES = Table("gpu_path_lines", _ints("path_id", "function_id", "line"))
GPU_SUMS = Table(
    "gpu_sums",
    (
        Column("path_id", int, optional=True),
        Column("origin_id", int, optional=True),
        *_texts("kind"),
        *_ints("name_id"),
        Column("device_id", int, optional=True),
        *_ints("count", "ns", "min_ns", "max_ns", "bytes"),
    ),
)
GPU_TIMELINES = Table(
    "gpu_timelines", _ints("id", "process_id", "events", "origin_ns", "first_path")
)
GPU_TIMELINE_NAMES = Table("gpu_timeline_names", _ints("timeline_id", "name_id"))
GPU_LAUNCHES = Table(
    "gpu_launches",
    _ints(
        *("timeline_id", "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z"),
        *("registers", "static_smem", "dynamic_smem"),
    ),
)
GPU_BATCHES = Table("gpu_batches", _ints("id", "timeline_id", "events"))
GPU_COLUMNS = Table(
    "gpu_columns", (*_ints("batch_id"), *_texts("name"), Column("data", bytes))
)
EVENT_BATCHES = BatchTables(
    batches=GPU_BATCHES, columns=GPU_COLUMNS, owner="timeline", items="events"
)

# Only profiles with calls, waits, traces or own times have these.

CALL_FUNCTIONS = Table(
    "call_functions", (*_ints("id"), *_texts("file", "name"), *_ints("first_line"))
)
CALL_NODES = Table(
    "call_nodes",
    (
        *_ints("id"),
        Column("parent_id", int, optional=True),
        *_ints("function_id", "line"),
        Column("thread_id", int, optional=True),
        *_ints("calls", "primitive_calls", "self_ns", "total_ns", "inclusive_ns"),
    ),
)
WAITS = Table(
    "waits",
    (
        *_ints("function_id", "line"),
        Column("thread_id", int, optional=True),
        *_texts("cause"),
        *_ints("ns"),
    ),
)

# Only profiles with more call paths than are kept have this.

MERGED_CALLS = Table(
    "merged_calls",
    (
        Column("caller_id", int, optional=True),
        *_ints("line", "function_id"),
        Column("thread_id", int, optional=True),
        *_ints("calls", "primitive_calls", "self_ns", "total_ns", "inclusive_ns"),
    ),
)

# Only profiles that have the breakdown of lines' own times have this.

OWN_TIMES = Table(
    "own_times",
    (
        *_ints("function_id", "line"),
        Column("thread_id", int, optional=True),
        *_texts("part"),
        *_ints("ns"),
    ),
)

# Only profiles with functions that were counted for a part of the run have this.

CUTS = Table(
    "cuts",
    (
        *_ints("function_id", "process_id", "from_ns"),
        Column("until_ns", int, optional=True),
        Column("lines_until_ns", int, optional=True, added=True),
    ),
)

# Only profiles with traces have these; their functions are those of the calls.

TRACES = Table(
    "traces",
    (
        *_ints("id", "process_id", "slices", "left_out", "origin_ns"),
        Column("min_ns", int, optional=True, added=True),
        Column("min_line_ns", int, optional=True, added=True),
        Column("full_ns", int, optional=True, added=True),
    ),
)
TRACE_FUNCTIONS = Table("trace_functions", _ints("trace_id", "function_id"))
TRACE_THREADS = Table(
    "trace_threads", (*_ints("trace_id"), Column("thread_id", int, optional=True))
)
TRACE_BATCHES = Table("trace_batches", _ints("id", "trace_id", "slices"))
TRACE_COLUMNS = Table(
    "trace_columns", (*_ints("batch_id"), *_texts("name"), Column("data", bytes))
)
SLICE_BATCHES = BatchTables(
    batches=TRACE_BATCHES, columns=TRACE_COLUMNS, owner="trace", items="slices"
)

# Only profiles that were merged from many files have these. Line 0 is a function.

RANK_LINES = Table("rank_lines", _ints("id", "function_id", "line"))
RANK_RUNS = Table("rank_runs", _ints("id", "rank", "lines", "wall_ns", "mpi_ns"))
RANK_BATCHES = Table("rank_batches", _ints("id", "rank_id", "lines"))
RANK_COLUMNS = Table(
    "rank_columns", (*_ints("batch_id"), *_texts("name"), Column("data", bytes))
)
RANK_LINE_BATCHES = BatchTables(
    batches=RANK_BATCHES, columns=RANK_COLUMNS, owner="rank", items="lines"
)

TABLES = (META, FILES, PROCESSES, THREADS, FUNCTIONS, CELLS, WARNINGS)
GPU_TABLES = (
    *(GPU_RUNS, GPU_DEVICES, GPU_NAMES, GPU_PATHS, GPU_PATH_LINES, GPU_SUMS),
    *(GPU_TIMELINES, GPU_TIMELINE_NAMES, GPU_LAUNCHES, GPU_BATCHES, GPU_COLUMNS),
)
CALL_TABLES = (CALL_FUNCTIONS, CALL_NODES, WAITS)
TRACE_TABLES = (TRACES, TRACE_FUNCTIONS, TRACE_THREADS, TRACE_BATCHES, TRACE_COLUMNS)
RANK_TABLES = (RANK_LINES, RANK_RUNS, RANK_BATCHES, RANK_COLUMNS)
# A file has all tables of such a group, or none of them.
OPTIONAL_TABLES = (
    *(GPU_TABLES, CALL_TABLES, (MERGED_CALLS,), (OWN_TIMES,), (CUTS,)),
    *(TRACE_TABLES, RANK_TABLES),
)
