"""The tables of a ``.lprof`` file, an SQLite database: docs/format.md says more."""

from __future__ import annotations

import sqlite3
from operator import is_
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    Rows = list[tuple[Any, ...]]


# The rows of a profile's file, no value of which is believed.


MOST_ROWS = 20_000_000  # of one table


class Damaged(Exception):  # noqa: N818  # it is a reason, not an error
    """What in the file is not as a profile has it."""


def check_tables(db: sqlite3.Connection) -> frozenset[Table]:
    """Return the tables that there are; then nothing but reading is possible.

    Raises Damaged unless our tables are sound, plain ones, and none is missing.
    """
    plain = "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0"
    names = {name for (name,) in db.execute(plain)}
    tables = list(TABLES)
    for group in OPTIONAL_TABLES:
        if any(table.name in names for table in group):
            tables += group
    for table in tables:
        if table.name not in names:
            raise Damaged(f"it has no table {table.name}")
        for *_, hidden in db.execute(f"PRAGMA table_xinfo({table.name})"):
            if hidden:
                raise Damaged(f"table {table.name} computes its values")
        for (finding,) in db.execute(f"PRAGMA quick_check({table.name})"):
            if finding != "ok":
                raise Damaged(str(finding).splitlines()[-1])

    def allow(action: int, *_: object) -> int:
        allowed = action in {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ}
        return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY

    db.set_authorizer(allow)  # no function, no recursion, no change
    return frozenset(tables)


def _value(value: object, kind: type) -> object:
    """Return a stored value as Python has it; Damaged if it is of another type."""
    if isinstance(value, bytes) and kind is str:
        return value.decode("utf-8", "surrogatepass")
    if type(value) is not kind:
        raise Damaged(f"{value!r:.40} where {kind.__name__} is due")
    return value


def rows_of(db: sqlite3.Connection, table: Table) -> Rows:
    """Return all rows of a table, with every value's type checked."""
    rows: Rows = []
    fit = set()  # types of the values of rows that need no change
    for row in db.execute(table.select):
        if len(rows) == MOST_ROWS:
            raise Damaged(f"too many rows in {table.name}")
        types = tuple(map(type, row))
        if types not in fit:
            checked = _checked(row, table)
            if all(map(is_, checked, row)):
                fit.add(types)
            row = checked  # noqa: PLW2901  # the same row, as Python has it
        rows.append(row)
    return rows


def _checked(row: tuple[object, ...], table: Table) -> tuple[object, ...]:
    """Return a row as Python has it; Damaged if a value is of another type."""
    return tuple(
        [
            None if value is None and column.optional else _value(value, column.kind)
            for column, value in zip(table.columns, row)
        ]
    )


def places_of(rows: Rows) -> dict[object, int]:
    """Return the place of each row by the id in its first column."""
    return {index: place for place, (index, *_) in enumerate(rows)}


def known(places: Mapping[Any, Any], index: object, kind: str) -> Any:  # noqa: ANN401
    """Return what an id stands for; Damaged if it stands for nothing."""
    if index not in places:
        raise Damaged(f"there is no {kind} {index}")
    return places[index]


def natural(numbers: Iterable[int], what: str) -> None:
    """Raise Damaged if one of `numbers` is below 0."""
    for number in numbers:
        if number < 0:
            raise Damaged(f"{what} has {number}")


APPLICATION_ID = int.from_bytes(b"LPRF", "big")
SCHEMA_VERSION = 1  # raised when an old reader would misread a new file
MOST_EVENTS = 100_000_000  # of all timelines together; of all traces, slices
FOLDED = "calls_folded"  # the key in META of CallTree.folded, where that is not 0


_SQL = {int: "INTEGER", str: "TEXT", bytes: "BLOB"}


class Column(NamedTuple):
    """One column; `kind` is the type that every value in it has."""

    name: str
    kind: type[int | str | bytes]
    optional: bool = False  # may be NULL

    @property
    def sql(self) -> str:
        """Its definition in CREATE TABLE."""
        if self.name == "id":
            return "id INTEGER PRIMARY KEY"
        kind = _SQL[self.kind]
        return f"{self.name} {kind}" + ("" if self.optional else " NOT NULL")


