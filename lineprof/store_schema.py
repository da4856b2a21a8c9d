"""The tables of a ``.lprof`` file, an SQLite database: docs/format.md says more."""

from __future__ import annotations

from lineprof.values import Value

APPLICATION_ID = int.from_bytes(b"LPRF", "big")
SCHEMA_VERSION = 1  # raised when an old reader would misread a new file


class Column(Value):
    """One column; `kind` is the type that every value in it has."""

    name: str
    kind: type[int | str]
    optional: bool = False  # may be NULL

    @property
    def sql(self) -> str:
        """Its definition in CREATE TABLE."""
        if self.name == "id":
            return "id INTEGER PRIMARY KEY"
        kind = "INTEGER" if self.kind is int else "TEXT"
        return f"{self.name} {kind}" + ("" if self.optional else " NOT NULL")


class Table(Value):
    """One table; its rows have an order, that of their rowid."""

    name: str
    columns: tuple[Column, ...]

    @property
    def _names(self) -> str:
        return ", ".join(column.name for column in self.columns)

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
    ),
)
WARNINGS = Table("warnings", _texts("text"))

TABLES = (META, FILES, PROCESSES, THREADS, FUNCTIONS, CELLS, WARNINGS)
