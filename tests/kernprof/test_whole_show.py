"""Example of three modules: one run, then --drill down to the hottest line."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from as_python import kernprof_forked, viewer

from lineprof import LineStats, load_stats
from lineprof.model.call_graph import edges, function_totals, line_self_ns

ROOT = Path(__file__).resolve().parents[2]
PROFILE = "near_duplicates.lprof"
HOT = "parts = parts | {part}"
CALL_PATH = ("main", "near_duplicates", "similarity", "shingles")
# A row of the table: line, hits, time, time per hit, share, and the source.
# On a slow machine the time per hit is above 1 s, which is 1.02e+06 us.
ROW = re.compile(
    r"^ *(\d+) +(\d+) +([\d.e+]+) +[\d.e+]+ +([\d.]+) +(.*)$", re.MULTILINE
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with the profile of one run of the example."""
    folder = tmp_path_factory.mktemp("show")
    shutil.copytree(ROOT / "examples" / "three_modules", folder / "modules")
    done = kernprof_forked("-l", "modules/near_duplicates.py", cwd=folder)
    assert done.status == 0, done.err
    return folder


@pytest.fixture(scope="module")
def stats(folder: Path) -> LineStats:
    return load_stats(folder / PROFILE)


def drill(folder: Path, target: str) -> str:
    """Return the tables of --drill: a function or a line, and its callees."""
    done = viewer("view", "--drill", target, PROFILE, cwd=folder)
    assert done.status == 0, done.err
    return done.out


def hottest(output: str) -> re.Match[str]:
    """Return the row with the most time."""
    return max(ROW.finditer(output), key=lambda row: float(row[3]))


def test_a_program_without_a_decorator_is_profiled_whole(stats: LineStats) -> None:
    names = {(Path(f.file).name, f.name) for f in stats.functions if f.calls}
    assert names >= {
        ("near_duplicates.py", "<module>"),
        ("near_duplicates.py", "main"),
        ("near_duplicates.py", "invent"),
        ("pairs.py", "<module>"),
        ("pairs.py", "near_duplicates"),
        ("pairs.py", "similarity"),
        ("shingles.py", "<module>"),
        ("shingles.py", "shingles"),
    }


def test_nothing_of_the_standard_library_is_profiled(stats: LineStats) -> None:
    files = {Path(function.file).name for function in stats.functions}
    assert files == {"near_duplicates.py", "pairs.py", "shingles.py"}


def test_the_drill_leads_from_the_top_to_the_hot_line_in_one_profile(
    folder: Path,
) -> None:
    path, target = [], "main"
    while True:
        path.append(target)
        output = drill(folder, target)
        row = hottest(output)
        below = output[row.end() :].lstrip("\n").splitlines()[:1]
        called = re.match(r" *\| .*calls? of ([\w.<>]+)", below[0] if below else "")
        if not called:
            break
        target = called[1]
    assert tuple(path) == CALL_PATH
    assert HOT in row[5]


def test_the_drill_of_a_line_shows_what_it_calls(
    folder: Path, stats: LineStats
) -> None:
    (edge,) = (e for e in edges(stats.calls) if e.callee[2] == "similarity")
    output = drill(folder, f"pairs.py:{edge.line}")
    assert "Function: similarity at line" in output
    assert "if similarity(one, other) >= least" in output


def test_the_edges_into_a_function_sum_to_its_total(stats: LineStats) -> None:
    numbers = function_totals(stats)
    for key, of_function in numbers.items():
        into = [edge for edge in edges(stats.calls) if edge.callee == key]
        assert sum(edge.total_ns for edge in into) == of_function.total_ns
        assert sum(edge.calls for edge in into) == of_function.calls


def test_the_total_of_a_function_is_the_sum_of_its_lines(stats: LineStats) -> None:
    numbers = function_totals(stats)
    for function in stats.functions:
        rounding = len(function.thread_lines) + len(stats.calls.nodes)  # ns
        of_tree = numbers[function.key].total_ns
        assert function.total_ns == pytest.approx(of_tree, abs=rounding)


def test_self_times_of_all_lines_sum_to_the_time_of_the_program(
    stats: LineStats,
) -> None:
    lines = sum(ns for own in line_self_ns(stats).values() for ns in own.values())
    roots = [edge for edge in edges(stats.calls) if edge.caller is None]
    cells = sum(len(function.thread_lines) for function in stats.functions)
    rounding = cells + len(stats.calls.nodes)  # ns
    assert lines == pytest.approx(sum(e.inclusive_ns for e in roots), abs=rounding)


def test_the_calls_are_those_that_the_program_makes(stats: LineStats) -> None:
    calls = [
        (edge.caller[2], edge.callee[2], edge.calls)
        for edge in edges(stats.calls)
        if edge.caller and edge.callee[2] != "<module>"
    ]
    pairs = 20 * 19 // 2
    assert sorted(calls) == [
        ("<module>", "main", 1),
        ("main", "invent", 1),
        ("main", "near_duplicates", 1),
        ("near_duplicates", "similarity", pairs),
        ("similarity", "shingles", pairs),
        ("similarity", "shingles", pairs),  # from another line
    ]


def test_what_the_profile_lacks_is_below_the_tables(tmp_path: Path) -> None:
    text = "import lineprof\ndef f(): return 1\nf()\nlineprof.stop()\n"
    (tmp_path / "x.py").write_text(text)
    done = kernprof_forked("-l", "-v", "x.py", cwd=tmp_path)
    assert "\nNote: nothing was counted since a call of cuda" in done.out
    assert "nothing was counted" not in done.err
