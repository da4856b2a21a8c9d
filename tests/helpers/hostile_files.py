"""Profile files whose texts have every character that acts on a terminal."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import example_calls
import example_gpu
import example_memory
from damaged_files import execute
from example_gpu import ORIGIN_NS
from example_traces import SLICES

from lineprof.errors import DIRECTION_MARKS, LineprofError
from lineprof.model.profile import Profile
from lineprof.model.rank_lines import RanksBuilder, RankValues
from lineprof.model.records import PARTS, Cut, LineBreakdown, MergedCall, RankRun
from lineprof.model.timelines import SLICE_COLUMNS, Trace, pack_slices
from lineprof.storage import load, save
from lineprof.storage.schema import TABLES
from lineprof.storage.schema_gpu import OPTIONAL_TABLES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lineprof.storage.schema import Table

_AFTER_NEWLINE = "@new line@"

CONTROLS = "".join(
    map(chr, (*range(0x01, 0x20), *range(0x7F, 0xA0)))
) + "".join(DIRECTION_MARKS)  # fmt: skip

# Characters that may stand in the name of a file, and those that a database can hold.
EVIL_NAME = f"ev;il'<&{CONTROLS}\x1b[31m\x9b2J\n{_AFTER_NEWLINE}"
EVIL = f'{EVIL_NAME}\0"/\\'

# lineprof's own escapes on a terminal: colours and links.
_OUR_ESCAPES = re.compile(r"\x1b(?:\[[0-9;]*m|\]8;[^\x1b\x07]*\x1b\\)")

# Columns whose values choose the meaning of their row: every second row keeps its own.
_MEANINGS = frozenset({"kind", "cause", "part", "key"})


def check_no_controls(text: str, *, terminal: bool = False) -> None:
    """Fail if `text` has a character that acts on a terminal, tabs excepted."""
    if terminal:
        text = _OUR_ESCAPES.sub("", text.replace("\r\n", "\n"))
    found = {*text} & {*CONTROLS, "\0"} - {"\n", "\t"}
    assert not found, sorted(map(ascii, found))
    lines = [line for line in text.split("\n") if line.startswith(_AFTER_NEWLINE)]
    assert not lines


def full_profile() -> Profile:
    """Return a profile with rows in every table of a file."""
    key = example_gpu.FIT
    threads = tuple(dict.fromkeys(one.thread for one in SLICES))
    functions = tuple(dict.fromkeys(one.function for one in SLICES))
    rows = sorted(
        (threads.index(s.thread), functions.index(s.function), s.line, s.start_ns, s.ns)
        for s in SLICES
    )
    from array import array  # noqa: PLC0415

    columns = {
        name: array(kind, [row[index] for row in rows]).tobytes()
        for index, (name, kind) in enumerate(SLICE_COLUMNS.items())
    }
    trace = Trace(
        process=0,
        count=len(rows),
        left_out=0,
        origin_ns=ORIGIN_NS,
        functions=functions,
        threads=threads,
        batches=pack_slices(columns),
    )
    gpu = example_gpu.example()
    gpu.traces = (trace,)
    gpu.breakdowns = tuple(
        LineBreakdown(function=key, line=34, thread=0, part=part, ns=1_000_000)
        for part in PARTS
    )
    gpu.cuts = (Cut(function=key, process=0, until_ns=5_000_000),)
    builder = RanksBuilder()
    builder.add(
        RankRun(rank=3, wall_ns=9_000_000, mpi_ns=1_000_000),
        [(key, 34)],
        RankValues(
            places=(), hits=[1], time_ns=[8_000_000], mpi_ns=[0], callees_ns=[0]
        ),
    )
    gpu.ranks = builder.ranks
    gpu.memory = example_memory.of(key)
    gpu.gpu = gpu.gpu._replace(memory=example_gpu.memory())
    calls = example_calls.example()
    steps, forward = example_calls.STEPS, example_calls.FORWARD
    merged = MergedCall(steps, 10, forward, 0, 3, 3, 500, 500, 500)
    calls.calls = calls.calls._replace(merged=(merged,))
    return Profile.from_stats_objects(gpu, calls)


def text_columns() -> Iterator[tuple[Table, str]]:
    """Yield each table and column of the schema that holds text."""
    for table in (*TABLES, *(one for group in OPTIONAL_TABLES for one in group)):
        for column in table.columns:
            if column.kind is str:
                yield table, column.name


def evil_file(folder: Path, *, names_of_columns: bool, evil: str = EVIL) -> Path:
    """Return a profile with `evil` at the end of every text that can have it.

    The names of packed columns are changed only if `names_of_columns`: events and
    slices then have no values.
    """
    file = folder / "evil.lprof"
    save(full_profile(), file)
    content = file.read_bytes()
    changes = []
    for table, column in text_columns():
        is_name = table.name.endswith("_columns")
        if is_name and not names_of_columns:
            continue
        change = _change(table, column, evil)
        file.write_bytes(content)
        execute(file, change[0], data=change[1])  # type: ignore[arg-type]
        try:
            load(file)
        except LineprofError as error:
            check_no_controls(str(error))
        else:
            changes.append(change)
    file.write_bytes(content)
    for statement, text in changes:
        execute(file, statement, data=text)  # type: ignore[arg-type]
    load(file)
    return file


def _change(table: Table, column: str, evil: str) -> tuple[str, str]:
    value = f"coalesce({column}, '') || ?"
    text = evil
    values = {"argv": [evil, evil], "attributes": {evil: 1}}
    if (table.name, column) in {("processes", "argv"), ("gpu_devices", "attributes")}:
        value, text = "?", json.dumps(values[column])
    some = " WHERE rowid % 2" if column in _MEANINGS else ""
    return f"UPDATE {table.name} SET {column} = {value}{some}", text  # noqa: S608
