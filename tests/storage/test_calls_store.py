"""Calls and waits in files: saved, loaded, and damaged with an error of one line."""

from __future__ import annotations

import copy
import pickle
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import example_stats
import pytest
from damaged_files import changed, load_error, with_any_values
from example_calls import FORWARD, LEN, MAIN, WEIGHTS, deep, example, wide
from example_stats import everything
from file_tables import PAGE, documented_query, documented_tables, tables_of

from lineprof.line_stats import LineStats
from lineprof.model.call_graph import edges
from lineprof.model.records import (
    NO_CALLS,
    NO_NODE,
    OTHER,
    UNKNOWN_THREAD,
    CallNode,
    CallTree,
    MergedCall,
    Wait,
)
from lineprof.storage import load, save
from lineprof.storage.schema import CALL_TABLES, MERGED_CALLS, TABLES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAMES = {table.name for table in CALL_TABLES}


def without_lines() -> LineStats:
    """Return a profile of a tree and waits, whose functions have no lines."""
    odd = ("/p/\udcff\n.py", 3, "\ud83d;\x1b")
    return LineStats.from_functions(
        [],
        calls=CallTree(
            (
                CallNode(NO_NODE, 0, LEN, UNKNOWN_THREAD, 2**63 - 1, 0, 0, 0, 0),
                CallNode(0, 2**63 - 1, odd, UNKNOWN_THREAD, 1, 1, 2, 3, 2**63 - 1),
            ),
            folded=7,
            merged=(
                MergedCall(None, 0, odd, UNKNOWN_THREAD, 2**63 - 1, 0, 0, 0, 0),
                MergedCall(LEN, 0, odd, UNKNOWN_THREAD, 1, 1, 2, 3, 2**63 - 1),
            ),
        ),
        waits=[Wait(MAIN, 0, UNKNOWN_THREAD, OTHER, 2**63 - 1)],
    )


@pytest.mark.parametrize(
    "make",
    [example, without_lines, lambda: deep(50_000), lambda: wide(200, 2000)],
    ids=["example", "without lines", "deep", "wide"],
)
def test_loaded_calls_are_those_saved(
    tmp_path: Path, make: Callable[[], LineStats]
) -> None:
    stats = make()
    file = tmp_path / "a.lprof"
    save(stats, file)
    loaded = load(file)
    assert loaded.calls != NO_CALLS
    assert everything(loaded) == everything(stats)


def test_a_copy_and_a_pickle_keep_calls() -> None:
    stats = deep(5_000) + example()
    for same in (copy.deepcopy(stats), pickle.loads(pickle.dumps(stats))):  # noqa: S301
        assert everything(same) == everything(stats)


def test_a_pickle_of_an_older_version_is_a_profile_without_calls() -> None:
    state = dict(vars(example()))
    for name in ("calls", "waits", "traces"):
        del state[name]
    old = LineStats.__new__(LineStats)
    old.__setstate__(state)
    assert (old.calls, old.waits, old.traces) == (NO_CALLS, (), ())
    assert (old + example()).calls.nodes


def test_calls_are_kept_when_functions_are_replaced() -> None:
    stats = example()
    stats.functions = stats.functions[:3]
    assert stats.calls == example().calls
    assert stats.waits == example().waits


def test_calls_of_removed_functions_are_in_the_file(
    tmp_path: Path,
) -> None:
    stats = example()
    stats.functions = stats.functions[:3]
    stats.gpu = example_stats.example().gpu
    save(stats, tmp_path / "a.lprof")
    assert everything(load(tmp_path / "a.lprof")) == everything(stats)


def test_a_profile_without_calls_has_no_tables_for_them(tmp_path: Path) -> None:
    save(example_stats.example(), tmp_path / "a")
    assert not tables_of(tmp_path / "a").keys() & NAMES
    save(example(), tmp_path / "a")
    assert tables_of(tmp_path / "a").keys() >= NAMES


