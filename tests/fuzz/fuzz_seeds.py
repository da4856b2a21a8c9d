"""Undamaged profiles from which the fuzzer makes damaged ones, by their names.

Those of `DATABASES` are small, and their tables accept any value, as in a hostile
file. `chain N`, `deep N`, `wide N`, `events N` and `paths N` are large ones, for the
cost of views and exports: N functions of C or of Python that call one another, N
functions with 50 lines each, N GPU events, and N paths of memory, up to N lines long.
"""

from __future__ import annotations

import ast
import sqlite3
import sys
import tempfile
import zlib
from array import array
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path

HELPERS = Path(__file__).resolve().parents[1] / "helpers"
if str(HELPERS) not in sys.path:  # the worker is no test
    sys.path.insert(0, str(HELPERS))

import example_calls  # noqa: E402
import example_gpu  # noqa: E402
import example_memory  # noqa: E402
import example_ranks  # noqa: E402
import example_stats  # noqa: E402
import example_traces  # noqa: E402
from old_pickles import PATHS, pickled, state  # noqa: E402

from lineprof.line_stats import LineStats  # noqa: E402
from lineprof.model.records import (  # noqa: E402
    CAUSES,
    NO_NODE,
    PARTS,
    CallNode,
    CallTree,
    Cut,
    LineBreakdown,
    MergedCall,
    Wait,
)
from lineprof.model.timelines import SLICE_COLUMNS, Trace, pack_slices  # noqa: E402
from lineprof.storage import save  # noqa: E402
from lineprof.storage.schema import APPLICATION_ID, SCHEMA_VERSION  # noqa: E402

GOLDEN = HELPERS.parent / "golden" / "line_profiler"
PAGE = 512  # bytes of a page of the databases: most tables have few rows
EVENTS_PER_BATCH = 65_536


def _traced() -> LineStats:
    """Return a profile with all tables but those of ranks."""
    stats = example_gpu.example()
    (trace,) = example_traces.steps().traces
    rows = [
        (
            trace.threads.index(one.thread),
            trace.functions.index(one.function),
            one.line,
            one.start_ns + trace.origin_ns,
            one.ns,
        )
        for one in trace
    ]
    columns = {
        name: array(kind, [row[place] for row in rows]).tobytes()
        for place, (name, kind) in enumerate(SLICE_COLUMNS.items())
    }
    stats.traces = (
        Trace(
            process=trace.process,
            count=len(rows),
            left_out=1,
            origin_ns=trace.origin_ns,
            functions=trace.functions,
            threads=trace.threads,
            batches=pack_slices(columns),
        ),
    )
    fit, step, sleep = example_gpu.FIT, example_gpu.STEP, ("", 0, "time.sleep")
    stats.calls = CallTree(
        (
            CallNode(NO_NODE, 0, fit, 0, 1, 1, 3_000, 9_000, 9_000),
            CallNode(0, 34, step, 0, 10, 10, 2_000, 6_000, 6_000),
            CallNode(1, 21, sleep, 0, 10, 10, 4_000, 4_000, 4_000),
        ),
        folded=2,
        merged=(MergedCall(step, 21, sleep, 0, 3, 3, 500, 500, 500),),
    )
    stats.waits = tuple(Wait(fit, 36, 0, cause, 700) for cause in CAUSES)
    stats.breakdowns = tuple(
        LineBreakdown(
            function=step,
            line=21,
            thread=0,
            part=part,
            ns=100 * place,
        )
        for place, part in enumerate(PARTS, 1)
    )
    stats.cuts = (Cut(function=step, process=0, until_ns=1_000),)
    stats.memory = example_memory.of(fit)
    return stats


DATABASES = {
    "plain": example_stats.example,
    "calls": example_calls.example,
    "gpu": example_gpu.example,
    "all tables": _traced,
    "two processes": lambda: LineStats.from_stats_objects(
        example_calls.example(), example_gpu.example()
    ),
    "ranks": example_ranks.summed,
    "memory": example_memory.example,
    "nothing": lambda: LineStats({}, 1e-9),
}
PICKLES = (
    *(f"pickle {protocol}" for protocol in range(2, 6)),
    *(file.stem for file in sorted(GOLDEN.glob("*.lprof"))),
)


@cache
def seed_file(name: str) -> bytes:
    """Return the content of the file called `name`."""
    if name in DATABASES:
        return _loose(DATABASES[name]())
    kind, _, number = name.rpartition(" ")
    if kind in _SIZED:
        return _SIZED[kind](int(number))
    return (GOLDEN / f"{name}.lprof").read_bytes()


