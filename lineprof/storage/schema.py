"""Tables of a ``.lprof`` file, an SQLite database: docs/format.md explains them.

The columns of most are the fields of a `Relation`, which is declared beside the record.
"""

from __future__ import annotations

from itertools import count
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from lineprof.model import records
from lineprof.model.relation import NONE

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from typing import Any

    from lineprof.model.relation import Field, Relation

    Rows = list[tuple[Any, ...]]
    Row = Iterable[object]
    Filled = tuple["Table", Iterable[Row]]  # with its rows
    Ids = dict[str, Callable[[Any], int | None]]

APPLICATION_ID = int.from_bytes(b"LPRF", "big")
SCHEMA_VERSION = 2  # raised when an old reader would misread a new file
WITHOUT_MERGED = 1  # the version of files without MERGED_CALLS, which older ones read
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
    kind: type
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

    def __init__(
        self, name: str, columns: tuple[Column, ...], relation: Relation | None = None
    ) -> None:
        """Take the name and the columns, some of which are those of a relation."""
        self.name = name
        self.columns = columns
        self.names = tuple([column.name for column in columns])
        self.relation = relation

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


def ints(*names: str) -> tuple[Column, ...]:
    """Return columns of integers."""
    return tuple([Column(name, int) for name in names])


def texts(*names: str) -> tuple[Column, ...]:
    """Return columns of texts."""
    return tuple([Column(name, str) for name in names])


def column_of(field: Field) -> str:
    """Return the name of the column of a field."""
    return field.column or field.name


def _column(field: Field) -> Column:
    kind = int if field.refers or field.kind is bool else field.kind
    return Column(column_of(field), kind, field.optional, field.added)


def table_of(relation: Relation, *first: str, last: tuple[Column, ...] = ()) -> Table:
    """Return the table of a relation, with other columns of integers before its own."""
    columns = (*ints(*first), *map(_column, relation.fields), *last)
    return Table(relation.name, columns, relation)


def filled(
    table: Table, records: Sequence[object], refer: Ids, **columns: Iterable[object]
) -> Filled:
    """Return a table with the rows of records, whose ids are their indexes.

    `columns` are those that are no fields of them. `refer` has what returns the id of
    a reference, by what it refers to.
    """
    columns["id"] = count()
    for field in table.relation.fields if table.relation else ():
        values = map(attrgetter(field.name), records)
        columns[column_of(field)] = (
            map(refer[field.refers], values) if field.refers else values
        )
    return table, zip(*(columns[name] for name in table.names))


class Indexes(dict[int, "int | None"]):
    """The ids of records by their indexes in a profile; None (NULL) for NONE.

    IndexError if there is no such record; `kind` is its name in the message.
    """

    def __init__(self, records: Sequence[object], kind: str) -> None:
        self._count, self._kind = len(records), kind
        self[NONE] = None

    def __missing__(self, index: int) -> int:
        if not 0 <= index < self._count:
            raise IndexError(f"there is no {self._kind} {index} in the profile")
        self[index] = index
        return index


# Every profile has these.

META = Table("meta", texts("key", "value"))
FILES = Table(
    "files",
    (
        *(*ints("id"), *texts("path")),
        *(Column("sha256", str, optional=True), Column("text", str, optional=True)),
    ),
)
PROCESSES = table_of(records.PROCESSES, "id")
THREADS = table_of(records.THREADS, "id")
FUNCTIONS = table_of(records.FUNCTIONS, "id", last=ints("position"))
CELLS = table_of(records.CELLS, "function_id")
WARNINGS = Table("warnings", texts("text"))

# Only profiles with calls, waits, traces or own times have these.

CALL_FUNCTIONS = Table(
    "call_functions", (*ints("id"), *texts("file", "name"), *ints("first_line"))
)
CALL_NODES = table_of(records.CALL_NODES, "id")
WAITS = table_of(records.WAITS)

# Only profiles with more call paths than are kept have this.

MERGED_CALLS = table_of(records.MERGED_CALLS)

# Only profiles that have the breakdown of lines' own times have this.

OWN_TIMES = table_of(records.OWN_TIMES)

# Only profiles with functions that were counted for a part of the run have this.

CUTS = table_of(records.CUTS)

TABLES = (META, FILES, PROCESSES, THREADS, FUNCTIONS, CELLS, WARNINGS)
CALL_TABLES = (CALL_FUNCTIONS, CALL_NODES, WAITS)
