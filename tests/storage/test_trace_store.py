"""Traces in files: saved, loaded, and damaged with an error of one line."""

from __future__ import annotations

import re
import zlib
from array import array
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from damaged_files import changed, check_any_byte, load_error
from example_stats import example as plain_example
from file_tables import PAGE, documented_tables, tables_of

from lineprof.errors import LineprofError
from lineprof.line_stats import LineStats
from lineprof.model.records import UNKNOWN_THREAD
from lineprof.model.timelines import (
    ITEMS_PER_BATCH,
    SLICE_COLUMNS,
    UNSURE_COLUMN,
    WAIT_COLUMN,
    Slice,
    Trace,
    pack_slices,
)
from lineprof.storage import load, save
from lineprof.storage.schema_gpu import MAX_EVENTS, TRACE_TABLES

if TYPE_CHECKING:
    from pathlib import Path

    from lineprof.model.timelines import Trace as _Trace

ORIGIN = 1_000_000


def columns(*rows: tuple[int, int, int, int, int]) -> dict[str, bytes]:
    """Return the columns of rows (thread, function, line, start, ns)."""
    return {
        name: array(kind, [row[place] for row in rows]).tobytes()
        for place, (name, kind) in enumerate(SLICE_COLUMNS.items())
    }


def trace_of(*rows: tuple[int, int, int, int, int]) -> Trace:
    """Return a trace of rows (thread, function, line, start, ns)."""
    keys = [function.key for function in plain_example().functions]
    return Trace(
        process=0,
        count=len(rows),
        left_out=7,
        origin_ns=ORIGIN,
        functions=(keys[0], keys[1], ("", 0, "builtins.len")),
        threads=(0, UNKNOWN_THREAD),
        batches=pack_slices(columns(*rows)),
    )


def example() -> LineStats:
    """Return a profile with a trace."""
    stats = plain_example()
    stats.traces = (
        trace_of(
            (0, 0, 0, ORIGIN + 10, 1 << 40),
            (0, 0, 3, ORIGIN + 10, 50),
            (1, 2, 0, ORIGIN + 12, 0),
            (0, 1, (1 << 32) - 1, ORIGIN + (1 << 40), 3),
        ),
    )
    return stats


def key(place: int) -> tuple[str, int, str]:
    return plain_example().functions[place].key


def test_loaded_slices_are_those_saved(tmp_path: Path) -> None:
    save(example(), tmp_path / "a.lprof")
    again = load(tmp_path / "a.lprof")
    assert again.traces == example().traces
    (trace,) = again.traces
    assert list(trace) == [
        Slice(10, 1 << 40, 0, key(0), 0),
        Slice(10, 50, 0, key(0), 3),
        Slice(12, 0, UNKNOWN_THREAD, ("", 0, "builtins.len"), 0),
        Slice(1 << 40, 3, 0, key(1), (1 << 32) - 1),
    ]


def test_slices_are_sorted() -> None:
    trace = trace_of(
        (0, 0, 1, ORIGIN + 30, 1),
        (0, 0, 2, ORIGIN + 10, 1),
        (0, 0, 3, ORIGIN + 10, 100),
    )
    assert [one.line for one in trace] == [3, 2, 1]


def test_slices_of_several_batches_are_sorted() -> None:
    late = [(0, 0, 1, ORIGIN + ITEMS_PER_BATCH + i, 1) for i in range(ITEMS_PER_BATCH)]
    early = [(0, 0, 2, ORIGIN + i, 1) for i in range(ITEMS_PER_BATCH)]
    trace = trace_of(*late, *early)
    starts = [one.start_ns for one in trace]
    assert starts == [*range(2 * ITEMS_PER_BATCH)]
    assert [batch.events for batch in trace.batches] == [
        ITEMS_PER_BATCH,
        ITEMS_PER_BATCH,
    ]


def test_differences_that_wrap_around_are_unpacked() -> None:
    largest = (1 << 64) - 1
    trace = trace_of((0, 0, 1, largest, largest), (0, 0, 2, 0, 1))
    assert [(one.start_ns, one.ns) for one in trace] == [
        (-ORIGIN, 1),
        (largest - ORIGIN, largest),
    ]


def test_a_profile_without_traces_has_no_tables_of_them(tmp_path: Path) -> None:
    save(plain_example(), tmp_path / "a.lprof")
    names = {table.name for table in TRACE_TABLES}
    assert not tables_of(tmp_path / "a.lprof").keys() & names


