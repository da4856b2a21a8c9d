"""Writing a profile to its file: the whole of it or nothing."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from lineprof.errors import LineprofError, file_error
from lineprof.files import write_atomically
from lineprof.model.gpu import NO_DEVICE, NO_GPU, NO_PATH
from lineprof.model.records import NO_CALLS, NO_NODE, UNKNOWN_THREAD
from lineprof.storage.schema import (
    APPLICATION_ID,
    CALL_FUNCTIONS,
    CALL_NODES,
    CELLS,
    FILES,
    FOLDED,
    FUNCTIONS,
    GPU_BATCHES,
    GPU_COLUMNS,
    GPU_DEVICES,
    GPU_LAUNCHES,
    GPU_NAMES,
    GPU_PATH_LINES,
    GPU_PATHS,
    GPU_RUNS,
    GPU_SUMS,
    GPU_TIMELINE_NAMES,
    GPU_TIMELINES,
    META,
    MOST_EVENTS,
    OWN_TIMES,
    PROCESSES,
    SCHEMA_VERSION,
    TABLES,
    THREADS,
    TRACE_BATCHES,
    TRACE_COLUMNS,
    TRACE_FUNCTIONS,
    TRACE_THREADS,
    TRACES,
    WAITS,
    WARNINGS,
    Column,
    Table,
    uri,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Union

    from lineprof.model.gpu import Gpu
    from lineprof.model.profile import Profile
    from lineprof.model.records import Key, Process
    from lineprof.model.timelines import Trace

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

    write_atomically(target, fill)
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
    if stats.calls != NO_CALLS or stats.waits or stats.traces or stats.breakdowns:
        yield from call_tables(stats)
    if stats.traces:
        yield from trace_tables(stats)


def _gpu(stats: Profile) -> Iterator[tuple[Table, Iterable[Row]]]:
    """Yield the tables of GPU data with their rows."""
    events = sum(timeline.count for timeline in stats.gpu.timelines)
    if events > MOST_EVENTS:
        raise LineprofError(
            f"a profile can't hold {events} GPU events (at most {MOST_EVENTS})",
            hint="merge fewer profiles, or record fewer events",
        )
    yield from gpu_tables(stats)


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
        for cell in function.thread_lines:
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


# The rows of a profile's file that hold calls and waits.


def function_ids(stats: Profile) -> dict[Key, int]:
    """Return the ids of the profile's functions, and then of those it only names.

    They are called, waited in or traced, and no function whose lines are known:
    those of C, above all.
    """
    keys = dict.fromkeys([function.key for function in stats.functions])
    keys.update(dict.fromkeys([node.function for node in stats.calls.nodes]))
    keys.update(dict.fromkeys([wait.function for wait in stats.waits]))
    keys.update(dict.fromkeys([one.function for one in stats.breakdowns]))
    for trace in stats.traces:
        keys.update(dict.fromkeys(trace.functions))
    return {key: index for index, key in enumerate(keys)}


def call_tables(stats: Profile) -> Iterator[tuple[Table, Iterable[Row]]]:
    """Yield each table of calls with its rows.

    IndexError when they speak of a thread or a node that there is not.
    """
    ids = function_ids(stats)
    named = list(ids.items())[len(stats.functions) :]
    yield CALL_FUNCTIONS, ((i, file, name, line) for (file, line, name), i in named)
    yield CALL_NODES, _nodes(stats, ids)
    yield WAITS, _waits(stats, ids)
    if stats.breakdowns:
        yield OWN_TIMES, _own_times(stats, ids)


def _thread(place: int, stats: Profile) -> int | None:
    """Return the id of a thread; NULL where it is not known."""
    if place == UNKNOWN_THREAD:
        return None
    if not 0 <= place < len(stats.threads):
        raise IndexError(f"there is no thread {place} in the profile")
    return place


def _nodes(stats: Profile, ids: Mapping[Key, int]) -> Iterator[Row]:
    for index, node in enumerate(stats.calls.nodes):
        if not NO_NODE <= node.parent < index:
            raise IndexError(f"{node} stands before its parent")
        yield (
            index,
            None if node.parent == NO_NODE else node.parent,
            ids[node.function],
            node.line,
            _thread(node.thread, stats),
            node.calls,
            node.primitive_calls,
            node.self_ns,
            node.total_ns,
            node.inclusive_ns,
        )


def _waits(stats: Profile, ids: Mapping[Key, int]) -> Iterator[Row]:
    for wait in stats.waits:
        thread = _thread(wait.thread, stats)
        yield (ids[wait.function], wait.line, thread, wait.cause, wait.ns)


def _own_times(stats: Profile, ids: Mapping[Key, int]) -> Iterator[Row]:
    for one in stats.breakdowns:
        thread = _thread(one.thread, stats)
        yield (ids[one.function], one.line, thread, one.part, one.ns)


# The rows of a profile's file that hold GPU data.


def gpu_tables(stats: Profile) -> Iterator[tuple[Table, Iterable[Row]]]:
    """Yield each table of GPU data with its rows.

    IndexError or KeyError when they speak of what the profile does not have.
    """
    gpu = stats.gpu
    texts = [one.name for one in gpu.sums]
    texts += [name for timeline in gpu.timelines for name in timeline.names]
    names = {name: index for index, name in enumerate(dict.fromkeys(texts))}
    yield GPU_RUNS, _runs(gpu)
    yield GPU_DEVICES, _gpu_devices(gpu)
    yield GPU_NAMES, ((index, name) for name, index in names.items())
    yield GPU_PATHS, _gpu_paths(stats)
    yield GPU_PATH_LINES, _gpu_path_lines(stats)
    yield GPU_SUMS, _gpu_sums(gpu, names)
    yield GPU_TIMELINES, _gpu_timelines(gpu)
    yield (
        GPU_TIMELINE_NAMES,
        (
            (index, names[name])
            for index, timeline in enumerate(gpu.timelines)
            for name in timeline.names
        ),
    )
    yield (
        GPU_LAUNCHES,
        (
            (index, *launch)
            for index, timeline in enumerate(gpu.timelines)
            for launch in timeline.launches
        ),
    )
    yield GPU_BATCHES, _gpu_batches(gpu)
    yield GPU_COLUMNS, _gpu_columns(gpu)


def _id(place: int, of: Sequence[object], none: int) -> int | None:
    """Return the id of what has the index `place`; NULL for `none`."""
    if place == none:
        return None
    if not 0 <= place < len(of):
        raise IndexError(f"there is no index {place} in the profile")
    return place


def _runs(gpu: Gpu) -> Iterator[Row]:
    for run in gpu.runs:
        yield (
            run.process,
            run.backend,
            run.reason,
            run.present,
            run.version,
            run.dropped,
            run.invalid,
            run.outstanding,
            run.left_out,
        )


def _gpu_devices(gpu: Gpu) -> Iterator[Row]:
    for index, device in enumerate(gpu.devices):
        yield (
            index,
            device.process,
            device.device,
            device.name,
            device.busy_ns,
            device.busy_exact,
            json.dumps(dict(device.attributes)),
        )


def _gpu_paths(stats: Profile) -> Iterator[Row]:
    for index, path in enumerate(stats.gpu.paths):
        thread = _id(path.thread, stats.threads, UNKNOWN_THREAD)
        yield (index, thread, path.adopted, path.range)


def _gpu_path_lines(stats: Profile) -> Iterator[Row]:
    places = {function.key: place for place, function in enumerate(stats.functions)}
    for index, path in enumerate(stats.gpu.paths):
        for key, line in path.lines:
            yield (index, places[key], line)


def _gpu_sums(gpu: Gpu, names: Mapping[str, int]) -> Iterator[Row]:
    for one in gpu.sums:
        yield (
            _id(one.path, gpu.paths, NO_PATH),
            _id(one.origin, gpu.paths, NO_PATH),
            one.kind,
            names[one.name],
            _id(one.device, gpu.devices, NO_DEVICE),
            one.count,
            one.ns,
            one.min_ns,
            one.max_ns,
            one.bytes,
        )


def _gpu_timelines(gpu: Gpu) -> Iterator[Row]:
    for index, one in enumerate(gpu.timelines):
        yield (index, one.process, one.count, one.origin_ns, one.first_path)


def _gpu_batches(gpu: Gpu) -> Iterator[Row]:
    index = 0
    for timeline, one in enumerate(gpu.timelines):
        for batch in one.batches:
            yield (index, timeline, batch.events)
            index += 1


def _gpu_columns(gpu: Gpu) -> Iterator[Row]:
    batches = [batch for one in gpu.timelines for batch in one.batches]
    for index, batch in enumerate(batches):
        for name, data in batch.columns:
            yield (index, name, data)


# The rows of a profile's file that hold traces.


def trace_tables(stats: Profile) -> Iterator[tuple[Table, Iterable[Row]]]:
    """Yield each table of traces with its rows.

    IndexError when they speak of a thread that there is not; LineprofError when
    there are more slices than can be read again.
    """
    count = sum(trace.count for trace in stats.traces)
    if count > MOST_EVENTS:
        raise LineprofError(
            f"a profile can't hold {count} slices of time (at most {MOST_EVENTS})",
            hint="merge fewer profiles, or record less: kernprof -l --trace-memory MB",
        )
    yield TRACES, _traces(stats.traces)
    yield TRACE_FUNCTIONS, _trace_functions(stats)
    yield TRACE_THREADS, _trace_threads(stats)
    yield TRACE_BATCHES, _trace_batches(stats.traces)
    yield TRACE_COLUMNS, _trace_columns(stats.traces)


def _traces(traces: Iterable[Trace]) -> Iterator[Row]:
    for index, one in enumerate(traces):
        yield (index, one.process, one.count, one.left_out, one.origin_ns)


def _trace_functions(stats: Profile) -> Iterator[Row]:
    ids = function_ids(stats)
    for index, one in enumerate(stats.traces):
        for key in one.functions:
            yield (index, ids[key])


def _trace_threads(stats: Profile) -> Iterator[Row]:
    for index, one in enumerate(stats.traces):
        for thread in one.threads:
            if not UNKNOWN_THREAD <= thread < len(stats.threads):
                raise IndexError(f"there is no thread {thread} in the profile")
            yield (index, None if thread == UNKNOWN_THREAD else thread)


def _trace_batches(traces: Iterable[Trace]) -> Iterator[Row]:
    index = 0
    for trace, one in enumerate(traces):
        for batch in one.batches:
            yield (index, trace, batch.events)
            index += 1


def _trace_columns(traces: Iterable[Trace]) -> Iterator[Row]:
    batches = [batch for one in traces for batch in one.batches]
    for index, batch in enumerate(batches):
        for name, data in batch.columns:
            yield (index, name, data)
