"""Reader of ``.lprof`` files, which anyone may have made or damaged."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
from array import array
from contextlib import closing
from operator import itemgetter
from typing import TYPE_CHECKING

from lineprof.errors import LineprofError, file_error, not_a_file
from lineprof.files import absolute_path
from lineprof.later import Later
from lineprof.model.profile import Profile
from lineprof.model.records import (
    CAUSES,
    CELLS,
    NO_NODE,
    NODE_COLUMNS,
    OTHER,
    PARTS,
    WAITS,
    CallNodes,
    CallTree,
    CellColumns,
    FunctionStats,
    Process,
    SourceFile,
    ThreadLine,
    cell_columns,
    maker_of,
)
from lineprof.model.relation import FILE, FUNCTION, NONE, PROCESS, THREAD
from lineprof.model.units import MAX_UNIT, MIN_UNIT, NANOSECOND
from lineprof.storage import schema, schema_gpu
from lineprof.storage.rows import (
    Damaged,
    check_natural,
    check_tables,
    columns_of,
    fields_of,
    indexes_of,
    records_from,
    records_of,
    rows_of,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

    from lineprof.model.records import Key, LineBreakdown, MergedCall, Wait
    from lineprof.storage import line_profiler_files, reader_gpu, reader_memory
    from lineprof.storage.rows import Lookup
    from lineprof.storage.schema import Table
else:
    line_profiler_files = Later("lineprof.storage.line_profiler_files")
    reader_gpu = Later("lineprof.storage.reader_gpu")
    reader_memory = Later("lineprof.storage.reader_memory")

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

    The functions of the profile have no lines themselves, unless the file is
    line_profiler's. Raises LineprofError as `load_file` does.
    """
    profile, cells = _loaded(path, has_lines=False)
    return profile, cells or cell_columns(profile.functions)


def load_file(path: str | os.PathLike[str]) -> Profile:
    """Return the profile in the file at `path`.

    Nothing in the file is executed or trusted: invalid content raises LineprofError
    with the file's name and a remedy. The file is opened for reading only, without
    locks. If the file cannot be opened, the error is also an OSError, such as
    FileNotFoundError.
    """
    profile, _ = _loaded(path, has_lines=True)
    return profile


def _loaded(
    path: str | os.PathLike[str], *, has_lines: bool
) -> tuple[Profile, CellColumns | None]:
    """Return a profile, whose functions have lines if `has_lines`, and its lines.

    The lines are None if the file is line_profiler's.
    """
    name = os.fsdecode(path)
    full_name = _full_name(name)
    if full_name is None:
        return line_profiler_files.load_pickle(name), None
    hint = _AGAIN
    try:
        with closing(_opened(full_name)) as db:
            tables = check_tables(db)
            if schema_gpu.RANK_RUNS in tables:
                hint = _MERGE_AGAIN
            return _profile(db, tables, has_lines=has_lines)
    except _DAMAGE as error:
        raise _damaged(name, error, hint) from error


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
            check_tables(db, [schema.PROCESSES], ())
            return _processes(fields_of(db, schema.PROCESSES, {}))
    except _DAMAGE as error:
        raise _damaged(name, error, _AGAIN) from error


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
    uri = schema.database_uri(full_name, "mode=ro&immutable=1")
    db = sqlite3.connect(uri, uri=True)
    try:
        _restrict(db)
    except BaseException:
        db.close()
        raise
    return db


def _damaged(name: str, error: Exception, hint: str) -> LineprofError:
    """Return the error for a file that is damaged, as `error` says."""
    reason = str(error) or type(error).__name__
    return LineprofError(f"{name} is damaged ({reason})", hint=hint)


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
    if int.from_bytes(head[_APPLICATION_ID], "big") != schema.APPLICATION_ID:
        raise LineprofError(
            f"{name} is a database of another program",
            hint="give a file that kernprof -l wrote",
        )
    version = int.from_bytes(head[_USER_VERSION], "big")
    if version > schema.SCHEMA_VERSION:
        message = (
            f"{name} was written by a newer lineprof"
            f" (its format is {version}, this one reads {schema.SCHEMA_VERSION})"
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
    tables: Collection[Table],
    *,
    has_lines: bool,
) -> tuple[Profile, CellColumns]:
    """Return the profile in an open and checked database that has `tables`."""
    files = columns_of(db, schema.FILES)
    paths = dict(zip(files["id"], files["path"]))
    functions = fields_of(db, schema.FUNCTIONS, {FILE: paths})
    names = zip(functions["file"], functions["line"], functions["name"])
    keys: dict[object, Key] = dict(zip(functions["id"], names))
    processes = fields_of(db, schema.PROCESSES, {})
    lookup: Lookup = {FUNCTION: keys, PROCESS: indexes_of(processes["id"])}
    threads = fields_of(db, schema.THREADS, lookup)
    lookup[THREAD] = {None: NONE, **indexes_of(threads["id"])}
    cells = _cells(db, lookup)
    lines = dict(zip(keys, _thread_lines(cells))) if has_lines else {}
    meta: dict[str, str] = dict(rows_of(db, schema.META))
    positions = functions.pop("position")
    functions["thread_lines"] = [tuple(lines.get(one, ())) for one in functions["id"]]
    records: list[FunctionStats] = records_from(schema.FUNCTIONS, functions)
    order = sorted(zip(positions, functions["id"], records), key=itemgetter(0, 1))
    profile = Profile.from_functions(
        [function for *_, function in order],
        processes=_processes(processes),
        threads=records_from(schema.THREADS, threads),
        sources={
            path: SourceFile(file=path, text=text, sha256=sha256 or "")
            for path, sha256, text in zip(files["path"], files["sha256"], files["text"])
            if sha256 is not None or text is not None
        },
        warnings=[text for (text,) in rows_of(db, schema.WARNINGS)],
        unit=_unit(meta.get("unit", str(NANOSECOND))),
        **_optional(db, tables, lookup, meta.get(schema.FOLDED, "0")),
    )
    return profile, cells