class Table(NamedTuple):
    """One table; its rows have an order, that of their rowid."""

    name: str
    columns: tuple[Column, ...]

    @property
    def _names(self) -> str:
        return ", ".join(column.name for column in self.columns)

    def row(self, index: int, values: Mapping[str, object]) -> tuple[object, ...]:
        """Return what an INSERT takes: the id `index`, then `values` by column."""
        return (index, *[values[column.name] for column in self.columns[1:]])

    def fields(self, row: Sequence[Any]) -> dict[str, Any]:
        """Return the values of a row by the names of the columns, without its id."""
        names = [column.name for column in self.columns]
        return dict(zip(names[1:], row[1:]))

    @property
    def create(self) -> str:
        """The statement that makes it."""
        columns = ", ".join(column.sql for column in self.columns)
        return f"CREATE TABLE {self.name} ({columns})"

    @property
    def insert(self) -> str:
        """The statement that adds a row."""
        values = ", ".join("?" * len(self.columns))
        return f"INSERT INTO {self.name} ({self._names}) VALUES ({values})"  # noqa: S608

    @property
    def select(self) -> str:
        """The statement that reads all rows in order."""
        return f"SELECT {self._names} FROM {self.name} ORDER BY rowid"  # noqa: S608


def _ints(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name, int) for name in names)


def _texts(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name, str) for name in names)


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

# Of a profile with GPU data alone.
GPU_RUNS = Table(
    "gpu_runs",
    (
        *_ints("process_id"),
        *_texts("backend", "reason"),
        *_ints("present", "version", "dropped", "invalid", "outstanding", "left_out"),
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
# Of a profile that has calls or waits alone.
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
# Of a profile that was asked what lines were themselves; the same holds.
OWN_TIMES = Table(
    "own_times",
    (
        *_ints("function_id", "line"),
        Column("thread_id", int, optional=True),
        *_texts("part"),
        *_ints("ns"),
    ),
)

# Of a profile with traces alone; their functions are those of the calls.
TRACES = Table("traces", _ints("id", "process_id", "slices", "left_out", "origin_ns"))
TRACE_FUNCTIONS = Table("trace_functions", _ints("trace_id", "function_id"))
TRACE_THREADS = Table(
    "trace_threads", (*_ints("trace_id"), Column("thread_id", int, optional=True))
)
TRACE_BATCHES = Table("trace_batches", _ints("id", "trace_id", "slices"))
TRACE_COLUMNS = Table(
    "trace_columns", (*_ints("batch_id"), *_texts("name"), Column("data", bytes))
)

TABLES = (META, FILES, PROCESSES, THREADS, FUNCTIONS, CELLS, WARNINGS)
GPU_TABLES = (
    *(GPU_RUNS, GPU_DEVICES, GPU_NAMES, GPU_PATHS, GPU_PATH_LINES, GPU_SUMS),
    *(GPU_TIMELINES, GPU_TIMELINE_NAMES, GPU_LAUNCHES, GPU_BATCHES, GPU_COLUMNS),
)
CALL_TABLES = (CALL_FUNCTIONS, CALL_NODES, WAITS)
TRACE_TABLES = (TRACES, TRACE_FUNCTIONS, TRACE_THREADS, TRACE_BATCHES, TRACE_COLUMNS)
# A file has all tables of such a group, or none of them.
OPTIONAL_TABLES = (GPU_TABLES, CALL_TABLES, (OWN_TIMES,), TRACE_TABLES)


# A file's name as SQLite takes it together with the way to open it.


def uri(path: str, how: str) -> str:
    """Return the URI of the file at `path`, an absolute one, with the query `how`.

    What has a meaning in a URI is encoded: https://www.sqlite.org/uri.html
    """
    for character, code in (("%", "%25"), ("?", "%3f"), ("#", "%23")):
        path = path.replace(character, code)
    return f"file://{path}?{how}"
