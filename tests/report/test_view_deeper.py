"""Views of a profile with more call paths than are kept, and what they say of it."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from deeper_program import DEEPER, LIMITS, TRUTH, measured
from example_calls import PROCESS
from report_page import Page
from view_text import lines_of, text_of

from lineprof.console.terminal import Terminal
from lineprof.model.call_graph import (
    call_path_tree,
    edges,
    function_totals,
    functions_to_branch,
)
from lineprof.model.merge import merge
from lineprof.model.records import cell_columns
from lineprof.model.running_sum import RunningSum
from lineprof.report import VIEWS, overview
from lineprof.report.diff import difference_of
from lineprof.report.options import Options
from lineprof.source import Sources
from lineprof.storage import load, save

if TYPE_CHECKING:
    from pathlib import Path

    from settable_clock import Clock

    from lineprof.line_stats import LineStats

pytestmark = pytest.mark.usefixtures("hook")

NOTE = "Calls below the first "


@pytest.fixture(params=LIMITS)
def both(
    request: pytest.FixtureRequest, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> tuple[LineStats, LineStats]:
    """Return two profiles of a program: with few call paths, and with all."""
    return measured(request.param, clock, monkeypatch)


def rows_of(stats: LineStats, view: str, **options: object) -> list[dict[str, Any]]:
    """Return the rows of a view, as --json has them."""
    made = VIEWS[view].rows
    assert made is not None
    options = {"min_percent": 0.0, **options}
    rows = made(stats, Sources(stats.sources), Options(**options))  # type: ignore[arg-type]
    return list(rows.rows)


def check_tree(stats: LineStats) -> None:
    """Compare the call paths of --tree with the true times."""
    rows = rows_of(stats, "tree")
    paths: list[tuple[str, ...]] = []
    found: Counter[tuple[str, ...]] = Counter()
    for row in rows:
        above = () if row["parent_id"] is None else paths[row["parent_id"]]
        paths.append((*above, row["function"]))
        found[paths[-1]] += row["inclusive_ns"] // 1000
    for path, us in TRUTH.items():
        deeper = found[*path[:-1], DEEPER]
        assert us - deeper <= found[path] <= us, path
    assert {path[0] for path in found} == {"main"}
    assert any(path[-1] == DEEPER for path in paths)


def test_the_tree_has_time_under_its_true_ancestors_and_says_so(
    both: tuple[LineStats, LineStats],
) -> None:
    limited, whole = both
    check_tree(limited)
    lines = lines_of(limited, "tree", min_percent=0.0)
    assert lines[0].startswith(NOTE)
    assert "'deeper calls'" in lines[0]
    assert any(line.endswith(f" {DEEPER}") for line in lines[1:])
    assert not any(NOTE in line for line in lines_of(whole, "tree"))


def test_the_note_fits_a_narrow_terminal(both: tuple[LineStats, LineStats]) -> None:
    terminal = Terminal(width=40)
    lines = lines_of(both[0], "tree", terminal=terminal)
    assert max(map(len, lines[:4])) <= 40


def test_the_first_screen_says_it_above_the_calls(
    both: tuple[LineStats, LineStats],
) -> None:
    for number, stats in enumerate(both):
        stats.processes = (PROCESS._replace(is_whole=True),)
        lines = list(overview.render(stats, Sources(stats.sources), Options(file="x")))
        calls = next(i for i, one in enumerate(lines) if one.startswith("Calls ("))
        assert lines[calls + 1].startswith(NOTE) is (number == 0)


@pytest.mark.parametrize("view", ["functions", "hot"])
def test_views_of_functions_and_lines_are_exact(
    view: str, both: tuple[LineStats, LineStats]
) -> None:
    limited, whole = both
    assert rows_of(limited, view) == rows_of(whole, view)


@pytest.mark.parametrize("target", ["leaf", "f", "g", "a", "b", "c", "main"])
def test_callers_and_callees_are_exact(
    target: str, both: tuple[LineStats, LineStats]
) -> None:
    for view in ("callers", "drill"):
        one, other = (rows_of(each, view, targets=(target,)) for each in both)
        assert sorted(map(repr, one)) == sorted(map(repr, other))
    options: dict[str, object] = {"targets": (target,), "min_percent": 0.0}
    assert not any(DEEPER in line for line in lines_of(both[0], "drill", **options))


def test_the_json_report_has_the_same_calls(both: tuple[LineStats, LineStats]) -> None:
    one, other = (json.loads(text_of(each, "json")) for each in both)
    assert sorted(map(repr, one["calls"])) == sorted(map(repr, other["calls"]))


def test_a_page_has_the_deeper_calls_in_its_flame_graph_and_says_so(
    both: tuple[LineStats, LineStats],
) -> None:
    limited, whole = (Page(text_of(each, "html")) for each in both)
    assert limited.data["deeper"].startswith(NOTE)
    assert not whole.data["deeper"]
    tree = limited.rows("tree")
    assert -1 in {row["function"] for row in tree}
    assert -1 not in {row["function"] for row in whole.rows("tree")}
    assert sum(row["self"] for row in tree) == 8_299_000
    assert limited.data["functions"] == whole.data["functions"]
    key = ("caller", "line", "callee")
    edges = [
        sorted(page.rows("edges"), key=lambda row: [row[one] for one in key])
        for page in (limited, whole)
    ]
    assert edges[0] == edges[1]


def test_a_file_keeps_the_deeper_calls(
    both: tuple[LineStats, LineStats], tmp_path: Path
) -> None:
    for number, stats in enumerate(both):
        file = tmp_path / f"{number}.lprof"
        save(stats, file)
        assert load(file).calls == stats.calls
        with closing(sqlite3.connect(file)) as database:
            (version,) = database.execute("PRAGMA user_version").fetchone()
            tables = {name for (name,) in database.execute(TABLES)}
        assert version == (1 if number else 2)  # older versions read all others
        assert ("merged_calls" in tables) is (number == 0)


TABLES = "SELECT name FROM sqlite_master"


def test_merged_profiles_have_time_under_its_true_ancestors(
    both: tuple[LineStats, LineStats],
) -> None:
    limited, whole = both
    for one, other in ((limited, limited), (limited, whole), (whole, limited)):
        total = merge([one, other])
        twice = merge([whole, whole])
        assert {*edges(total.calls)} == {*edges(twice.calls)}
        assert function_totals(total) == function_totals(twice)
        assert call_path_tree(total).inclusive_ns == 2 * 8_299_000
    check_tree(merge([limited]))  # type: ignore[arg-type]


def test_sums_of_profiles_keep_the_deeper_calls(
    both: tuple[LineStats, LineStats],
) -> None:
    total = RunningSum()
    for stats in both:
        total.add(stats, cell_columns(stats.functions))
    found = total.profile()
    twice = merge([both[1], both[1]])
    assert {*edges(found.calls)} == {*edges(twice.calls)}
    assert call_path_tree(found).inclusive_ns == 2 * 8_299_000
    assert found.calls.folded == both[0].calls.folded


def test_a_comparison_finds_no_difference(both: tuple[LineStats, LineStats]) -> None:
    compared = difference_of([both[0]], [both[1]]).comparison
    assert len(compared.functions) == 7  # of the program
    for pair in compared.functions:
        assert pair.before == pair.after
        for change in (pair.times.count, pair.times.total_ns, pair.times.self_ns):
            assert change.before == change.after


def test_the_hints_name_no_deeper_calls(both: tuple[LineStats, LineStats]) -> None:
    names = {key[2] for key in functions_to_branch(both[0].calls.nodes)}
    assert DEEPER not in names


def test_the_page_has_the_times_of_each_call_path(
    both: tuple[LineStats, LineStats],
) -> None:
    """With recursion: paths that end in the same call have the times of its edge."""
    for stats in both:
        page = Page(text_of(stats, "html"))
        tree = page.rows("tree")
        below = [path["self"] for path in tree]
        for index in range(len(tree) - 1, 0, -1):
            if tree[index]["parent"] >= 0:
                below[tree[index]["parent"]] += below[index]
        every: Counter[tuple[int, int, int]] = Counter()
        once: Counter[tuple[int, int, int]] = Counter()
        for path, ns in zip(tree, below, strict=True):
            caller = tree[path["parent"]]["function"] if path["parent"] >= 0 else -1
            edge = (caller, path["line"], path["function"])
            every[edge] += ns + path.get("recursive", 0)
            once[edge] += ns + path.get("recursive", 0) - path.get("repeated", 0)
        lost = []
        for row in page.rows("edges"):
            edge = (row["caller"], row["line"], row["callee"])
            lost += [row["inclusive"] - every[edge], row["total"] - once[edge]]
        deeper = sum(ns for (*_, callee), ns in every.items() if callee < 0)
        assert min(lost) >= 0
        assert any(lost) == bool(deeper) == bool(stats.calls.merged)
    assert any(path["recursive"] for path in tree)
    assert any(path["repeated"] for path in tree)