def test_the_tables_and_columns_are_those_documented(tmp_path: Path) -> None:
    section = PAGE[PAGE.index("## Traces") : PAGE.index("## Ranks")]
    save(example(), tmp_path / "a.lprof")
    names = {table.name for table in TRACE_TABLES}
    tables = tables_of(tmp_path / "a.lprof")
    made = {name: text for name, text in tables.items() if name in names}
    assert made == documented_tables(section)
    rows = re.findall(r"^\| `(\w+)` \| (\d) \|", section, re.MULTILINE)
    sizes = {name: str(array(kind).itemsize) for name, kind in SLICE_COLUMNS.items()}
    assert dict(rows) == {**sizes, WAIT_COLUMN: "8", UNSURE_COLUMN: "8"}


def test_merged_profiles_have_the_traces_of_all() -> None:
    both = LineStats.from_stats_objects(example(), example())
    first, second = both.traces
    (alone,) = example().traces
    processes, threads = (
        len(part) for part in (example().processes, example().threads)
    )
    assert first == alone
    assert second == replace(
        alone, process=processes, threads=(threads, UNKNOWN_THREAD)
    )
    assert [one.thread for one in second] == [threads, threads, UNKNOWN_THREAD, threads]
    lone = LineStats.from_stats_objects(plain_example(), example())
    assert len(lone.traces) == 1


def test_a_missing_thread_is_an_index_error(tmp_path: Path) -> None:
    stats = example()
    stats.traces = tuple(replace(one, threads=(0, 99)) for one in stats.traces)
    with pytest.raises(IndexError, match="no thread 99"):
        save(stats, tmp_path / "a.lprof")


def test_more_slices_than_can_be_read_are_not_written(tmp_path: Path) -> None:
    stats = example()
    stats.traces = tuple(replace(one, count=MAX_EVENTS + 1) for one in stats.traces)
    with pytest.raises(LineprofError, match="can't hold 100000001 slices"):
        save(stats, tmp_path / "a.lprof")


def damage_error(file: Path) -> str:
    """Return the one-line error of loading a damaged file."""
    line = load_error(file)
    assert " is damaged (" in line
    return line


@pytest.mark.parametrize("table", [table.name for table in TRACE_TABLES])
def test_a_file_without_one_of_the_tables_is_damaged(
    tmp_path: Path, table: str
) -> None:
    file = changed(tmp_path, example(), f"DROP TABLE {table}")
    assert f"it has no table {table}" in damage_error(file)


def column(name: str, *values: int) -> bytes:
    """Return a packed column of four slices, the first of which have `values`."""
    rows = [[0, 0, 0, 0, 0] for _ in range(4)]
    for row, value in zip(rows, values):
        row[[*SLICE_COLUMNS].index(name)] = value
    (batch,) = pack_slices(columns(*[tuple(row) for row in rows]))  # type: ignore[arg-type]
    return dict(batch.columns)[name]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE traces SET slices = 5", "has other than 5 slices"),
        ("UPDATE traces SET process_id = 99", "there is no process 99"),
        ("UPDATE traces SET left_out = -1", "a trace has -1"),
        ("UPDATE traces SET origin_ns = -1", "a trace has -1"),
        ("UPDATE trace_functions SET function_id = 99", "there is no function 99"),
        ("UPDATE trace_functions SET trace_id = 5", "there is no trace 5"),
        ("UPDATE trace_threads SET thread_id = 99", "there is no thread 99"),
        ("UPDATE trace_batches SET slices = 0", "a batch has 0 slices"),
        ("UPDATE trace_batches SET slices = 65537", "a batch has 65537 slices"),
        (
            "UPDATE trace_batches SET slices = 5; UPDATE traces SET slices = 5",
            "is not of 5 events",
        ),
        ("UPDATE trace_batches SET trace_id = 9", "there is no trace 9"),
        ("UPDATE trace_columns SET batch_id = 9", "there is no batch 9"),
        ("UPDATE trace_columns SET data = x'ffff'", "does not unpack"),
        (
            "INSERT INTO trace_columns SELECT * FROM trace_columns LIMIT 1",
            "a batch has two columns",
        ),
        ("DELETE FROM trace_threads", "a slice has the thread"),
        ("DELETE FROM trace_functions", "a slice has the function"),
        ("DROP TABLE call_functions", "it has no table call_functions"),
    ],
)
def test_impossible_values_are_damage(
    tmp_path: Path, statement: str, message: str
) -> None:
    assert message in damage_error(changed(tmp_path, example(), *statement.split("; ")))


