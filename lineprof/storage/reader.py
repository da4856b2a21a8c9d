"""Reading a profile's file, which anyone may have made or damaged."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
from contextlib import closing
from typing import TYPE_CHECKING

from lineprof.errors import LineprofError, file_error, not_a_file
from lineprof.model.profile import Profile
from lineprof.model.records import (
    CAUSES,
    NO_NODE,
    OTHER,
    PARTS,
    UNKNOWN_THREAD,
    CallNode,
    CallTree,
    FunctionStats,
    LineBreakdown,
    Process,
    SourceFile,
    Thread,
    ThreadLine,
    Wait,
)
from lineprof.model.units import NANOSECOND
from lineprof.storage.schema import (
    APPLICATION_ID,
    CALL_FUNCTIONS,
    CALL_NODES,
    CELLS,
    FILES,
    FOLDED,
    FUNCTIONS,
    GPU_RUNS,
    META,
    OWN_TIMES,
    PROCESSES,
    SCHEMA_VERSION,
    THREADS,
    TRACES,
    WAITS,
    WARNINGS,
    Damaged,
    check_tables,
    known,
    natural,
    places_of,
    rows_of,
    uri,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from lineprof.model.records import Key
    from lineprof.storage.schema import Rows, Table

    Places = Mapping[object, int]

_MAGIC = b"SQLite format 3\0"
_PICKLE = b"\x80"  # of protocol 2 or later: line_profiler's
_HEADER_BYTES = 100
_HEAD_BYTES = 4096
_USER_VERSION = slice(60, 64)  # where SQLite's header has them:
_APPLICATION_ID = slice(68, 72)  # https://www.sqlite.org/fileformat2.html, 1.3
_MOST_BYTES = 1 << 27  # of one value
_AGAIN = "record it again"


def load_file(path: str | os.PathLike[str]) -> Profile:
    """Return the profile in the file at `path`.

    Nothing in the file is executed or believed: whatever is in it, the answer
    is a profile or LineprofError, with the file's name and what to do. It is
    opened for reading only, without locks. Where it cannot be opened, the error
    is a FileNotFoundError, or what else Python has for it, too.
    """
    name = os.fsdecode(path)
    try:
        head = _head(name)
        if head[:1] == _PICKLE:
            from lineprof.storage.line_profiler_files import load_pickle as read  # noqa: PLC0415  # rare

            return read(name)
        _check_kind(name, head)
    except (OSError, ValueError) as error:
        raise _unreadable(name, error) from error
    try:
        # immutable: no locks and no journal, whatever lies beside the file
        place = uri(os.path.abspath(name), "mode=ro&immutable=1")
        with closing(sqlite3.connect(place, uri=True)) as db:
            _restrict(db)
            return _profile(db, check_tables(db))
    except (
        Damaged,
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
        return file_error(error, f"{name} does not exist", hint=hint)
    reason = getattr(error, "strerror", None) or str(error)
    hint = "give a .lprof file"
    return file_error(error, f"cannot read {name}: {reason}", hint=hint)


def _head(name: str) -> bytes:
    """Return the first bytes of a regular file; OSError for any other thing."""
    mode = os.stat(name).st_mode
    if not stat.S_ISREG(mode):
        raise not_a_file(mode, name)
    with open(name, "rb") as stream:
        return stream.read(_HEAD_BYTES)


def _check_kind(name: str, head: bytes) -> None:
    """Raise LineprofError unless the file begins as one that we can read."""
    if not head:
        raise LineprofError(f"{name} is empty", hint=_AGAIN)
    if not head.startswith(_MAGIC):
        hint = "give a file that kernprof -l wrote"
        if name.endswith(".prof"):
            hint += f", or try: python -m pstats {name}"
        raise LineprofError(f"{name} is not a profile", hint=hint)
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


def _process(values: Mapping[str, Any]) -> Process:
    argv = json.loads(values["argv"])
    if not isinstance(argv, list) or not all(type(one) is str for one in argv):
        raise Damaged("the arguments of a process are no list of texts")
    return Process(**{**values, "argv": tuple(argv)})


def _functions(
    rows: Rows,
    cells: Rows,
    keys: dict[object, Key],
    threads: dict[object, int],
) -> list[FunctionStats]:
    """Return all functions in order of their position, with their cells."""
    by_function: dict[object, list[ThreadLine]] = {index: [] for index in keys}
    places = {None: UNKNOWN_THREAD, **threads}
    for index, line, thread, hits, time, await_, raw, least, most in cells:
        cell = ThreadLine(
            line=line,
            thread=known(places, thread, "thread"),
            hits=hits,
            time_ns=time,
            await_ns=await_,
            raw_ns=raw,
            min_ns=least,
            max_ns=most,
        )
        known(by_function, index, "function").append(cell)
    return [
        FunctionStats(
            file=keys[index][0],
            name=name,
            line=line,
            thread_lines=tuple(by_function[index]),
            calls=calls,
            recursive_ns=recursive,
        )
        for index, _, name, line, calls, recursive, _ in sorted(
            rows, key=lambda row: (row[-1], row[0])
        )
    ]


def _optional(
    db: sqlite3.Connection,
    tables: frozenset[Table],
    keys: dict[object, Key],
    places: tuple[dict[object, int], dict[object, int]],
    folded: str,
) -> dict[str, Any]:
    """Return the parts that not every profile has, as arguments of `from_functions`.

    `places` has the indexes of processes and of threads by their ids.
    """
    found: dict[str, Any] = {}
    processes, threads = places
    if GPU_RUNS in tables:
        from lineprof.storage.reader_gpu import gpu_of  # noqa: PLC0415  # few have any

        found["gpu"] = gpu_of(db, keys, processes, threads)
    if CALL_NODES in tables:
        named = named_functions(db, keys)
        found["calls"] = calls_of(db, named, threads, int(folded))
        found["waits"] = waits_of(db, named, threads)
        if OWN_TIMES in tables:
            found["breakdowns"] = own_times_of(db, named, threads)
        if TRACES in tables:
            from lineprof.storage.reader_gpu import traces_of  # noqa: PLC0415

            found["traces"] = traces_of(db, named, processes, threads)
    return found


def _profile(db: sqlite3.Connection, tables: frozenset[Table]) -> Profile:
    """Return the profile in an open and checked database that has `tables`."""
    files = rows_of(db, FILES)
    processes = rows_of(db, PROCESSES)
    threads = rows_of(db, THREADS)
    functions = rows_of(db, FUNCTIONS)
    paths = {index: path for index, path, *_ in files}
    keys = {
        index: (known(paths, file, "file"), line, name)
        for index, file, name, line, *_ in functions
    }
    process_places, thread_places = places_of(processes), places_of(threads)
    cells = rows_of(db, CELLS)
    meta: dict[str, str] = dict(rows_of(db, META))
    return Profile.from_functions(
        _functions(functions, cells, keys, thread_places),
        processes=[_process(PROCESSES.fields(row)) for row in processes],
        threads=[
            Thread(
                process=known(process_places, process, "process"),
                native_id=native_id,
                name=name,
            )
            for _, process, native_id, name in threads
        ],
        sources={
            path: SourceFile(file=path, text=text, sha256=sha256 or "")
            for _, path, sha256, text in files
            if sha256 is not None or text is not None
        },
        warnings=[text for (text,) in rows_of(db, WARNINGS)],
        unit=float(meta.get("unit", NANOSECOND)),
        **_optional(
            db, tables, keys, (process_places, thread_places), meta.get(FOLDED, "0")
        ),
    )


# Reading the calls of a profile's file, which anyone may have made or damaged.


def named_functions(
    db: sqlite3.Connection, keys: Mapping[object, Key]
) -> dict[object, Key]:
    """Return what tells functions from each other, by their ids.

    These are `keys`, and the functions that calls, waits and traces alone name.
    """
    named = dict(keys)
    for index, file, name, line in rows_of(db, CALL_FUNCTIONS):
        if index in named:
            raise Damaged(f"there are two functions {index}")
        named[index] = (file, line, name)
    return named


def calls_of(
    db: sqlite3.Connection,
    keys: Mapping[object, Key],
    threads: Places,
    folded: int,
) -> CallTree:
    """Return the call tree in an open and checked database; Damaged if it is.

    `keys` and `threads` have the functions, and the indexes of the others, by
    their ids; `folded` is the tree's.
    """
    natural([folded], "a call tree")
    return CallTree(tuple(_nodes(db, keys, threads)), folded)


def _nodes(
    db: sqlite3.Connection, keys: Mapping[object, Key], threads: Places
) -> Iterator[CallNode]:
    found = {None: UNKNOWN_THREAD, **threads}
    placed: dict[object, tuple[int, object]] = {}  # index and thread of those before
    for place, row in enumerate(rows_of(db, CALL_NODES)):
        index, parent, function, line, thread, calls, primitive, *times = row
        own, total, inclusive = times
        above = NO_NODE
        if parent is not None:
            above, its_thread = known(placed, parent, "node before its child, called")
            if its_thread != thread:
                raise Damaged(f"node {index} has another thread than node {parent}")
        if line < 0 or min(calls, primitive, *times) < 0:
            raise Damaged(f"node {index} has a number below 0")
        placed[index] = (place, thread)
        yield CallNode(
            parent=above,
            line=line,
            function=known(keys, function, "function"),
            thread=known(found, thread, "thread"),
            calls=calls,
            primitive_calls=primitive,
            self_ns=own,
            total_ns=total,
            inclusive_ns=inclusive,
        )


def waits_of(
    db: sqlite3.Connection, keys: Mapping[object, Key], threads: Places
) -> tuple[Wait, ...]:
    """Return the waits in an open and checked database; Damaged if they are.

    Of a cause that only a later version knows, nothing is known here.
    """
    found = {None: UNKNOWN_THREAD, **threads}
    sums: dict[tuple[Key, int, int, str], int] = {}
    for function, line, thread, cause, ns in rows_of(db, WAITS):
        natural([line, ns], "a wait")
        key = known(keys, function, "function")
        reason = cause if cause in CAUSES else OTHER
        place = (key, line, known(found, thread, "thread"), reason)
        sums[place] = sums.get(place, 0) + ns
    return tuple(
        [
            Wait(function=function, line=line, thread=thread, cause=cause, ns=ns)
            for (function, line, thread, cause), ns in sums.items()
        ]
    )


def own_times_of(
    db: sqlite3.Connection, keys: Mapping[object, Key], threads: Places
) -> tuple[LineBreakdown, ...]:
    """Return what lines were themselves; Damaged if that is.

    Parts that only a later version knows are left out.
    """
    found = {None: UNKNOWN_THREAD, **threads}
    times: list[LineBreakdown] = []
    for function, line, thread, part, ns in rows_of(db, OWN_TIMES):
        natural([line, ns], "an own time")
        key = known(keys, function, "function")
        place = known(found, thread, "thread")
        if part in PARTS:
            times.append(
                LineBreakdown(function=key, line=line, thread=place, part=part, ns=ns)
            )
    return tuple(times)
