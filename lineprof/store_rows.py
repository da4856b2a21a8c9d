"""The rows of a profile's file, no value of which is believed."""

from __future__ import annotations

import sqlite3
from operator import is_

from lineprof.store_schema import OPTIONAL_TABLES, TABLES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from lineprof.store_schema import Table

    Rows = list[tuple[Any, ...]]

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
