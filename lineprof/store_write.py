"""Writing a profile to its file: the whole of it or nothing."""

from __future__ import annotations

import json
import os

from lineprof.call_records import NO_CALLS
from lineprof.errors import LineprofError, file_error
from lineprof.gpu_records import NO_GPU
from lineprof.records import UNKNOWN_THREAD
from lineprof.store_schema import (
    APPLICATION_ID,
    CELLS,
    FILES,
    FOLDED,
    FUNCTIONS,
    META,
    MOST_EVENTS,
    PROCESSES,
    SCHEMA_VERSION,
    TABLES,
    THREADS,
    WARNINGS,
    Column,
    Table,
)
from lineprof.store_uri import uri
from lineprof.whole_file import replace_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Union

    from lineprof.records import Process
    from lineprof.stats import Profile

    Row = Iterable[object]
    Value = Union[int, str, bytes, None]

_PLAIN = frozenset({int, type(None)})


def save(stats: Profile, path: str | os.PathLike[str]) -> None:
    """Write `stats` to `path`; what was there before stays until it is done.

    The file is made under another name in the same folder and then renamed,
    so that a reader sees the old one or the new one, never half of it. A
    link is followed; the null device takes the profile and forgets it.
    Raises LineprofError when it cannot be written, and leaves nothing behind; it
    is an OSError, too, where that was the reason.
    """
    import sqlite3  # noqa: PLC0415  # for a Python that was built without it

    name = os.fsdecode(path)
    try:
        _write(stats, os.path.realpath(name))
    except OverflowError as error:
        raise LineprofError(
            f"cannot write {name}: a number in it is above 2**63 - 1",
            hint="record a shorter run",
        ) from error
    except (OSError, sqlite3.Error, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise file_error(
            error, f"cannot write {name}: {reason}", hint=_remedy(reason.lower())
        ) from error


def _remedy(reason: str) -> str:
    if any(word in reason for word in ("full", "space", "quota", "large")):
        return "make room, or choose a place on another disk"
    return "choose another place, in a folder that you may write to"


def _write(stats: Profile, target: str) -> None:
    """Write to a new file beside `target`, and give it that name."""

    def fill(handle: int, new: str) -> None:  # made there, and not by SQLite
        _fill(stats, new)
        os.fsync(handle)

    replace_file(target, fill)
    _sync_folder(os.path.dirname(target))


def _sync_folder(folder: str) -> None:
    """Make the new name last; some file systems cannot, and need not."""
    try:
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError:
        return


def _fill(stats: Profile, path: str) -> None:
    """Write all tables into the empty file at `path`."""
    import sqlite3  # noqa: PLC0415

    # No locks (a network's file system may have none, and nobody knows the
    # name), no journal and no sync: a file that fails is thrown away.
    place = uri(path, "mode=rw&nolock=1")
    db = sqlite3.connect(place, uri=True, isolation_level=None)
    try:
        for pragma in (
            "journal_mode = OFF",
            "synchronous = OFF",
            "temp_store = MEMORY",
            f"application_id = {APPLICATION_ID}",
            f"user_version = {SCHEMA_VERSION}",
        ):
            db.execute(f"PRAGMA {pragma}")
        db.execute("BEGIN")
        for table in TABLES:
            db.execute(table.create)
        _insert(db, META, _meta(stats))
        _insert(db, FILES, _files(stats))
        _insert(db, PROCESSES, _processes(stats.processes))
        _insert(db, THREADS, _threads(stats))
        _insert(db, FUNCTIONS, _functions(stats))
        _insert(db, CELLS, _cells(stats))
        _insert(db, WARNINGS, ((text,) for text in stats.warnings))
        for table, rows in _optional(stats):
            db.execute(table.create)
            _insert(db, table, rows)
        db.execute("COMMIT")
    finally:
        db.close()


def _optional(stats: Profile) -> Iterator[tuple[Table, Iterable[Row]]]:
    """Yield the tables, with their rows, that not every profile has."""
    if stats.gpu != NO_GPU:
        yield from _gpu(stats)
    if stats.calls != NO_CALLS or stats.waits or stats.traces or stats.own_times:
        from lineprof.store_write_calls import tables  # noqa: PLC0415  # few have any

        yield from tables(stats)
    if stats.traces:
        from lineprof.store_write_trace import tables as traces  # noqa: PLC0415

        yield from traces(stats)


def _gpu(stats: Profile) -> Iterator[tuple[Table, Iterable[Row]]]:
    """Yield the tables of GPU data with their rows."""
    from lineprof.store_write_gpu import tables  # noqa: PLC0415  # few have any

    events = sum(timeline.count for timeline in stats.gpu.timelines)
    if events > MOST_EVENTS:
        raise LineprofError(
            f"a profile can't hold {events} GPU events (at most {MOST_EVENTS})",
            hint="merge fewer profiles, or record fewer events",
        )
    yield from tables(stats)


def _insert(db: sqlite3.Connection, table: Table, rows: Iterable[Row]) -> None:
    columns = table.columns
    plain = all(column.kind is int for column in columns)

    def stored() -> Iterator[Sequence[Value]]:
        for row in rows:
            values = tuple(row)
            if plain and set(map(type, values)) <= _PLAIN:
                yield values  # type: ignore[misc]  # a million, maybe
            else:
                yield _stored(columns, values)

    db.executemany(table.insert, stored())


def _stored(columns: tuple[Column, ...], row: Row) -> list[Value]:
    """Return the values as SQLite takes them."""
    return [
        None
        if value is None and column.optional
        else int(value)  # type: ignore[call-overload]  # NumPy's integers, too
        if column.kind is int
        else value  # type: ignore[misc]  # packed already
        if column.kind is bytes
        else _text(str(value))
        for column, value in zip(columns, row)
    ]


def _text(text: str) -> str | bytes:
    """Return `text`, or bytes if it has a half of a surrogate pair.

    Names of files hold such halves for bytes that are not UTF-8. SQLite's
    TEXT is UTF-8, so these are kept as a BLOB.
    """
    if text.isascii():
        return text
    data = text.encode("utf-8", "surrogatepass")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return data
    return text


def _meta(stats: Profile) -> Iterator[Row]:
    yield ("unit", repr(stats.unit))
    if stats.calls.folded:
        yield (FOLDED, str(stats.calls.folded))


def _paths(stats: Profile) -> dict[str, int]:
    """Return the ids of all files that the profile speaks of."""
    paths = dict.fromkeys(function.file for function in stats.functions)
    paths.update(dict.fromkeys(stats.sources))
    return {path: index for index, path in enumerate(paths)}


def _files(stats: Profile) -> Iterator[Row]:
    for path, index in _paths(stats).items():
        source = stats.sources.get(path)
        known = (source.sha256, source.text) if source else (None, None)
        yield (index, path, *known)


def _processes(processes: Iterable[Process]) -> Iterator[Row]:
    for index, process in enumerate(processes):
        values = {**process._asdict(), "argv": json.dumps(process.argv)}
        yield PROCESSES.row(index, values)


def _threads(stats: Profile) -> Iterator[Row]:
    for index, thread in enumerate(stats.threads):
        yield (index, thread.process, thread.native_id, thread.name)


def _functions(stats: Profile) -> Iterator[Row]:
    paths = _paths(stats)
    for index, function in enumerate(stats.functions):
        yield (
            index,
            paths[function.file],
            function.name,
            function.line,
            function.calls,
            function.recursive_ns,
            index,
        )


def _cells(stats: Profile) -> Iterator[Row]:
    for index, function in enumerate(stats.functions):
        for cell in function.cells:
            if not UNKNOWN_THREAD <= cell.thread < len(stats.threads):
                raise IndexError(f"{cell} is of no thread of the profile")
            yield (
                index,
                cell.line,
                None if cell.thread == UNKNOWN_THREAD else cell.thread,
                cell.hits,
                cell.time_ns,
                cell.await_ns,
                cell.raw_ns,
                cell.min_ns,
                cell.max_ns,
            )
