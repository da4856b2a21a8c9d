"""Writer of ``.lprof`` files: the whole profile or nothing."""

from __future__ import annotations

import json
import os
import sqlite3
from itertools import chain, count, islice
from operator import ge
from typing import TYPE_CHECKING

from lineprof.errors import LineprofError, file_error
from lineprof.files import write_atomically
from lineprof.later import Later
from lineprof.model.gpu import NO_GPU
from lineprof.model.host_memory import NO_MEMORY
from lineprof.model.records import (
    CALL_NUMBERS,
    NO_CALLS,
    NO_NODE,
    node_columns,
)
from lineprof.model.relation import FILE, FUNCTION, PROCESS, THREAD
from lineprof.storage import schema
from lineprof.storage.schema import Indexes, filled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

    from lineprof.model.profile import Profile
    from lineprof.model.records import Key
    from lineprof.storage import writer_gpu, writer_memory
    from lineprof.storage.schema import Column, Filled, Ids, Row, Table

    Value = int | str | bytes | None
else:
    writer_gpu = Later("lineprof.storage.writer_gpu")
    writer_memory = Later("lineprof.storage.writer_memory")

_PLAIN = frozenset({int, type(None)})
_MAX_VALUES = 999  # of one statement; SQLite before 3.32 takes no more


def save(
    stats: Profile,
    path: str | os.PathLike[str],
    progress: Callable[[int], object] | None = None,
) -> None:
    """Write `stats` to a new file, and then give that file the name `path`.

    A reader sees the old file or the new one, never half of one. A link is
    followed; a profile for the null device is discarded. Raises LineprofError if the
    file cannot be written, and leaves no partial file behind; the error is also an
    OSError if an OSError was the reason.
    """
    name = os.fsdecode(path)
    try:
        _write(stats, os.path.realpath(name), progress or _silent)
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


def _silent(_rows: int) -> None:
    """Show no progress."""


def _remedy(reason: str) -> str:
    if any(word in reason for word in ("full", "space", "quota", "large")):
        return "make room, or choose a place on another disk"
    return "choose another place, in a folder that you may write to"


def _write(stats: Profile, target: str, progress: Callable[[int], object]) -> None:
    """Write to a new file beside `target`, and give it that name."""

    def fill(handle: int, new: str) -> None:
        _fill(stats, new, progress)
        if handle >= 0:
            os.fsync(handle)

    write_atomically(target, fill)
    _sync_folder(os.path.dirname(target))


def _sync_folder(folder: str) -> None:
    """Make the new name durable, on file systems that can."""
    try:
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except Exception:  # noqa: BLE001  # OSError, or what an audit hook raises
        return


def _fill(stats: Profile, path: str, progress: Callable[[int], object]) -> None:
    """Write all tables into the empty file at `path`."""
    # The oldest version that has all of the profile.
    has_merged = bool(stats.calls.merged)
    version = schema.SCHEMA_VERSION if has_merged else schema.WITHOUT_MERGED
    # Without locks, as some network file systems have none and no other process knows
    # the name; without journal and sync, as an incomplete file is deleted.
    uri = schema.database_uri(path, "mode=rw&nolock=1")
    db = sqlite3.connect(uri, uri=True, isolation_level=None)
    try:
        for pragma in (
            "journal_mode = OFF",
            "synchronous = OFF",
            "temp_store = MEMORY",
            f"application_id = {schema.APPLICATION_ID}",
            f"user_version = {version}",
        ):
            db.execute(f"PRAGMA {pragma}")
        db.execute("BEGIN")
        written = 0
        for table, rows in _tables(stats):
            db.execute(table.create)
            for inserted in _insert(db, table, rows):
                written += inserted
                progress(written)
        db.execute("COMMIT")
    finally:
        db.close()


def _insert(db: sqlite3.Connection, table: Table, rows: Iterable[Row]) -> Iterator[int]:
    """Insert `rows`, many with each statement; yield the number of each.

    There may be hundreds of thousands, and each statement lets another thread run.
    """
    columns = table.columns
    plain = all(column.kind is int for column in columns)
    is_large = table is schema.FILES or any(column.kind is bytes for column in columns)
    at_once = 1 if is_large else _MAX_VALUES // len(columns)
    rows = iter(rows)
    while some := list(islice(rows, at_once)):
        values = tuple(chain.from_iterable(some))
        if not (plain and set(map(type, values)) <= _PLAIN):
            values = tuple(chain.from_iterable(_stored(columns, row) for row in some))
        db.execute(table.insert(len(some)), values)
        yield len(some)


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