def test_an_older_reader_sees_the_lines_alone(
    tmp_path: Path,
) -> None:
    file = tmp_path / "a.lprof"
    save(example(), file)
    with closing(sqlite3.connect(file)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (1,)
        names = [name for (name,) in db.execute("SELECT name FROM functions")]
        assert len(names) == len(example().functions)
        assert LEN[2] not in names
        assert {name for (name,) in db.execute("SELECT path FROM files")} == {
            function.file for function in example().functions
        }
        for name in NAMES:
            db.execute(f"DROP TABLE {name}")
        db.commit()
    assert tables_of(file).keys() >= {table.name for table in TABLES}
    old = load(file)
    assert old.functions == example().functions
    assert (old.calls, old.waits) == (NO_CALLS, ())


def test_the_tables_are_those_documented(tmp_path: Path) -> None:
    file = tmp_path / "a.lprof"
    save(example(), file)
    section = PAGE[PAGE.index("## Calls and waits") :]
    with closing(sqlite3.connect(file)) as db:
        found = set(db.execute(documented_query(section)))
    made = {name: text for name, text in tables_of(file).items() if name in NAMES}
    assert made == documented_tables(section)
    stats = example()
    ids = {one.key: place for place, one in enumerate(stats.functions)}
    ids[LEN] = len(ids)
    assert found == {
        (
            None if edge.caller is None else ids[edge.caller],
            edge.line,
            ids[edge.callee],
            edge.calls,
            edge.inclusive_ns,
        )
        for edge in edges(stats.calls)
    }


@pytest.mark.parametrize("table", sorted(NAMES))
def test_a_file_without_one_of_the_call_tables_is_damaged(
    tmp_path: Path, table: str
) -> None:
    file = changed(tmp_path, example(), f"DROP TABLE {table}")
    assert f"is damaged (it has no table {table}); record it again" in load_error(file)


DAMAGE = {
    "UPDATE call_nodes SET parent_id = 99 WHERE id = 3": "no node before its child",
    "UPDATE call_nodes SET parent_id = -1": "no node before its child",
    "UPDATE call_nodes SET parent_id = id": "no node before its child",
    "UPDATE call_nodes SET parent_id = 9 WHERE id = 4": "no node before its child",
    "UPDATE call_nodes SET parent_id = id - 24, id = -id": "no node before its child",
    "UPDATE call_nodes SET parent_id = 'x' WHERE id = 4": "'x' where int is due",
    "UPDATE call_nodes SET parent_id = NULL WHERE id = 3": "",  # now a root
    "UPDATE call_nodes SET function_id = 99": "there is no function 99",
    "UPDATE call_nodes SET function_id = NULL": "None where int is due",
    "UPDATE call_nodes SET thread_id = 9": "there is no thread 9",
    "UPDATE call_nodes SET thread_id = 1 WHERE id = 2": "another thread than node 1",
    "UPDATE call_nodes SET thread_id = NULL WHERE id = 2": "another thread than node 1",
    "UPDATE call_nodes SET thread_id = NULL": "",
    "UPDATE call_nodes SET line = -1": "a node has -1",
    "UPDATE call_nodes SET calls = -1 WHERE id = 7": "a node has -1",
    "UPDATE call_nodes SET primitive_calls = -1": "a node has -1",
    "UPDATE call_nodes SET self_ns = -1": "a node has -1",
    "UPDATE call_nodes SET total_ns = -1": "a node has -1",
    "UPDATE call_nodes SET inclusive_ns = -1": "a node has -1",
    "UPDATE call_nodes SET inclusive_ns = 1.5": "1.5 where int is due",
    "UPDATE call_nodes SET calls = x'00'": "where int is due",
    "UPDATE call_functions SET id = 0": "there are two functions 0",
    "UPDATE call_functions SET id = 99": "there is no function 14",
    "UPDATE call_functions SET name = 5": "5 where str is due",
    "UPDATE call_functions SET file = NULL": "None where str is due",
    "UPDATE call_functions SET name = x'ff'": "can't decode",
    "DELETE FROM call_functions": "there is no function 14",
    "UPDATE waits SET function_id = 99": "there is no function 99",
    "UPDATE waits SET thread_id = 2": "there is no thread 2",
    "UPDATE waits SET thread_id = -1": "there is no thread -1",
    "UPDATE waits SET ns = -1": "a wait has -1",
    "UPDATE waits SET line = -1": "a wait has -1",
    "UPDATE waits SET cause = 5": "5 where str is due",
}


@pytest.mark.parametrize(("statement", "message"), DAMAGE.items(), ids=list(DAMAGE))
def test_impossible_values_are_damage(
    tmp_path: Path, statement: str, message: str
) -> None:
    file = with_any_values(tmp_path, example(), statement, CALL_TABLES)
    if not message:
        assert len(load(file).calls.nodes) == len(example().calls.nodes)
        return
    line = load_error(file)
    assert " is damaged (" in line
    assert message in line


@pytest.mark.parametrize("folded", ["-1", "x", "", "1.5"])
def test_an_invalid_number_of_folded_calls_is_damage(
    tmp_path: Path, folded: str
) -> None:
    insert = "INSERT INTO meta VALUES ('calls_folded', "
    assert load(changed(tmp_path, example(), f"{insert}'12')")).calls.folded == 12
    assert " is damaged (" in load_error(
        changed(tmp_path, example(), f"{insert}'{folded}')")
    )


MERGED_DAMAGE = {
    "caller_id = 99": "there is no function 99",
    "function_id = 99": "there is no function 99",
    "thread_id = 99": "there is no thread 99",
    "calls = -1": "a merged call has -1",
    "line = 'x'": "",
    "self_ns = NULL": "",
}


@pytest.mark.parametrize(("change", "message"), MERGED_DAMAGE.items())
def test_impossible_values_of_merged_calls_are_damage(
    tmp_path: Path, change: str, message: str
) -> None:
    statement = f"UPDATE merged_calls SET {change}"  # noqa: S608
    file = with_any_values(tmp_path, without_lines(), statement, (MERGED_CALLS,))
    line = load_error(file)
    assert " is damaged (" in line
    assert message in line


def test_causes_of_a_later_version_are_other_causes(tmp_path: Path) -> None:
    file = changed(tmp_path, example(), "UPDATE waits SET cause = 'neutrinos'")
    assert [(wait.function, wait.cause, wait.ns) for wait in load(file).waits] == [
        (MAIN, OTHER, 1_520_000),
        (example().functions[0].key, OTHER, 1_520_000),
        (WEIGHTS, OTHER, 300_000),
    ]


def test_a_tree_with_a_missing_thread_or_parent_is_not_written(
    tmp_path: Path,
) -> None:
    for parent, thread in ((0, -1), (1, -1), (-2, -1), (NO_NODE, 0), (NO_NODE, -2)):
        tree = CallTree((CallNode(parent, 0, FORWARD, thread, 1, 1, 1, 1, 1),))
        with pytest.raises(IndexError):
            save(LineStats.from_functions([], calls=tree), tmp_path / "a.lprof")
    assert list(tmp_path.iterdir()) == []
