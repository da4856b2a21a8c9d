"""Writer of ``.lprof`` files: the whole profile or nothing."""

from __future__ import annotations

import json
import os
from itertools import chain, count, islice
from operator import attrgetter, ge
from typing import TYPE_CHECKING

from lineprof.errors import LineprofError, file_error
from lineprof.files import write_atomically
from lineprof.model.gpu import NO_GPU
from lineprof.model.records import (
    NO_CALLS,
    NO_NODE,
    UNKNOWN_THREAD,
    CallNodes,
    node_columns,
)
from lineprof.storage.schema import (
    APPLICATION_ID,
    CALL_FUNCTIONS,
    CALL_NODES,
    CELLS,
    CUTS,
    FILES,
    FOLDED,
    FUNCTIONS,
    MERGED_CALLS,
    META,
    OWN_TIMES,
    PROCESSES,
    SCHEMA_VERSION,
    TABLES,
    THREADS,
    WAITS,
    WARNINGS,
    WITHOUT_MERGED,
    Column,
    Table,
    database_uri,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from lineprof.model.profile import Profile
    from lineprof.model.records import CallNode, Key

    Row = Iterable[object]
    Value = int | str | bytes | None

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
    import sqlite3  # noqa: PLC0415  # a Python without SQLite imports this module

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
    import sqlite3  # noqa: PLC0415  # as in `save`

    # Without locks, as some network file systems have none and no other process knows
    # the name; without journal and sync, as an incomplete file is deleted.
    uri = database_uri(path, "mode=rw&nolock=1")
    db = sqlite3.connect(uri, uri=True, isolation_level=None)
    try:
        for pragma in (
            "journal_mode = OFF",
            "synchronous = OFF",
            "temp_store = MEMORY",
            f"application_id = {APPLICATION_ID}",
            f"user_version = {_version_for(stats)}",
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


def _version_for(stats: Profile) -> int:
    """Return the version of the schema: the oldest one that has all of `stats`."""
    return SCHEMA_VERSION if stats.calls.merged else WITHOUT_MERGED


def _insert(db: sqlite3.Connection, table: Table, rows: Iterable[Row]) -> Iterator[int]:
    """Insert `rows`, many with each statement; yield the number of each.

    There may be hundreds of thousands, and each statement lets another thread run.
    """
    columns = table.columns
    plain = all(column.kind is int for column in columns)
    is_large = table is FILES or any(column.kind is bytes for column in columns)
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


def _tables(stats: Profile) -> Iterator[tuple[Table, Iterable[Row]]]:
    """Yield the tables of the file, each with its rows."""
    ids = function_ids(stats)
    rows = {
        META: _meta(stats),
        FILES: _files(stats),
        PROCESSES: _processes(stats),
        THREADS: _threads(stats),
        FUNCTIONS: _functions(stats),
        CELLS: _cells(stats),
        WARNINGS: ((text,) for text in stats.warnings),
    }
    for table in TABLES:
        yield table, rows[table]
    if stats.gpu != NO_GPU:
        from lineprof.storage.writer_gpu import gpu_tables  # noqa: PLC0415  # few have

        yield from gpu_tables(stats)
    traces = (*stats.traces, *stats.gpu.slices)
    has_calls = stats.calls != NO_CALLS or stats.waits or stats.breakdowns
    if has_calls or traces or len(ids) > len(stats.functions):
        yield CALL_FUNCTIONS, _call_functions(stats, ids)
        yield CALL_NODES, _call_nodes(stats, ids)
        yield WAITS, _waits(stats, ids)
    if stats.calls.merged:
        yield MERGED_CALLS, _merged_calls(stats, ids)
    if stats.breakdowns:
        yield OWN_TIMES, _own_times(stats, ids)
    if stats.cuts:
        yield CUTS, _cuts(stats, ids)
    if traces:
        from lineprof.storage.writer_gpu import trace_tables  # noqa: PLC0415

        yield from trace_tables(stats, ids)
    if stats.ranks.runs:
        from lineprof.storage.writer_gpu import rank_tables  # noqa: PLC0415

        yield from rank_tables(stats, ids)


def function_ids(stats: Profile) -> dict[Key, int]:
    """Return the ids of the profile's functions, then of functions without lines.

    Functions without measured lines, mostly of C, are called, waited in or traced.
    """
    keys = dict.fromkeys([function.key for function in stats.functions])
    keys.update(dict.fromkeys(_called(stats.calls.nodes)))
    for call in stats.calls.merged:
        keys.update(dict.fromkeys([call.function, call.caller or call.function]))
    keys.update(dict.fromkeys([wait.function for wait in stats.waits]))
    keys.update(dict.fromkeys([one.function for one in stats.breakdowns]))
    keys.update(dict.fromkeys([function for function, _ in stats.ranks.places]))
    for trace in (*stats.traces, *stats.gpu.slices):
        keys.update(dict.fromkeys(trace.functions))
    return {key: index for index, key in enumerate(keys)}


def _called(nodes: Sequence[CallNode]) -> Iterable[Key]:
    """Return the functions of `nodes`, in order of first appearance."""
    if isinstance(nodes, CallNodes):
        used = dict.fromkeys(nodes.column("function"))
        return map(nodes.functions.__getitem__, used)
    return [node.function for node in nodes]


def id_of(index: int, records: Sequence[object], none: int, kind: str) -> int | None:
    """Return the id of the record with `index`, or None (NULL) if that is `none`.

    IndexError if there is no such record; `kind` is its name in the message.
    """
    if index == none:
        return None
    if not 0 <= index < len(records):
        raise IndexError(f"there is no {kind} {index} in the profile")
    return index


def _meta(stats: Profile) -> Iterator[Row]:
    yield META.row(key="unit", value=repr(stats.unit))
    if stats.calls.folded:
        yield META.row(key=FOLDED, value=stats.calls.folded)


def _path_ids(stats: Profile) -> dict[str, int]:
    """Return the ids of all files that the profile names."""
    paths = dict.fromkeys(function.file for function in stats.functions)
    paths.update(dict.fromkeys(stats.sources))
    return {path: index for index, path in enumerate(paths)}


def _files(stats: Profile) -> Iterator[Row]:
    for path, index in _path_ids(stats).items():
        source = stats.sources.get(path)
        yield FILES.row(
            id=index,
            path=path,
            sha256=source.sha256 if source else None,
            text=source.text if source else None,
        )


def _processes(stats: Profile) -> Iterator[Row]:
    for index, process in enumerate(stats.processes):
        yield PROCESSES.row(
            id=index,
            pid=process.pid,
            host=process.host,
            rank=process.rank,
            argv=json.dumps(process.argv),
            cwd=process.cwd,
            python=process.python,
            start_unix_ns=process.start_unix_ns,
            wall_ns=process.wall_ns,
            core=process.core,
            core_reason=process.core_reason,
            clock=process.clock,
            overhead_ns=process.overhead_ns,
            version=process.version,
            exit=process.exit,
            cpu_ns=process.cpu_ns,
            is_whole=process.is_whole,
            ranks=process.ranks,
            unix_offset_ns=process.unix_offset_ns,
            parent_pid=process.parent_pid,
        )


def _threads(stats: Profile) -> Iterator[Row]:
    for index, thread in enumerate(stats.threads):
        yield THREADS.row(
            id=index,
            process_id=thread.process,
            native_id=thread.native_id,
            name=thread.name,
        )


def _functions(stats: Profile) -> Iterator[Row]:
    paths = _path_ids(stats)
    for index, function in enumerate(stats.functions):
        yield FUNCTIONS.row(
            id=index,
            file_id=paths[function.file],
            name=function.name,
            first_line=function.line,
            calls=function.calls,
            recursive_ns=function.recursive_ns,
            position=index,
        )


_CELL = attrgetter(
    *("line", "thread", "hits", "time_ns", "await_ns", "raw_ns", "min_ns", "max_ns")
)
_THREAD = attrgetter("thread")


def _cells(stats: Profile) -> Iterator[Row]:
    """Yield the columns of `CELLS` in their order, as there are many rows."""
    threads = _ThreadIds(stats)
    for index, function in enumerate(stats.functions):
        rows = list(map(_CELL, function.thread_lines))
        for thread in set(map(_THREAD, function.thread_lines)):
            if threads[thread] != thread:
                rows = [(row[0], threads[row[1]], *row[2:]) for row in rows]
                break
        for row in rows:
            yield (index, *row)


class _ThreadIds(dict[int, "int | None"]):
    """The ids of threads by their indexes in a profile: see `id_of`."""

    def __init__(self, stats: Profile) -> None:
        self._threads = stats.threads

    def __missing__(self, index: int) -> int | None:
        found = self[index] = id_of(index, self._threads, UNKNOWN_THREAD, "thread")
        return found


def _call_functions(stats: Profile, ids: Mapping[Key, int]) -> Iterator[Row]:
    for (file, line, name), index in list(ids.items())[len(stats.functions) :]:
        yield CALL_FUNCTIONS.row(id=index, file=file, name=name, first_line=line)


def _call_nodes(stats: Profile, ids: Mapping[Key, int]) -> Iterable[Row]:
    """Return the rows of `CALL_NODES`, column by column, as there are many."""
    nodes = node_columns(stats.calls.nodes)
    parents, lines, functions, threads, *numbers = nodes.columns
    function_ids = [ids.get(key) for key in nodes.functions]  # not all are called
    if min(parents, default=0) < NO_NODE or any(map(ge, parents, count())):
        known = (range(NO_NODE, index) for index in count())
        wrong = next(one for one, above in zip(nodes, known) if one.parent not in above)
        raise IndexError(f"{wrong} stands before its parent")
    return zip(
        count(),
        [None if parent == NO_NODE else parent for parent in parents],
        map(function_ids.__getitem__, functions),
        lines,
        map(_ThreadIds(stats).__getitem__, threads),
        *numbers,
    )


def _merged_calls(stats: Profile, ids: Mapping[Key, int]) -> Iterator[Row]:
    for one in stats.calls.merged:
        yield MERGED_CALLS.row(
            caller_id=None if one.caller is None else ids[one.caller],
            line=one.line,
            function_id=ids[one.function],
            thread_id=id_of(one.thread, stats.threads, UNKNOWN_THREAD, "thread"),
            calls=one.calls,
            primitive_calls=one.primitive_calls,
            self_ns=one.self_ns,
            total_ns=one.total_ns,
            inclusive_ns=one.inclusive_ns,
        )


def _waits(stats: Profile, ids: Mapping[Key, int]) -> Iterator[Row]:
    for wait in stats.waits:
        yield WAITS.row(
            function_id=ids[wait.function],
            line=wait.line,
            thread_id=id_of(wait.thread, stats.threads, UNKNOWN_THREAD, "thread"),
            cause=wait.cause,
            ns=wait.ns,
        )


def _own_times(stats: Profile, ids: Mapping[Key, int]) -> Iterator[Row]:
    for one in stats.breakdowns:
        yield OWN_TIMES.row(
            function_id=ids[one.function],
            line=one.line,
            thread_id=id_of(one.thread, stats.threads, UNKNOWN_THREAD, "thread"),
            part=one.part,
            ns=one.ns,
        )


def _cuts(stats: Profile, ids: Mapping[Key, int]) -> Iterator[Row]:
    shown = {function.key for function in stats.functions}
    for cut in stats.cuts:
        if cut.function not in shown:  # the user has taken it away
            continue
        yield CUTS.row(
            function_id=ids[cut.function],
            process_id=id_of(cut.process, stats.processes, -1, "process"),
            from_ns=cut.from_ns,
            until_ns=cut.until_ns,
            lines_until_ns=cut.lines_until_ns,
        )