def _tables(stats: Profile) -> Iterator[Filled]:
    """Yield the tables of the file, each with its rows."""
    ids = function_ids(stats)
    by_key: dict[Any, int | None] = {**ids, None: None}
    refer: Ids = {
        FILE: _path_ids(stats).__getitem__,
        FUNCTION: by_key.__getitem__,
        PROCESS: Indexes(stats.processes, "process").__getitem__,
        THREAD: Indexes(stats.threads, "thread").__getitem__,
    }
    processes = [one._replace(argv=json.dumps(one.argv)) for one in stats.processes]  # type: ignore[arg-type]
    yield schema.META, _meta(stats)
    yield schema.FILES, _files(stats)
    yield filled(schema.PROCESSES, processes, refer)
    yield filled(schema.THREADS, stats.threads, refer)
    yield filled(schema.FUNCTIONS, stats.functions, refer, position=count())
    yield _cells(stats, refer)
    yield schema.WARNINGS, ((text,) for text in stats.warnings)
    if stats.gpu != NO_GPU:
        yield from writer_gpu.gpu_tables(stats, refer)
    traces = (*stats.traces, *stats.gpu.slices)
    has_calls = stats.calls != NO_CALLS or stats.waits or stats.breakdowns
    if has_calls or traces or len(ids) > len(stats.functions):
        yield schema.CALL_FUNCTIONS, _call_functions(stats, ids)
        yield schema.CALL_NODES, _call_nodes(stats, ids, refer)
        yield filled(schema.WAITS, stats.waits, refer)
    if stats.calls.merged:
        yield filled(schema.MERGED_CALLS, stats.calls.merged, refer)
    if stats.breakdowns:
        yield filled(schema.OWN_TIMES, stats.breakdowns, refer)
    if stats.cuts:
        shown = {function.key for function in stats.functions}
        # The user may have taken functions away.
        cuts = [cut for cut in stats.cuts if cut.function in shown]
        yield filled(schema.CUTS, cuts, refer)
    if traces:
        yield from writer_gpu.trace_tables(stats, refer)
    if stats.ranks.runs:
        yield from writer_gpu.rank_tables(stats, refer)
    if stats.memory != NO_MEMORY:
        yield from writer_memory.memory_tables(stats, refer)


def function_ids(stats: Profile) -> dict[Key, int]:
    """Return the ids of the profile's functions, then of functions without lines.

    Functions without measured lines, mostly of C, are called, waited in or traced.
    """
    nodes = node_columns(stats.calls.nodes)
    called = map(nodes.functions.__getitem__, dict.fromkeys(nodes.column("function")))
    merged = [(one.function, one.caller or one.function) for one in stats.calls.merged]
    traces = (*stats.traces, *stats.gpu.slices)
    keys = chain(
        [function.key for function in stats.functions],
        called,
        chain.from_iterable(merged),
        [wait.function for wait in stats.waits],
        [one.function for one in stats.breakdowns],
        [function for function, _ in stats.ranks.places],
        chain.from_iterable([trace.functions for trace in traces]),
    )
    return {key: index for index, key in enumerate(dict.fromkeys(keys))}


def _meta(stats: Profile) -> Iterator[Row]:
    yield "unit", repr(stats.unit)
    if stats.calls.folded:
        yield schema.FOLDED, stats.calls.folded


def _path_ids(stats: Profile) -> dict[str, int]:
    """Return the ids of all files that the profile names."""
    files = [function.file for function in stats.functions]
    paths = dict.fromkeys([*files, *stats.sources])
    return {path: index for index, path in enumerate(paths)}


def _files(stats: Profile) -> Iterator[Row]:
    for path, index in _path_ids(stats).items():
        source = stats.sources.get(path)
        yield (index, path, *((source.sha256, source.text) if source else (None, None)))


def _cells(stats: Profile, refer: Ids) -> Filled:
    cells = [one for function in stats.functions for one in function.thread_lines]
    owners = [
        index
        for index, function in enumerate(stats.functions)
        for _ in function.thread_lines
    ]
    return filled(schema.CELLS, cells, refer, function_id=owners)


def _call_functions(stats: Profile, ids: Mapping[Key, int]) -> Iterator[Row]:
    for (file, line, name), index in list(ids.items())[len(stats.functions) :]:
        yield index, file, name, line


def _call_nodes(stats: Profile, ids: Mapping[Key, int], refer: Ids) -> Iterable[Row]:
    """Return the rows of `schema.CALL_NODES`, column by column, as there are many."""
    nodes = node_columns(stats.calls.nodes)
    parents = nodes.column("parent")
    function_ids = [ids.get(key) for key in nodes.functions]  # not all are called
    if min(parents, default=0) < NO_NODE or any(map(ge, parents, count())):
        known = (range(NO_NODE, index) for index in count())
        wrong = next(one for one, above in zip(nodes, known) if one.parent not in above)
        raise IndexError(f"{wrong} stands before its parent")
    columns: dict[str, Iterable[object]] = {
        "id": count(),
        "parent_id": [None if parent == NO_NODE else parent for parent in parents],
        "function_id": map(function_ids.__getitem__, nodes.column("function")),
        "thread_id": map(refer[THREAD], nodes.column("thread")),
        **{name: nodes.column(name) for name in ("line", *CALL_NUMBERS)},
    }
    return zip(*(columns[name] for name in schema.CALL_NODES.names))