def _pickle(protocol: int) -> bytes:
    return pickled(state(), path=PATHS[protocol % 3], protocol=protocol)


def pickle_of(text: str) -> bytes:
    """Return the pickle of a profile whose state is the Python literal `text`."""
    return pickled(ast.literal_eval(text))


def _loose(stats: LineStats) -> bytes:
    """Return the file of a profile, its columns without types and constraints."""
    with tempfile.TemporaryDirectory(prefix="lineprof-") as folder:
        file = Path(folder, "seed.lprof")
        save(stats, file)
        with closing(sqlite3.connect(":memory:")) as db:
            db.execute(f"PRAGMA page_size = {PAGE}")
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            db.execute("ATTACH ? AS old", [str(file)])
            for table in tables_of(db, "old"):
                names = ", ".join(columns_of(db, table))
                db.execute(f"CREATE TABLE {table} ({names})")
                db.execute(f"INSERT INTO {table} SELECT * FROM old.{table}")  # noqa: S608
            db.commit()
            return db.serialize()


def tables_of(db: sqlite3.Connection, schema: str = "main") -> list[str]:
    """Return the names of the tables in a database."""
    query = f"SELECT name FROM {schema}.sqlite_master WHERE type = 'table'"  # noqa: S608
    return [name for (name,) in db.execute(query)]


def columns_of(db: sqlite3.Connection, table: str) -> list[str]:
    """Return the names of the columns of a table."""
    return [name for _, name, *_ in db.execute(f"PRAGMA table_info({table})")]


def _chain(count: int) -> bytes:
    """Return a profile with `count` functions of C that call one another in a chain.

    GPU work was launched by a function that the chain does not lead to.
    """
    stats = example_calls.example()
    with closing(sqlite3.connect(":memory:")) as db:
        db.deserialize(_loose(stats))
        db.execute("DELETE FROM call_nodes")
        db.execute("DELETE FROM call_functions")
        db.executemany(
            "INSERT INTO call_functions VALUES (?, '', ?, 0)",
            ((1000 + i, f"m.f{i}") for i in range(count)),
        )
        db.executemany(
            "INSERT INTO call_nodes VALUES (?, ?, ?, 0, 0, 1, 1, 1, ?, ?)",
            (
                (i, i - 1 if i else None, 1000 + i, count - i, count - i)
                for i in range(count)
            ),
        )
        db.commit()
        return db.serialize()


def _events(count: int) -> bytes:
    """Return a profile with `count` GPU events whose columns are all zeros."""
    stats = example_gpu.example()
    (timeline,) = stats.gpu.timelines
    empty = replace(timeline, batches=(), count=0, origin_ns=0)
    stats.gpu = stats.gpu._replace(timelines=(empty,))
    with closing(sqlite3.connect(":memory:")) as db:
        db.deserialize(_loose(stats))
        batches = -(-count // EVENTS_PER_BATCH)
        (owner,) = db.execute("SELECT id FROM gpu_timelines").fetchone()
        db.execute("UPDATE gpu_timelines SET events = ?", [batches * EVENTS_PER_BATCH])
        db.executemany(
            "INSERT INTO gpu_batches VALUES (?, ?, ?)",
            ((i, owner, EVENTS_PER_BATCH) for i in range(batches)),
        )
        db.commit()
        return db.serialize()


def _paths(count: int) -> bytes:
    """Return a profile with a long path of memory of `count` lines, and its parts."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.deserialize(_loose(example_memory.example()))
        for table in ("memory_nodes", "memory_paths", "memory_sums"):
            db.execute(f"DELETE FROM {table}")  # noqa: S608
        for statement, row in (
            ("INSERT INTO memory_nodes VALUES (?, ?, 0, ?)", lambda i: (i, i - 1, i)),
            ("INSERT INTO memory_paths VALUES (?, 0, ?)", lambda i: (i, i)),
            ("INSERT INTO memory_sums VALUES (?, 1, 9, 5, 4, 3)", lambda i: (i,)),
        ):
            db.executemany(statement, map(row, range(count)))
        db.execute("UPDATE memory_nodes SET parent_id = NULL WHERE id = 0")
        db.commit()
        return db.serialize()


_SIZED = {
    "paths": _paths,
    "pickle": _pickle,
    "chain": _chain,
    "events": _events,
    "deep": lambda count: _loose(example_calls.deep(count)),
    "wide": lambda count: _loose(example_calls.wide(count, 50 * count)),
}


def zeros(count: int) -> bytes:
    """Return `count` zeros, compressed: a small value that unpacks to a large one."""
    return zlib.compress(bytes(count), 9)
