"""Checked reading of the tables of a ``.lprof`` file.

Anyone may have made or damaged the file: no value in it is trusted.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from lineprof.storage.schema import OPTIONAL_TABLES, TABLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from lineprof.model.records import Key
    from lineprof.storage.schema import Column, Rows, Table

    Indexes = Mapping[object, int]  # by id
    Keys = Mapping[object, Key]  # of functions, by id

_MAX_ROWS = 20_000_000  # of one table
_ROWS_AT_ONCE = 1000


class Damaged(Exception):  # noqa: N818  # it is a reason, not an error
    """A reason why the file is not a valid profile."""


def check_tables(db: sqlite3.Connection) -> frozenset[Table]:
    """Return the tables of the file, and allow only reading from now on.

    Raises Damaged unless the file has all tables of a profile, undamaged and without
    computed columns.
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
        _check_table(db, table)
    _allow_only_reading(db)
    return frozenset(tables)


def check_table(db: sqlite3.Connection, table: Table) -> None:
    """Check one table as `check_tables` does, and allow only reading from now on."""
    plain = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND rootpage > 0"
    if not db.execute(f"{plain} AND name = ?", (table.name,)).fetchall():
        raise Damaged(f"it has no table {table.name}")
    _check_table(db, table)
    _allow_only_reading(db)


def _check_table(db: sqlite3.Connection, table: Table) -> None:
    for *_, hidden in db.execute(f"PRAGMA table_xinfo({table.name})"):
        if hidden:
            raise Damaged(f"table {table.name} computes its values")
    for (finding,) in db.execute(f"PRAGMA quick_check({table.name})"):
        if finding != "ok":
            raise Damaged(str(finding).splitlines()[-1])


def _allow_only_reading(db: sqlite3.Connection) -> None:
    def allow(action: int, *_: object) -> int:
        allowed = action in {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ}
        return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY

    db.set_authorizer(allow)  # no function, no recursion, no change


def rows_of(db: sqlite3.Connection, table: Table) -> Rows:
    """Return all rows of a table; Damaged if a value has not its column's type."""
    return [row for chunk in chunks_of(db, table) for row in chunk]


def chunks_of(db: sqlite3.Connection, table: Table) -> Iterator[Rows]:
    """Yield the same rows, some at a time."""
    cursor = db.execute(table.select(_columns(db, table)))
    count = 0
    while chunk := cursor.fetchmany(_ROWS_AT_ONCE):
        count += len(chunk)
        if count > _MAX_ROWS:
            raise Damaged(f"too many rows in {table.name}")
        if not _fit(chunk, table):
            chunk = [_checked(row, table.columns) for row in chunk]
        yield chunk


def columns_of(db: sqlite3.Connection, table: Table) -> dict[str, list[Any]]:
    """Return the values of each column of a table; Damaged as for `rows_of`."""
    found: list[list[Any]] = [[] for _ in table.columns]
    cursor = db.execute(table.select(_columns(db, table)))
    while chunk := cursor.fetchmany(_ROWS_AT_ONCE):
        for values, more in zip(found, zip(*chunk)):
            values.extend(more)
        if len(found[0]) > _MAX_ROWS:
            raise Damaged(f"too many rows in {table.name}")
    named = dict(zip(table.names, found))
    for column, values in zip(table.columns, found):
        kinds = {column.kind, type(None)} if column.optional else {column.kind}
        if not {*map(type, values)} <= kinds:
            fitting = (_checked((value,), (column,)) for value in values)
            named[column.name] = [value for (value,) in fitting]
    return named


def _fit(chunk: Rows, table: Table) -> bool:
    """Tell whether each value has its column's type, so that none needs a change."""
    return all(
        set(map(type, values))
        <= ({column.kind, type(None)} if column.optional else {column.kind})
        for column, values in zip(table.columns, zip(*chunk))
    )


def _columns(db: sqlite3.Connection, table: Table) -> set[str]:
    """Return the names of the columns that `table` has in the file."""
    cursor = db.execute(f"SELECT * FROM {table.name} LIMIT 0")  # noqa: S608  # ours
    return {name for name, *_ in cursor.description}


def _checked(
    row: tuple[object, ...], columns: tuple[Column, ...]
) -> tuple[object, ...]:
    """Return a row in Python's types; Damaged if a value has not its column's."""
    return tuple(
        [
            None if value is None and column.optional else _value(value, column.kind)
            for column, value in zip(columns, row)
        ]
    )


def _value(value: object, kind: type) -> object:
    """Return a stored value in Python's type; Damaged if that is not `kind`."""
    if isinstance(value, bytes) and kind is str:
        return value.decode("utf-8", "surrogatepass")
    if type(value) is not kind:
        raise Damaged(f"{value!r:.40} where {kind.__name__} is due")
    return value


def indexes_of(rows: Rows) -> dict[object, int]:
    """Return the index of each row by the id in its first column."""
    return {row_id: index for index, (row_id, *_) in enumerate(rows)}


def known(found: Mapping[Any, Any], row_id: object, kind: str) -> Any:  # noqa: ANN401
    """Return the value of an id in `found`; Damaged if it is not there."""
    if row_id not in found:
        raise Damaged(f"there is no {kind} {row_id}")
    return found[row_id]


def check_natural(numbers: Iterable[int], owner: str) -> None:
    """Raise Damaged if one of `numbers` is below 0."""
    for number in numbers:
        if number < 0:
            raise Damaged(f"{owner} has {number}")