@pytest.mark.parametrize(
    ("name", "largest"),
    [("thread", 1), ("function", 2), ("start", (1 << 63) - 1), ("ns", (1 << 63) - 1)],
)
def test_numbers_out_of_range_are_damage(
    tmp_path: Path, name: str, largest: int
) -> None:
    change = f"UPDATE trace_columns SET data = ? WHERE name = '{name}'"  # noqa: S608
    load(changed(tmp_path, example(), change, data=column(name, largest)))
    file = changed(tmp_path, example(), change, data=column(name, largest + 1))
    assert f"a slice has the {name} {largest + 1}" in damage_error(file)


@pytest.mark.parametrize("name", [WAIT_COLUMN, UNSURE_COLUMN])
def test_a_wait_beyond_63_bits_is_damage(tmp_path: Path, name: str) -> None:
    row = (0, 0, 1, ORIGIN, 5)
    stats, file = plain_example(), tmp_path / "a.lprof"
    for wait in ((1 << 63) - 1, 1 << 63):
        waits = {name: array("Q", [wait]).tobytes()}
        batches = pack_slices({**columns(row), **waits})
        stats.traces = (replace(trace_of(row), batches=batches),)
        save(stats, file)
        if wait < 1 << 63:
            assert load(file).traces == stats.traces
    assert "a slice has a wait beyond 63 bits" in damage_error(file)


@pytest.mark.parametrize("functions", [255, 256, 257, 299, 300, 65_537])
def test_a_function_that_is_not_there_is_damage(tmp_path: Path, functions: int) -> None:
    keys = tuple(("a.py", line, "f") for line in range(1, functions + 1))
    rows = [(0, i, 1, ORIGIN + i, 1) for i in (*range(20), functions - 1)]
    whole = replace(trace_of(*rows), functions=keys)
    stats = plain_example()
    stats.traces = (whole,)
    file = tmp_path / "a.lprof"
    save(stats, file)
    assert [one.function for one in load(file).traces[0]][-1] == keys[-1]
    stats.traces = (replace(whole, functions=keys[:-1]),)
    save(stats, file)
    assert f"a slice has the function {functions - 1}" in damage_error(file)


@pytest.mark.parametrize("last", [(1 << 63) - 1, 1 << 63])
def test_starts_that_add_up_to_too_much_are_damage(tmp_path: Path, last: int) -> None:
    rows = [(0, 0, 1, start, 1) for start in ((1 << 62) - 1, 1 << 62, last)]
    stats = plain_example()
    stats.traces = (trace_of(*rows),)
    save(stats, tmp_path / "a.lprof")
    if last < 1 << 63:
        assert load(tmp_path / "a.lprof").traces == stats.traces
    else:
        assert f"a slice has the start {last}" in damage_error(tmp_path / "a.lprof")


def test_a_column_that_unpacks_to_too_many_bytes_is_damage(tmp_path: Path) -> None:
    bomb = zlib.compress(bytes(100_000_000))
    change = "UPDATE trace_columns SET data = ? WHERE name = 'line'"
    assert "is not of 4 events" in damage_error(
        changed(tmp_path, example(), change, data=bomb)
    )


def test_too_many_slices_are_damage(tmp_path: Path) -> None:
    file = changed(
        tmp_path,
        example(),
        "INSERT INTO trace_batches WITH RECURSIVE n(id) AS"
        " (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < 2000)"
        " SELECT id, 0, 65536 FROM n",
    )
    assert "the traces have more than 100000000 slices" in damage_error(file)


def test_columns_of_a_later_version_are_ignored(tmp_path: Path) -> None:
    file = changed(
        tmp_path, example(), "INSERT INTO trace_columns VALUES (0, 'colour', x'00')"
    )
    assert load(file).traces == example().traces


def test_a_file_with_a_changed_byte_is_an_error_or_a_profile(tmp_path: Path) -> None:
    file = tmp_path / "a.lprof"
    save(example(), file)

    def look(stats: LineStats) -> None:
        for trace in stats.traces:
            assert len(list(trace)) == trace.count

    check_any_byte(file, lambda used: used[:: max(1, len(used) // 300)], look)


def test_a_profile_with_a_trace_is_equal_to_one_without() -> None:
    trace: _Trace = example().traces[0]
    assert trace.left_out == 7
    assert example() == plain_example()
