"""Reader of ``.lprof`` files, which anyone may have made or damaged."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
from array import array
from contextlib import closing
from typing import TYPE_CHECKING

from lineprof.errors import LineprofError, file_error, not_a_file
from lineprof.files import absolute_path
from lineprof.model.profile import Profile
from lineprof.model.records import (
    CAUSES,
    NO_NODE,
    NODE_COLUMNS,
    OTHER,
    PARTS,
    UNKNOWN_THREAD,
    CallNodes,
    CallTree,
    CellColumns,
    Cut,
    FunctionStats,
    LineBreakdown,
    MergedCall,
    Process,
    SourceFile,
    Thread,
    ThreadLine,
    Wait,
    cell_columns,
    maker_of,
    sum_parts,
)
from lineprof.model.units import MAX_UNIT, MIN_UNIT, NANOSECOND
from lineprof.storage.rows import (
    Damaged,
    check_natural,
    check_table,
    check_tables,
    chunks_of,
    columns_of,
    indexes_of,
    known,
    rows_of,
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
    GPU_RUNS,
    MERGED_CALLS,
    META,
    OWN_TIMES,
    PROCESSES,
    RANK_RUNS,
    SCHEMA_VERSION,
    THREADS,
    TRACES,
    WAITS,
    WARNINGS,
    database_uri,
)

if TYPE_CHECKING:
    from typing import Any

    from lineprof.storage.rows import Indexes, Keys
    from lineprof.storage.schema import Table

_MAGIC = b"SQLite format 3\0"
_PICKLE = b"\x80"  # of protocol 2 or later: line_profiler's
_HEADER_BYTES = 100
_HEAD_BYTES = 4096
_USER_VERSION = slice(60, 64)  # where SQLite's header has them:
_APPLICATION_ID = slice(68, 72)  # https://www.sqlite.org/fileformat2.html, 1.3
_MAX_VALUE_BYTES = 1 << 27
_AGAIN = "record it again"
_MERGE_AGAIN = "merge the files of the ranks again"


def load_columns(path: str | os.PathLike[str]) -> tuple[Profile, CellColumns]:
    """Return the profile in the file at `path`, and its measured lines as columns.

    The functions of the profile have no lines themselves. Raises LineprofError as
    `load_file` does.
    """
    found: list[CellColumns] = []
    profile = load_file(path, found)
    return profile, found[0] if found else cell_columns(profile.functions)


def load_file(
    path: str | os.PathLike[str], columns: list[CellColumns] | None = None
) -> Profile:
    """Return the profile in the file at `path`.

    If `columns` is a list, the measured lines of the file are added to it as columns,
    and the functions have no lines, unless the file is line_profiler's.

    Nothing in the file is executed or trusted: invalid content raises LineprofError
    with the file's name and a remedy. The file is opened for reading only, without
    locks. If the file cannot be opened, the error is also an OSError, such as
    FileNotFoundError.
    """
    name = os.fsdecode(path)
    full_name = _full_name(name)
    if full_name is None:
        from lineprof.storage.line_profiler_files import (  # noqa: PLC0415  # rare
            load_pickle,
        )

        return load_pickle(name)
    tables: frozenset[Table] = frozenset()
    try:
        with closing(_opened(full_name)) as db:
            tables = check_tables(db)
            return _profile(db, tables, columns)
    except _DAMAGE as error:
        raise LineprofError(
            f"{name} is damaged ({str(error) or type(error).__name__})",
            hint=_MERGE_AGAIN if RANK_RUNS in tables else _AGAIN,
        ) from error


def load_processes(path: str | os.PathLike[str]) -> list[Process]:
    """Return the processes of the profile at `path`; [] for one of line_profiler.

    Nothing else in the file is read or checked. Raises LineprofError as `load_file`.
    """
    name = os.fsdecode(path)
    full_name = _full_name(name)
    if full_name is None:
        return []
    try:
        with closing(_opened(full_name)) as db:
            check_table(db, PROCESSES)
            return [_process(row) for row in PROCESSES.named(rows_of(db, PROCESSES))]
    except _DAMAGE as error:
        raise LineprofError(
            f"{name} is damaged ({str(error) or type(error).__name__})", hint=_AGAIN
        ) from error


# Raised by damaged files.
_DAMAGE = (
    Damaged,
    sqlite3.Error,
    ValueError,
    OverflowError,
    MemoryError,
    RecursionError,
)


def _full_name(name: str) -> str | None:
    """Return the absolute path of a profile; None if line_profiler wrote it.

    LineprofError if the file cannot be read, or is no profile.
    """
    try:
        head = _head(name)
        if head[:1] == _PICKLE:
            return None
        _check_kind(name, head)
        full_name = absolute_path(name)
        if not os.path.isabs(full_name):
            raise ValueError("the current folder was removed")  # noqa: TRY301
    except (OSError, ValueError) as error:
        raise _unreadable(name, error) from error
    return full_name


def _opened(full_name: str) -> sqlite3.Connection:
    """Return the database at an absolute path, opened for reading only."""
    # immutable: no locks and no journal, whatever lies beside the file
    uri = database_uri(full_name, "mode=ro&immutable=1")
    db = sqlite3.connect(uri, uri=True)
    try:
        _restrict(db)
    except BaseException:
        db.close()
        raise
    return db


def _unreadable(name: str, error: OSError | ValueError) -> LineprofError:
    if isinstance(error, FileNotFoundError):
        hint = "check the name; kernprof -l script.py writes script.lprof"
        return file_error(error, f"{name} does not exist", hint=hint)
    reason = getattr(error, "strerror", None) or str(error)
    hint = "give a .lprof file"
    return file_error(error, f"cannot read {name}: {reason}", hint=hint)


def _head(name: str) -> bytes:
    """Return the first bytes of a regular file; OSError for anything else."""
    mode = os.stat(name).st_mode
    if not stat.S_ISREG(mode):
        raise not_a_file(mode, name)
    with open(name, "rb") as stream:
        return stream.read(_HEAD_BYTES)


def _check_kind(name: str, head: bytes) -> None:
    """Raise LineprofError unless the file has the header of a readable profile."""
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
    """Forbid code in the database to run, and values that are too big."""
    db.text_factory = _text
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
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
    """Return a TEXT value; bytes that are not UTF-8 become surrogates."""
    return data.decode("utf-8", "surrogateescape")


def _profile(
    db: sqlite3.Connection,
    tables: frozenset[Table],
    columns: list[CellColumns] | None,
) -> Profile:
    """Return the profile in an open and checked database that has `tables`."""
    file_rows = list(FILES.named(rows_of(db, FILES)))
    process_rows, thread_rows = rows_of(db, PROCESSES), rows_of(db, THREADS)
    function_rows = list(FUNCTIONS.named(rows_of(db, FUNCTIONS)))
    paths = {row["id"]: row["path"] for row in file_rows}
    keys = {
        row["id"]: (
            known(paths, row["file_id"], "file"),
            row["first_line"],
            row["name"],
        )
        for row in function_rows
    }
    processes, threads = indexes_of(process_rows), indexes_of(thread_rows)
    cells: dict[object, list[ThreadLine]] = {}
    if columns is None:
        cells = _cells(db, keys, threads)
    else:
        columns.append(_cell_columns(db, keys, threads))
    meta: dict[str, str] = dict(rows_of(db, META))
    return Profile.from_functions(
        [
            FunctionStats(
                file=keys[row["id"]][0],
                name=row["name"],
                line=row["first_line"],
                thread_lines=tuple(cells.get(row["id"], ())),
                calls=row["calls"],
                recursive_ns=row["recursive_ns"],
            )
            for row in sorted(
                function_rows, key=lambda row: (row["position"], row["id"])
            )
        ],
        processes=[_process(row) for row in PROCESSES.named(process_rows)],
        threads=[
            Thread(
                process=known(processes, row["process_id"], "process"),
                native_id=row["native_id"],
                name=row["name"],
            )
            for row in THREADS.named(thread_rows)
        ],
        sources={
            row["path"]: SourceFile(
                file=row["path"], text=row["text"], sha256=row["sha256"] or ""
            )
            for row in file_rows
            if row["sha256"] is not None or row["text"] is not None
        },
        warnings=[text for (text,) in rows_of(db, WARNINGS)],
        unit=_unit(meta.get("unit", str(NANOSECOND))),
        **_optional(db, tables, keys, (processes, threads), meta.get(FOLDED, "0")),
    )


def _unit(text: str) -> float:
    """Return the length of a tick in seconds; Damaged if it is impossible."""
    unit = float(text)
    if not MIN_UNIT <= unit <= MAX_UNIT:  # nor NaN
        raise Damaged(f"a tick of {unit:g} s is impossible")
    return unit


def _optional(
    db: sqlite3.Connection,
    tables: frozenset[Table],
    keys: Keys,
    indexes: tuple[Indexes, Indexes],
    folded: str,
) -> dict[str, Any]:
    """Return the parts that not every profile has, as arguments of `from_functions`.

    `indexes` are those of processes and of threads.
    """
    found: dict[str, Any] = {}
    processes, threads = indexes
    if GPU_RUNS in tables:
        from lineprof.storage.reader_gpu import gpu_of  # noqa: PLC0415  # few have any

        found["gpu"] = gpu_of(db, keys, processes, threads)
    if CUTS in tables:
        found["cuts"] = _cuts(db, keys, processes)
    if CALL_NODES in tables:
        keys = _with_called(db, keys)
        found["calls"] = _calls(db, keys, threads, int(folded))
        if MERGED_CALLS in tables:
            merged = _merged_calls(db, keys, threads)
            found["calls"] = found["calls"]._replace(merged=merged)
        found["waits"] = _waits(db, keys, threads)
        if OWN_TIMES in tables:
            found["breakdowns"] = _own_times(db, keys, threads)
        if TRACES in tables:
            from lineprof.storage.reader_gpu import traces_of  # noqa: PLC0415

            traces = traces_of(db, keys, processes, threads)
            found["traces"] = tuple([one for one in traces if not one.min_ns])
            slices = tuple([one for one in traces if one.min_ns])
            if slices and "gpu" in found:
                found["gpu"] = found["gpu"]._replace(slices=slices)
    if RANK_RUNS in tables:
        from lineprof.storage.reader_gpu import rank_lines_of  # noqa: PLC0415

        found["ranks"] = rank_lines_of(db, keys)
    return found


_NATURAL = ("pid", "rank", "ranks", "parent_pid", "wall_ns")  # if not None


def _process(row: dict[str, Any]) -> Process:
    argv = json.loads(row.pop("argv"))
    if not isinstance(argv, list) or not all(type(one) is str for one in argv):
        raise Damaged("the arguments of a process are no list of texts")
    del row["id"]
    is_whole = bool(row.pop("is_whole"))
    check_natural([row.get(name) or 0 for name in _NATURAL], "a process")
    return Process(**row, argv=tuple(argv), is_whole=is_whole)


def _cells(
    db: sqlite3.Connection, keys: Keys, threads: Indexes
) -> dict[object, list[ThreadLine]]:
    """Return the measured lines of each function, by its id."""
    found: dict[object, list[ThreadLine]] = {row_id: [] for row_id in keys}
    threads = {None: UNKNOWN_THREAD, **threads}
    make = maker_of(ThreadLine, _CELL_FIELDS)
    for chunk in chunks_of(db, CELLS):
        for function_id, line, thread_id, *numbers in chunk:
            if function_id not in found or thread_id not in threads:
                known(found, function_id, "function")
                known(threads, thread_id, "thread")
            found[function_id].append(make((line, threads[thread_id], *numbers)))
    return found


def _cell_columns(db: sqlite3.Connection, keys: Keys, threads: Indexes) -> CellColumns:
    """Return the measured lines of all functions as columns."""
    named = columns_of(db, CELLS)
    functions = {row_id: index for index, row_id in enumerate(keys)}
    threads = {None: UNKNOWN_THREAD, **threads}
    function_ids, thread_ids = named.pop("function_id"), named.pop("thread_id")
    for row_id in {*function_ids}:
        known(functions, row_id, "function")
    for row_id in {*thread_ids}:
        known(threads, row_id, "thread")
    return CellColumns(
        keys=tuple(keys.values()),
        function=[functions[row_id] for row_id in function_ids],
        thread=[threads[row_id] for row_id in thread_ids],
        **named,
    )


# Fields of `ThreadLine` in the order of the columns after the function.
_CELL_FIELDS = tuple([name.removesuffix("_id") for name in CELLS.names[1:]])


def _with_called(db: sqlite3.Connection, keys: Keys) -> Keys:
    """Return `keys`, and the functions that only calls, waits and traces name."""
    found = dict(keys)
    for row in CALL_FUNCTIONS.named(rows_of(db, CALL_FUNCTIONS)):
        if row["id"] in found:
            raise Damaged(f"there are two functions {row['id']}")
        found[row["id"]] = (row["file"], row["first_line"], row["name"])
    return found


def _calls(
    db: sqlite3.Connection, keys: Keys, threads: Indexes, folded: int
) -> CallTree:
    """Return the call tree; Damaged if its values are invalid."""
    check_natural([folded], "a call tree")
    columns = columns_of(db, CALL_NODES)
    return CallTree(nodes=_nodes(columns, keys, threads), folded=folded)


def _nodes(columns: dict[str, list[Any]], keys: Keys, threads: Indexes) -> CallNodes:
    """Return the nodes in the columns of `CALL_NODES`; Damaged if they are invalid."""
    ids, thread_ids = columns["id"], columns["thread_id"]
    indexes = {row_id: index for index, row_id in enumerate(ids)}
    parents = []
    for index, parent_id in enumerate(columns["parent_id"]):
        parent = NO_NODE if parent_id is None else indexes.get(parent_id, index)
        if parent >= index:
            raise Damaged(f"there is no node before its child, called {parent_id}")
        if parent != NO_NODE and thread_ids[parent] != thread_ids[index]:
            message = f"node {ids[index]} has another thread than node {parent_id}"
            raise Damaged(message)
        parents.append(parent)
    functions = {row_id: index for index, row_id in enumerate(keys)}
    threads = {None: UNKNOWN_THREAD, **threads}
    for name in ("line", *_NODE_NUMBERS):
        if min(columns[name], default=0) < 0:
            wrong = next(i for i, number in enumerate(columns[name]) if number < 0)
            raise Damaged(f"node {ids[wrong]} has a number below 0")
    made = {
        "parent": parents,
        "line": columns["line"],
        "function": [known(functions, i, "function") for i in columns["function_id"]],
        "thread": [known(threads, i, "thread") for i in thread_ids],
        **{name: columns[name] for name in _NODE_NUMBERS},
    }
    packed = [array("q", made[name]) for name in NODE_COLUMNS]
    return CallNodes(tuple(keys.values()), tuple(packed))


_NODE_NUMBERS = ("calls", "primitive_calls", "self_ns", "total_ns", "inclusive_ns")


def _merged_calls(
    db: sqlite3.Connection, keys: Keys, threads: Indexes
) -> tuple[MergedCall, ...]:
    """Return the merged calls; Damaged if their values are invalid."""
    threads = {None: UNKNOWN_THREAD, **threads}
    found: list[MergedCall] = []
    for row in MERGED_CALLS.named(rows_of(db, MERGED_CALLS)):
        numbers = {name: row[name] for name in ("line", *_NODE_NUMBERS)}
        check_natural(numbers.values(), "a merged call")
        caller = row["caller_id"]
        one = MergedCall(
            caller=None if caller is None else known(keys, caller, "function"),
            function=known(keys, row["function_id"], "function"),
            thread=known(threads, row["thread_id"], "thread"),
            **numbers,
        )
        found.append(one)
    return tuple(found)


def _waits(db: sqlite3.Connection, keys: Keys, threads: Indexes) -> tuple[Wait, ...]:
    """Return the waits; Damaged if their values are invalid.

    A cause that only a later version knows becomes OTHER.
    """
    threads = {None: UNKNOWN_THREAD, **threads}
    found: list[Wait] = []
    for row in WAITS.named(rows_of(db, WAITS)):
        check_natural([row["line"], row["ns"]], "a wait")
        one = Wait(
            function=known(keys, row["function_id"], "function"),
            line=row["line"],
            thread=known(threads, row["thread_id"], "thread"),
            cause=row["cause"] if row["cause"] in CAUSES else OTHER,
            ns=row["ns"],
        )
        found.append(one)
    return sum_parts(found)


def _own_times(
    db: sqlite3.Connection, keys: Keys, threads: Indexes
) -> tuple[LineBreakdown, ...]:
    """Return the breakdown of lines' own times; Damaged if it is invalid.

    Parts that only a later version knows are left out.
    """
    threads = {None: UNKNOWN_THREAD, **threads}
    found: list[LineBreakdown] = []
    for row in OWN_TIMES.named(rows_of(db, OWN_TIMES)):
        check_natural([row["line"], row["ns"]], "an own time")
        one = LineBreakdown(
            function=known(keys, row["function_id"], "function"),
            line=row["line"],
            thread=known(threads, row["thread_id"], "thread"),
            part=row["part"],
            ns=row["ns"],
        )
        if one.part in PARTS:
            found.append(one)
    return tuple(found)


def _cuts(db: sqlite3.Connection, keys: Keys, processes: Indexes) -> tuple[Cut, ...]:
    found = []
    for row in CUTS.named(rows_of(db, CUTS)):
        ends = (row["until_ns"] or 0, row["lines_until_ns"] or 0)
        check_natural([row["from_ns"], *ends], "a cut")
        cut = Cut(
            function=known(keys, row["function_id"], "function"),
            process=known(processes, row["process_id"], "process"),
            from_ns=row["from_ns"],
            until_ns=row["until_ns"],
            lines_until_ns=row["lines_until_ns"],
        )
        found.append(cut)
    return tuple(found)
