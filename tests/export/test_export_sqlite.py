"""SQLite exports: queries return the numbers of the table."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import example_calls
import example_gpu
import pytest
from example_traces import SLICES, falling, steps, trace, traced

from lineprof.cli.main import main
from lineprof.export import EXPORTS
from lineprof.export.sqlite_db import TABLES, VIEWS
from lineprof.line_stats import LineStats
from lineprof.model.call_graph import edges, function_totals, line_self_ns
from lineprof.model.gpu import numbers_of_lines

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SQLITE = EXPORTS["sqlite"]


class Database:
    """Exported database, called with a query."""

    def __init__(self, stats: LineStats, folder: Path) -> None:
        self._file = folder / "p.sqlite"
        self._file.write_bytes(b"".join(SQLITE.content(stats)))
        assert self("PRAGMA integrity_check") == [("ok",)]

    def __call__(self, query: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self._file)) as database:
            return database.execute(query).fetchall()


@pytest.mark.parametrize(
    "make",
    [
        steps,
        example_calls.example,
        lambda: example_calls.deep(20_000),
        lambda: falling(100),
        lambda: LineStats({}, 1e-9),
        lambda: LineStats({("a", 1, "f"): [(2, 1, 5)]}, 1e-9),
    ],
    ids=["steps", "calls", "deep", "falling", "nothing", "no calls"],
)
def test_all_tables_and_views_exist_and_can_be_read(
    make: Callable[[], LineStats], tmp_path: Path
) -> None:
    ask = Database(make(), tmp_path)
    names = ask("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
    assert {name for (name,) in names} == {*TABLES, *VIEWS}
    for name in (*TABLES, *VIEWS):
        ask(f"SELECT * FROM {name} LIMIT 5")  # noqa: S608
    assert ask("PRAGMA foreign_key_check") == []


def test_lines_have_the_tables_numbers(tmp_path: Path) -> None:
    stats = example_calls.example()
    own = line_self_ns(stats)
    assert Database(stats, tmp_path)(
        "SELECT file, line, hits, own_ns, time_ns FROM lines"
        " JOIN functions ON functions.id = function_id ORDER BY functions.id, line"
    ) == [
        (one.file, row.line, row.hits, own[one.key][row.line], row.time_ns)
        for one in stats.functions
        for row in one.rows
    ]


def test_the_hottest_line_is_first_and_has_its_source(tmp_path: Path) -> None:
    (first, *_) = Database(example_calls.example(), tmp_path)("SELECT * FROM hot_lines")
    assert first[:2] == ("/p/solve.py", 23)
    assert first[2] == 'weights "w"; größe\'s <損> & \\ %\\udcff'
    assert first[4:6] == (6_000_000, 6_000_000)
    assert first[6] == pytest.approx(76.66, abs=0.01)
    assert first[8] == "    return sum(sizes)"


def test_the_edges_into_a_function_sum_to_its_total(tmp_path: Path) -> None:
    stats = example_calls.example()
    ask = Database(stats, tmp_path)
    found = {
        (file, line, name): numbers
        for file, line, name, *numbers in ask(
            "SELECT file, first_line, name, functions.calls, sum(edges.calls),"
            " functions.total_ns, sum(edges.total_ns) FROM functions"
            " JOIN edges ON callee_id = functions.id GROUP BY functions.id"
        )
    }
    for key, one in function_totals(stats).items():
        plain = (*key[:2], key[2].replace("\udcff", "\\udcff"))
        if one.calls:
            numbers = [one.calls, one.calls, one.total_ns, one.total_ns]
            assert found.pop(plain) == numbers
    assert found == {}
    assert ask("SELECT count(*) FROM edges") == [(len(edges(stats.calls)),)]


def test_callers_and_callees_have_the_same_calls(tmp_path: Path) -> None:
    ask = Database(example_calls.example(), tmp_path)
    callers = ask("SELECT caller, line, name, calls, inclusive_ns FROM callers")
    callees = ask("SELECT name, line, callee, calls, inclusive_ns FROM callees")
    assert sorted(callers, key=repr) == sorted(callees, key=repr)
    assert ("main", 9, "Model.forward", 3, 4_564_877) in callers
    assert (None, 0, "work", 1, 1_533_879) in callers


def test_the_tree_can_be_queried_from_leaf_to_root(tmp_path: Path) -> None:
    climbed = Database(example_calls.example(), tmp_path)(
        "WITH RECURSIVE way(id, parent_id, name) AS ("
        " SELECT t.id, parent_id, name FROM call_tree t"
        " JOIN functions f ON f.id = function_id"
        " WHERE name = 'launch' AND thread_id = 1"
        " UNION ALL SELECT t.id, t.parent_id, f.name FROM way"
        " JOIN call_tree t ON t.id = way.parent_id"
        " JOIN functions f ON f.id = function_id) SELECT name FROM way"
    )
    names = [name for (name,) in climbed]
    assert names == ["launch", "solve", "Model.forward", "main", "<module>"]


def test_waits_and_threads_have_their_rows(tmp_path: Path) -> None:
    assert Database(example_calls.example(), tmp_path)(
        "SELECT f.name, line, t.name, cause, ns FROM waits"
        " JOIN functions f ON f.id = function_id JOIN threads t ON t.id = thread_id"
        " WHERE cause = 'io'"
    ) == [('weights "w"; größe\'s <損> & \\ %\\udcff', 23, "worker 1", "io", 300_000)]


def test_lines_have_their_numbers_on_each_thread(tmp_path: Path) -> None:
    stats = example_calls.example()
    assert Database(stats, tmp_path)(
        "SELECT f.name, line, t.name, hits, time_ns FROM line_threads"
        " JOIN functions f ON f.id = function_id JOIN threads t ON t.id = thread_id"
        " WHERE f.name = 'Model.forward' ORDER BY line, thread_id"
    ) == [
        (
            "Model.forward",
            one.line,
            stats.threads[one.thread].name,
            one.hits,
            one.time_ns,
        )
        for function in stats.functions
        if function.name == "Model.forward"
        for one in sorted(function.thread_lines)
    ]


def test_gpu_numbers_are_as_in_the_table(tmp_path: Path) -> None:
    stats = example_gpu.example()
    ask = Database(stats, tmp_path)
    found = ask(
        "SELECT name, line, gpu_ns, own_gpu_ns, copy_ns FROM gpu_by_line"
        " JOIN functions ON id = function_id"
    )
    assert sorted(found) == sorted(
        (key[2], line, one.gpu_ns, one.self_ns, one.memcpy_ns)
        for key, lines in numbers_of_lines(stats.gpu).items()
        for line, one in lines.items()
    )
    ((count, ns),) = ask("SELECT count(*), sum(ns) FROM gpu_kernels")
    assert (count, ns) == (len(stats.gpu.sums), sum(one.ns for one in stats.gpu.sums))
    unknown = ask("SELECT DISTINCT live_bytes, peak_bytes FROM gpu_by_line")
    assert unknown == [(None, None)]


def test_lines_have_their_live_and_peak_memory_of_devices(tmp_path: Path) -> None:
    stats = example_gpu.example()
    stats.gpu = stats.gpu._replace(memory=example_gpu.memory())
    rows = Database(stats, tmp_path)(
        "SELECT line, live_bytes, peak_bytes FROM gpu_by_line WHERE live_bytes > 0"
    )
    lines = {line for _, line in stats.gpu.paths[0].lines}
    assert {*rows} == {(line, 5_000, 7_000) for line in lines}


def test_slices_and_events_are_intervals_of_one_clock(tmp_path: Path) -> None:
    stats = steps()
    ask = Database(stats, tmp_path)
    found = ask(
        "SELECT start_ns, ns, line, name FROM slices JOIN functions ON id = function_id"
    )
    assert sorted(found) == sorted(
        (one.start_ns, one.ns, one.line, one.function[2]) for one in SLICES
    )
    events = ask(
        "SELECT kind, start_ns, ns, correlation, bytes, grid, line FROM gpu_events"
        " WHERE stream = 7 ORDER BY start_ns LIMIT 1"
    )
    assert events == [("kernel", 1_050_000, 15_000, 10, None, "64x1x1", 21)]
    ((count,),) = ask("SELECT count(*) FROM gpu_events")
    assert count == len(example_gpu.EVENTS)


def test_empty_tables_are_remarked_on() -> None:
    text = "\n".join(SQLITE.remarks(LineStats({}, 1e-9)))
    assert "edges and call_tree are empty" in text
    assert "slices is empty" in text
    text = "\n".join(SQLITE.remarks(traced(trace(SLICES, left_out=2))))
    assert "2 slices are not in the trace" in text
    assert "4 GPU records" in text


def test_a_full_temporary_folder_is_an_error_of_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    LineStats({("a", 1, "f"): [(2, 1, 5)]}, 1e-9).to_file("a.lprof")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryDirectory", full)
    assert main(["export", "-f", "sqlite", "a.lprof"]) == 1
    assert "cannot write the export" in capfd.readouterr().err
    assert not (tmp_path / "a.sqlite").exists()
