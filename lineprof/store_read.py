"""Reading a profile's file, which anyone may have made or damaged."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import sys
from contextlib import closing

from lineprof.errors import LineprofError
from lineprof.records import (
    UNKNOWN_THREAD,
    Cell,
    FunctionStats,
    Process,
    SourceFile,
    Thread,
)
from lineprof.stats import LineStats
from lineprof.store_schema import (
    APPLICATION_ID,
    CELLS,
    FILES,
    FUNCTIONS,
    META,
    PROCESSES,
    SCHEMA_VERSION,
    TABLES,
    THREADS,
    WARNINGS,
    Table,
)
from lineprof.store_uri import uri
from lineprof.units import NANOSECOND
from lineprof.values import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MAGIC = b"SQLite format 3\0"
_HEADER_BYTES = 100
_HEAD_BYTES = 4096
_USER_VERSION = slice(60, 64)  # where SQLite's header has them:
_APPLICATION_ID = slice(68, 72)  # https://www.sqlite.org/fileformat2.html, 1.3
_MOST_ROWS = 20_000_000  # of one table
_MOST_BYTES = 1 << 27  # of one value
_AGAIN = "record it again"


class _Damaged(Exception):  # noqa: N818  # it is a reason, not an error
    """What in the file is not as a profile has it."""


def load(path: str | os.PathLike[str]) -> LineStats:
    """Return the profile in the file at `path`.

    Nothing in the file is executed or believed: whatever is in it, the answer
    is a profile or LineprofError, with the file's name and what to do. It is
    opened for reading only, without locks.
    """
    name = os.fsdecode(path)
    try:
        _check_kind(name, _head(name))
    except (OSError, ValueError) as error:
        raise _unreadable(name, error) from error
    try:
        # immutable: no locks and no journal, whatever lies beside the file
        place = uri(os.path.abspath(name), "mode=ro&immutable=1")
        with closing(sqlite3.connect(place, uri=True)) as db:
            _restrict(db)
            _check_tables(db)
            return _profile(db)
    except (
        _Damaged,
        sqlite3.Error,
        ValueError,
        OverflowError,
        MemoryError,
        RecursionError,
    ) as error:
        raise LineprofError(
            f"{name} is damaged ({str(error) or type(error).__name__})", hint=_AGAIN
        ) from error


def _unreadable(name: str, error: OSError | ValueError) -> LineprofError:
    if isinstance(error, FileNotFoundError):
        hint = "check the name; kernprof -l script.py writes script.lprof"
        return LineprofError(f"{name} does not exist", hint=hint)
    reason = getattr(error, "strerror", None) or str(error)
    return LineprofError(f"cannot read {name}: {reason}", hint="give a .lprof file")


def _head(name: str) -> bytes:
    """Return the first bytes of a regular file; OSError for any other thing."""
    mode = os.stat(name).st_mode
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
        raise OSError(0, f"it is {kind}")
    with open(name, "rb") as stream:
        return stream.read(_HEAD_BYTES)


def _check_kind(name: str, head: bytes) -> None:
    """Raise LineprofError unless the file begins as one that we can read."""
    if not head:
        raise LineprofError(f"{name} is empty", hint=_AGAIN)
    if not head.startswith(_MAGIC):
        if head[:1] == b"\x80" and b"line_profiler" in head:
            message = f"{name} is a pickle of line_profiler"
            hint = f"view it with: python -m line_profiler {name}"
        else:
            message = f"{name} is not a profile"
            hint = "give a file that kernprof -l wrote"
        raise LineprofError(message, hint=hint)
    if len(head) < _HEADER_BYTES:
        raise LineprofError(f"{name} is cut off", hint=_AGAIN)
    if int.from_bytes(head[_APPLICATION_ID], "big") != APPLICATION_ID:
        raise LineprofError(
            f"{name} is a database of another program",
            hint="give a file that kernprof -l wrote",
        )
    version = int.from_bytes(head[_USER_VERSION], "big")
    if version > SCHEMA_VERSION:
        message = (
            f"{name} was written by a newer lineprof"
            f" (its format is {version}, this one reads {SCHEMA_VERSION})"
        )
        raise LineprofError(message, hint="upgrade lineprof to view it")


def _restrict(db: sqlite3.Connection) -> None:
    """Let nothing in the database act, and no value be too big."""
    db.text_factory = _text
    if sys.version_info >= (3, 11):
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_BYTES)
    for pragma in (
        "trusted_schema = OFF",
        "cell_size_check = ON",
        "query_only = ON",
        "ignore_check_constraints = ON",
        "mmap_size = 0",
        "temp_store = MEMORY",
    ):
        db.execute(f"PRAGMA {pragma}")


def _text(data: bytes) -> str:
    """Return a TEXT value; a byte that is not UTF-8 as Python's file names do."""
    return data.decode("utf-8", "surrogateescape")


