"""Checked reading of the tables of a ``.lprof`` file.

Anyone may have made or damaged the file: no value in it is trusted.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from lineprof.model.records import maker_of
from lineprof.storage.schema import TABLES, column_of
from lineprof.storage.schema_gpu import OPTIONAL_TABLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from lineprof.model.relation import Field
    from lineprof.storage.schema import Column, Rows, Table

    # What ids stand for, by what is referred to: keys of functions, and indexes.
    Lookup = dict[str, Mapping[object, Any]]

_MAX_ROWS = 20_000_000  # of one table
_ROWS_AT_ONCE = 1000


class Damaged(Exception):  # noqa: N818  # it is a reason, not an error
    """A reason why the file is not a valid profile."""


def check_tables(
    db: sqlite3.Connection,
    tables: Iterable[Table] = TABLES,
    optional: Iterable[tuple[Table, ...]] = OPTIONAL_TABLES,
) -> frozenset[Table]:
    """Return the tables of the file, and allow only reading from now on.

    Raises Damaged unless the file has all of `tables`, and all or none of each group
    of `optional`, undamaged and without computed columns.
    """
    plain = "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0"
    names = {name for (name,) in db.execute(plain)}
    found = [*tables]
    for group in optional:
        if any(table.name in names for table in group):
            found += group
    for table in found:
        if table.name not in names:
            raise Damaged(f"it has no table {table.name}")
        _check_table(db, table)
    _allow_only_reading(db)
    return frozenset(found)


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
    return [*zip(*columns_of(db, table).values())]


def columns_of(db: sqlite3.Connection, table: Table) -> dict[str, list[Any]]:
    """Return the values of each column; Damaged if one has not its column's type."""
    found: list[list[Any]] = [[] for _ in table.columns]
    cursor = db.execute(table.select(_columns(db, table)))
    while chunk := cursor.fetchmany(_ROWS_AT_ONCE):
        for values, more in zip(found, zip(*chunk)):
            values.extend(more)
        if len(found[0]) > _MAX_ROWS:
            raise Damaged(f"too many rows in {table.name}")
    for index, (column, values) in enumerate(zip(table.columns, found)):
        kinds = {column.kind, type(None)} if column.optional else {column.kind}
        if not {*map(type, values)} <= kinds:
            found[index] = [_checked(value, column) for value in values]
    return dict(zip(table.names, found))


def fields_of(
    db: sqlite3.Connection, table: Table, lookup: Lookup
) -> dict[str, list[Any]]:
    """Return the values of each field of a table's relation, and its other columns.

    Damaged if a reference is to nothing, or a number is below 0 that must not be.
    """
    columns = columns_of(db, table)
    if table.relation is not None:
        for field in table.relation.fields:
            values = columns.pop(column_of(field))
            owner = table.relation.owner
            columns[field.name] = _field_values(field, values, lookup, owner)
    return columns


def _field_values(
    field: Field, values: list[Any], lookup: Lookup, owner: str
) -> list[Any]:
    """Return the values of a field, as the records have them."""
    if field.refers:
        found = lookup.get(field.refers)
        if found is None:
            return values
        for row_id in {*values} - found.keys():
            raise Damaged(f"there is no {field.refers} {row_id}")
        return [found[row_id] for row_id in values]
    if field.kind is bool:
        for number in {*values} - {0, 1, None}:
            raise Damaged(f"{number} where yes or no is due")
        return [field.absent if one is None else one == 1 for one in values]
    if field.natural:
        check_natural([one for one in values if one is not None], owner)
    if field.absent is not None:
        return [field.absent if one is None else one for one in values]
    return values


def records_of(db: sqlite3.Connection, table: Table, lookup: Lookup) -> list[Any]:
    """Return the records of a table, as `fields_of` has their fields."""
    return records_from(table, fields_of(db, table, lookup))


def records_from(table: Table, fields: Mapping[str, list[Any]]) -> list[Any]:
    """Return the records with these fields; their ids are left out."""
    values = {name: column for name, column in fields.items() if name != "id"}
    assert table.relation is not None  # noqa: S101  # such a table has one
    make = maker_of(table.relation.record, tuple(values))
    return [*map(make, zip(*values.values()))]


def _columns(db: sqlite3.Connection, table: Table) -> set[str]:
    """Return the names of the columns that `table` has in the file."""
    cursor = db.execute(f"SELECT * FROM {table.name} LIMIT 0")  # noqa: S608  # ours
    return {name for name, *_ in cursor.description}


def _checked(value: object, column: Column) -> object:
    """Return a stored value in Python's type; Damaged if it has not its column's."""
    if value is None and column.optional:
        return None
    if isinstance(value, bytes) and column.kind is str:
        return value.decode("utf-8", "surrogatepass")
    if type(value) is not column.kind:
        raise Damaged(f"{value!r:.40} where {column.kind.__name__} is due")
    return value


def indexes_of(ids: Iterable[object]) -> dict[object, int]:
    """Return the index of each id."""
    return {row_id: index for index, row_id in enumerate(ids)}


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
