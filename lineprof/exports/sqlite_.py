"""A profile as an SQLite database for people: plain tables, and views of them.

A ``.lprof`` file is a database, too, but its columns are packed. In this one
each number stands in a row of its own; `sqlite_schema` says which, and where.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from contextlib import closing

from lineprof.exports.sqlite_rows import rows
from lineprof.exports.sqlite_schema import TABLES, VIEWS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lineprof.stats import Profile

_CHUNK = 1 << 20  # bytes


def content(stats: Profile) -> Iterator[bytes]:
    """Yield the database, once it is written to a folder of its own.

    Raises OSError where that has no room.
    """
    with tempfile.TemporaryDirectory(prefix="lineprof-") as folder:
        name = os.path.join(folder, "profile.sqlite")
        try:
            with closing(sqlite3.connect(name, isolation_level=None)) as database:
                _fill(database, stats)
        except sqlite3.Error as error:
            raise OSError(0, f"SQLite says {error}", folder) from error
        with open(name, "rb") as file:
            while chunk := file.read(_CHUNK):
                yield chunk


def remarks(stats: Profile) -> Iterator[str]:
    """Yield which tables are empty, and why, a line each."""
    if not stats.calls.nodes:
        yield "the profile does not say who called whom: edges and call_tree are empty"
    if not stats.traces:
        yield "the run had no --trace: slices is empty"
    left_out = sum(one.left_out for one in stats.traces)
    if left_out:
        yield f"{left_out} slices are not in the trace: there was no room for them"
    left_out = sum(run.left_out for run in stats.gpu.runs)
    if left_out:
        yield f"{left_out} GPU records are not in gpu_events: the timeline was full"


def _fill(database: sqlite3.Connection, stats: Profile) -> None:
    """Write all of `stats`."""
    # No one reads the file before it is whole, and if that fails no one ever does.
    database.execute("PRAGMA journal_mode = OFF")
    database.execute("PRAGMA synchronous = OFF")
    database.execute("BEGIN")
    for name, columns in TABLES.items():
        texts = ", ".join(columns)
        database.execute(f"CREATE TABLE {name} ({texts})")
    for name, values in rows(stats):
        places = ", ".join("?" * len(TABLES[name]))
        database.executemany(
            f"INSERT INTO {name} VALUES ({places})",  # noqa: S608  # of our own
            map(_plain, values),
        )
    for name, query in VIEWS.items():
        database.execute(f"CREATE VIEW {name} AS {query}")
    database.execute("COMMIT")


def _plain(row: Iterable[object]) -> list[object]:
    """Return a row as SQLite takes it: halves of surrogate pairs as escapes."""
    return [
        one.encode("utf-8", "backslashreplace").decode()
        if isinstance(one, str) and not one.isascii()
        else one
        for one in row
    ]
