"""--json and --csv of --hot, --functions, --tree, --callers and --drill."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import pytest
from as_python import error_line, viewer
from example_calls import FIB, FORWARD, IS_EVEN, LAUNCH, MAIN, PROCESS, SOLVE
from example_calls import example as calls_example
from example_stats import example as without_calls

from lineprof.line_stats import LineStats
from lineprof.model.records import Cut
from lineprof.storage import save

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.once  # text of fixed profiles

VIEWS = (
    *(["--hot"], ["--functions"], ["--tree", "--min-percent", "0"]),
    *(["--callers", "fib"], ["--drill", "main", "--depth", "9"]),
)


def example() -> LineStats:
    """Return the example with a warning, and a function that was switched off."""
    stats = calls_example()
    stats.warnings = ("3 events were lost",)
    stats.processes = (PROCESS._replace(wall_ns=4_100_000_000),)
    stats.cuts = (Cut(function=FORWARD, process=0, until_ns=30_000_000),)
    return stats


def output(folder: Path, *flags: str) -> str:
    """Return what `view` prints of the example."""
    save(example(), folder / "a.lprof")
    done = viewer("view", *flags, "a.lprof", cwd=folder)
    assert done.status == 0, done.err
    assert "3 events were lost" in done.err  # other programs read the output
    return done.out


def json_of(folder: Path, *flags: str) -> dict[str, Any]:
    return json.loads(output(folder, *flags, "--json"))  # type: ignore[no-any-return]


def named(row: dict[str, Any], column: str = "function") -> tuple[str, int, str]:
    """Return the key of the function that the columns of a row name."""
    file = "file" if column == "function" else f"{column}_file"
    return row[file], row[f"{column}_line"], row[column]


@pytest.mark.parametrize("flags", VIEWS, ids=lambda flags: flags[0])
def test_json_and_csv_have_the_same_rows(tmp_path: Path, flags: list[str]) -> None:
    made = json_of(tmp_path, *flags)
    assert made["view"] == flags[0].lstrip("-")
    assert (made["format"], made["unit"]) == (1, "ns")
    assert made["notes"][-1] == "3 events were lost"
    assert "1 function, marked (counted ...), was counted for" in made["notes"][0]
    titles, *rows = csv.reader(io.StringIO(output(tmp_path, *flags, "--csv")))
    assert made["rows"]
    assert [list(row) for row in made["rows"]] == [titles] * len(rows)
    escaped = json.dumps(made["rows"]).replace(r"\udcff", r"\\udcff")  # as text is
    assert rows == [
        ["" if value is None else str(value) for value in row.values()]
        for row in json.loads(escaped)
    ]


def test_hot_lines_have_their_own_time_and_wait(tmp_path: Path) -> None:
    made = json_of(tmp_path, "--hot", "2")
    weights, joining = made["rows"]
    assert (made["self_ns"], made["more"]) == (7_826_288, 21)
    assert (weights["line"], weights["self_ns"], weights["hits"]) == (23, 6_000_000, 4)
    assert (joining["line"], named(joining)) == (12, MAIN)
    assert joining["own_wait_min_ns"] == joining["own_wait_max_ns"] == 1_520_000
    assert joining["own_wait_cause"] == "lock"
    assert joining["source"] == "    worker.join()"
    assert joining["until_ns"] is None


def test_functions_are_in_the_order_asked_for_with_the_end_of_their_counts(
    tmp_path: Path,
) -> None:
    made = json_of(tmp_path, "--functions", "--limit", "3", "--sort-by", "calls")
    assert [named(row) for row in made["rows"]] == [FIB, IS_EVEN, made_key("is_odd")]
    assert made["rows"][0]["calls"] == 32
    assert made["rows"][0]["primitive_calls"] == 4
    assert made["more"] == 12
    by_key = {named(row): row for row in json_of(tmp_path, "--functions")["rows"]}
    cut = by_key[FORWARD]
    assert (cut["from_ns"], cut["until_ns"]) == (0, 30_000_000)
    assert cut["of_ns"] == 4_100_000_000
    assert (cut["self_ns"], cut["total_ns"]) == (4_600, 6_097_656)


def made_key(name: str) -> tuple[str, int, str]:
    """Return the key of a function of the example by its name."""
    [key] = [one.key for one in example().functions if one.name == name]
    return key


def test_rows_of_the_tree_name_the_row_above(tmp_path: Path) -> None:
    rows = json_of(tmp_path, "--tree", "--min-percent", "0")["rows"]
    by_id = {row["id"]: row for row in rows}
    paths = {}
    for row in rows:
        above = paths.get(row["parent_id"], ())
        paths[row["id"]] = (*above, (row["call_line"], row["function"]))
        assert row["depth"] == len(paths[row["id"]])
        below = [one for one in rows if one["parent_id"] == row["id"]]
        took = row["self_ns"] + sum(one["inclusive_ns"] for one in below)
        assert took == row["inclusive_ns"]
    path = ((None, "<module>"), (29, "main"), (9, "Model.forward"), (14, "fib"))
    [fib] = [number for number, found in paths.items() if found == path]
    assert (by_id[fib]["calls"], by_id[fib]["self_ns"]) == (3, 3_309)
    short = json_of(tmp_path, "--tree", "--min-percent", "0", "--depth", "1")
    assert [row["function"] for row in short["rows"]] == ["<module>", "work"]


def test_callers_have_both_functions_and_the_line(tmp_path: Path) -> None:
    rows = json_of(tmp_path, "--callers", "fib")["rows"]
    found = {(named(row, "caller"), row["call_line"]): row for row in rows}
    assert set(found) == {(FORWARD, 14), (FIB, 2)}
    row = found[FORWARD, 14]
    assert (row["calls"], row["total_ns"], row["inclusive_ns"]) == (4, 33_450, 33_450)
    assert (row["until_ns"], row["caller_until_ns"]) == (None, 30_000_000)
    assert row["source"] == "        total += fib(step + 2)"
    [unknown] = json_of(tmp_path, "--callers", "never")["rows"]
    assert (unknown["caller"], unknown["caller_file"]) == ("not known from where", None)
    assert (unknown["calls"], unknown["total_ns"]) == (0, 0)
    [outside] = json_of(tmp_path, "--callers", "work")["rows"]
    assert named(outside, "caller") == (None, None, None)
    assert outside["call_line"] is None


def test_drilling_gives_the_lines_and_below_each_its_callees(tmp_path: Path) -> None:
    rows = json_of(tmp_path, "--drill", "solve", "--depth", "2")["rows"]
    assert {named(row) for row in rows} == {SOLVE, LAUNCH, IS_EVEN}
    line, callee = [row for row in rows if row["line"] == 14]
    assert (line["hits"], line["time_ns"], line["self_ns"]) == (4, 44_006, 8_000)
    assert (line["callee"], line["calls"], line["path"]) == (None, None, "solve")
    assert named(callee, "callee") == LAUNCH
    assert (callee["hits"], callee["calls"], callee["inclusive_ns"]) == (
        None,
        4,
        36_006,
    )
    assert callee["gpu_ns"] == 800_000
    paths = {row["path"] for row in rows if named(row) == LAUNCH}
    assert paths == {"solve -> solve.py:14 -> launch"}


def test_a_profile_without_calls_or_lines_has_rows_or_none(tmp_path: Path) -> None:
    save(without_calls(), tmp_path / "a.lprof")
    done = viewer("view", "--hot", "--json", "a.lprof", cwd=tmp_path)
    made = json.loads(done.out)
    assert made["rows"][0]["own_wait_max_ns"] is None
    assert any("does not say who called whom" in note for note in made["notes"])
    save(LineStats.from_functions([]), tmp_path / "b.lprof")
    for flag in ("--hot", "--functions", "--tree"):
        done = viewer("view", flag, "--json", "b.lprof", cwd=tmp_path)
        assert json.loads(done.out)["rows"] == []
        text = viewer("view", flag, "--csv", "b.lprof", cwd=tmp_path).out
        assert text.count("\n") == 1
        assert "function_line" in text.split(",")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--gpu-trace", "--json"], "--gpu-trace takes no --json;"),
        (["--hot", "--json", "--csv"], "--json takes no --csv;"),
        (["--drill", "f", "--json", "-u1"], "--drill --json takes no --unit;"),
        (["--drill", "f", "--csv", "-r"], "--drill --csv takes no --rich;"),
    ],
)
def test_what_does_not_go_together_is_an_error(
    capsys: pytest.CaptureFixture[str], arguments: list[str], line: str
) -> None:
    assert line in error_line(capsys, 2, "view", *arguments, "a.lprof")