def _unit(text: str) -> float:
    """Return the length of a tick in seconds; Damaged if it is impossible."""
    unit = float(text)
    if not MIN_UNIT <= unit <= MAX_UNIT:  # nor NaN
        raise Damaged(f"a tick of {unit:g} s is impossible")
    return unit


def _optional(
    db: sqlite3.Connection, tables: Collection[Table], lookup: Lookup, folded: str
) -> dict[str, Any]:
    """Return the parts that not every profile has, as arguments of `from_functions`."""
    found: dict[str, Any] = {}
    if schema_gpu.GPU_RUNS in tables:
        found["gpu"] = reader_gpu.gpu_of(db, tables, lookup)
    if schema.CUTS in tables:
        found["cuts"] = records_of(db, schema.CUTS, lookup)
    if schema.CALL_NODES in tables:
        lookup = {**lookup, FUNCTION: _with_called(db, lookup[FUNCTION])}
        check_natural([int(folded)], "a call tree")
        callers = {None: None, **lookup[FUNCTION]}
        merged: list[MergedCall] = []
        if schema.MERGED_CALLS in tables:
            merged = records_of(db, schema.MERGED_CALLS, {**lookup, FUNCTION: callers})
        found["calls"] = CallTree(
            nodes=_nodes(db, lookup), folded=int(folded), merged=tuple(merged)
        )
        waits: list[Wait] = records_of(db, schema.WAITS, lookup)
        # A cause that only a later version knows is another one.
        found["waits"] = WAITS.added_up(
            one if one.cause in CAUSES else one._replace(cause=OTHER) for one in waits
        )
        if schema.OWN_TIMES in tables:
            parts: list[LineBreakdown] = records_of(db, schema.OWN_TIMES, lookup)
            found["breakdowns"] = [one for one in parts if one.part in PARTS]
        if schema_gpu.TRACES in tables:
            traces = reader_gpu.traces_of(db, lookup)
            found["traces"] = tuple([one for one in traces if not one.min_ns])
            slices = tuple([one for one in traces if one.min_ns])
            if slices and "gpu" in found:
                found["gpu"] = found["gpu"]._replace(slices=slices)
    if schema_gpu.RANK_RUNS in tables:
        found["ranks"] = reader_gpu.rank_lines_of(db, lookup)
    if schema_gpu.MEMORY_RUNS in tables:
        found["memory"] = reader_memory.memory_of(db, lookup)
    return found


def _processes(fields: dict[str, list[Any]]) -> list[Process]:
    """Return the processes with these fields, whose arguments are JSON."""
    return records_from(
        schema.PROCESSES, {**fields, "argv": [*map(_argv, fields["argv"])]}
    )


def _argv(text: str) -> tuple[str, ...]:
    argv = json.loads(text)
    if not isinstance(argv, list) or not all(type(one) is str for one in argv):
        raise Damaged("the arguments of a process are no list of texts")
    return tuple(argv)


def _cells(db: sqlite3.Connection, lookup: Lookup) -> CellColumns:
    """Return the measured lines of all functions."""
    fields = fields_of(db, schema.CELLS, lookup)
    keys = lookup[FUNCTION]
    functions = indexes_of(keys)
    try:
        function = [functions[row_id] for row_id in fields.pop("function_id")]
    except KeyError as error:
        raise Damaged(f"there is no {FUNCTION} {error.args[0]}") from error
    return CellColumns(keys=tuple(keys.values()), function=function, **fields)


def _thread_lines(cells: CellColumns) -> list[list[ThreadLine]]:
    """Return the records of the lines of each function."""
    names = tuple([field.name for field in CELLS.fields])
    rows = zip(*[getattr(cells, name) for name in names])
    found: list[list[ThreadLine]] = [[] for _ in cells.keys]
    for function, cell in zip(cells.function, map(maker_of(ThreadLine, names), rows)):
        found[function].append(cell)
    return found


def _with_called(
    db: sqlite3.Connection, keys: Mapping[object, Key]
) -> dict[object, Key]:
    """Return `keys`, and the functions that only calls, waits and traces name."""
    found = dict(keys)
    for row_id, file, name, line in rows_of(db, schema.CALL_FUNCTIONS):
        if row_id in found:
            raise Damaged(f"there are two functions {row_id}")
        found[row_id] = (file, line, name)
    return found


def _nodes(db: sqlite3.Connection, lookup: Lookup) -> CallNodes:
    """Return the nodes of the call tree; Damaged if they are invalid."""
    keys = lookup[FUNCTION]
    fields = fields_of(db, schema.CALL_NODES, {**lookup, FUNCTION: indexes_of(keys)})
    ids, threads = fields["id"], fields["thread"]
    indexes = {None: NO_NODE, **indexes_of(ids)}
    parents = []
    for index, parent_id in enumerate(fields["parent"]):
        parent = indexes.get(parent_id, index)
        if parent >= index:
            raise Damaged(f"there is no node before its child, called {parent_id}")
        if parent != NO_NODE and threads[parent] != threads[index]:
            message = f"node {ids[index]} has another thread than node {parent_id}"
            raise Damaged(message)
        parents.append(parent)
    fields["parent"] = parents
    packed = [array("q", fields[name]) for name in NODE_COLUMNS]
    return CallNodes(tuple(keys.values()), tuple(packed))