def _check_tables(db: sqlite3.Connection) -> None:
    """Raise _Damaged unless our tables are sound, plain ones: then lock it up."""
    plain = "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0"
    names = {name for (name,) in db.execute(plain)}
    for table in TABLES:
        if table.name not in names:
            raise _Damaged(f"it has no table {table.name}")
        for *_, hidden in db.execute(f"PRAGMA table_xinfo({table.name})"):
            if hidden:
                raise _Damaged(f"table {table.name} computes its values")
        for (finding,) in db.execute(f"PRAGMA quick_check({table.name})"):
            if finding != "ok":
                raise _Damaged(str(finding).splitlines()[-1])

    def allow(action: int, *_: object) -> int:
        allowed = action in {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ}
        return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY

    db.set_authorizer(allow)  # no function, no recursion, no change


def _value(value: object, kind: type) -> object:
    """Return a stored value as Python has it; _Damaged if it is of another type."""
    if isinstance(value, bytes) and kind is str:
        return value.decode("utf-8", "surrogatepass")
    if type(value) is not kind:
        raise _Damaged(f"{value!r:.40} where {kind.__name__} is due")
    return value


def _rows(db: sqlite3.Connection, table: Table) -> list[list[Any]]:
    """Return all rows of a table, with every value's type checked."""
    rows: list[list[Any]] = []
    for row in db.execute(table.select):
        if len(rows) == _MOST_ROWS:
            raise _Damaged(f"too many rows in {table.name}")
        rows.append(
            [
                None
                if value is None and column.optional
                else _value(value, column.kind)
                for column, value in zip(table.columns, row)
            ]
        )
    return rows


def _places(rows: list[list[Any]]) -> dict[object, int]:
    """Return the place of each row by the id in its first column."""
    return {index: place for place, (index, *_) in enumerate(rows)}


def _known(places: dict[object, Any], index: object, kind: str) -> Any:  # noqa: ANN401
    """Return what an id stands for; _Damaged if it stands for nothing."""
    if index not in places:
        raise _Damaged(f"there is no {kind} {index}")
    return places[index]


def _process(values: list[Any]) -> Process:
    process = Process(*values)
    argv = json.loads(str(process.argv))
    if not isinstance(argv, list) or not all(type(one) is str for one in argv):
        raise _Damaged("the arguments of a process are no list of texts")
    return replace(process, argv=tuple(argv))


def _functions(
    db: sqlite3.Connection, paths: dict[object, str], threads: dict[object, int]
) -> list[FunctionStats]:
    """Return all functions in order of their position, with their cells."""
    rows = _rows(db, FUNCTIONS)
    cells: dict[object, list[Cell]] = {index: [] for index, *_ in rows}
    for index, line, thread, *numbers in _rows(db, CELLS):
        place = UNKNOWN_THREAD
        if thread is not None:
            place = _known(threads, thread, "thread")
        _known(cells, index, "function").append(Cell(line, place, *numbers))
    return [
        FunctionStats(
            file=_known(paths, file, "file"),
            name=name,
            line=line,
            cells=tuple(cells[index]),
            calls=calls,
            recursive_ns=recursive,
        )
        for index, file, name, line, calls, recursive, _ in sorted(
            rows, key=lambda row: (row[-1], row[0])
        )
    ]


def _profile(db: sqlite3.Connection) -> LineStats:
    """Return the profile in an open and checked database."""
    files = _rows(db, FILES)
    processes = _rows(db, PROCESSES)
    threads = _rows(db, THREADS)
    process_places = _places(processes)
    return LineStats.from_functions(
        _functions(db, {index: path for index, path, *_ in files}, _places(threads)),
        processes=[_process(values) for _, *values in processes],
        threads=[
            Thread(_known(process_places, process, "process"), native_id, name)
            for _, process, native_id, name in threads
        ],
        sources={
            path: SourceFile(path, text, sha256 or "")
            for _, path, sha256, text in files
            if sha256 is not None or text is not None
        },
        warnings=[text for (text,) in _rows(db, WARNINGS)],
        unit=float(dict(_rows(db, META)).get("unit", NANOSECOND)),
    )
