"""Functions that --max-overhead switched off are marked in each view and the file."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from typing import TYPE_CHECKING

import pytest
from example_calls import FORWARD, MAIN, PROCESS, WEIGHTS, example

from lineprof.cli.main import main
from lineprof.console.terminal import PLAIN, Terminal
from lineprof.model.gpu import NO_GPU
from lineprof.model.records import Cut
from lineprof.report.notebook import html_of
from lineprof.report.notes import with_notes
from lineprof.storage import load, save

if TYPE_CHECKING:
    from pathlib import Path

    from lineprof.line_stats import LineStats

pytestmark = pytest.mark.once  # text of fixed profiles

RUN = PROCESS._replace(wall_ns=4_100_000_000)
UNTIL = "  (counted until 0.03 s of 4.10 s)"
NOTE = (
    "3 functions, marked (counted ...), were counted for that part of the run, because"
    " of --max-overhead: other time is in the lines that call them, and percentages"
    " are of what was counted"
)


def cut_profile() -> LineStats:
    """Return the example; three functions were switched off at 30 ms of 4.1 s."""
    stats = example()
    stats.processes = (RUN,)
    stats.cuts = tuple(
        Cut(function=key, process=0, until_ns=30_000_000)
        for key in (MAIN, FORWARD, WEIGHTS)
    )
    return stats


@pytest.fixture
def cut_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Write that profile, go to its folder, and return its name."""
    monkeypatch.chdir(tmp_path)
    save(cut_profile(), "main.lprof")
    return "main.lprof"


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return the standard output of `view`; standard error has no note."""
    assert main(["view", *arguments]) == 0
    captured = capsys.readouterr()
    assert "because of --max-overhead" not in captured.err
    return captured.out


@pytest.mark.parametrize(
    ("arguments", "marked", "unmarked"),
    [
        ([], f"Function: main at line 6{UNTIL}", "Function: work at line 17\n"),
        (["-m"], f"/p/main.py:6 - main{UNTIL}", "/p/main.py:17 - work\n"),
        (["--hot"], f"main{UNTIL}  ", "  module main  "),
        (["--functions"], f"main.py:6(main){UNTIL}\n", "main.py:17(work)\n"),
        (["--tree"], f"Model.forward (model.py:12){UNTIL}", "work (main.py:17)  "),
        (["--callers", "fib"], f"Model.forward{UNTIL}", "fib (solve.py:1) is called"),
        (
            ["--callers", "main"],
            f"main (main.py:6){UNTIL} is called from:",
            "module main",
        ),
        (
            ["--drill", "work"],
            f"of Model.forward (model.py:12): 1.533 ms, 99.9 % of the line{UNTIL}",
            "Function: work at line 17\n",
        ),
    ],
)
def test_each_view_marks_what_was_switched_off_and_says_what_that_means(
    cut_file: str,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    marked: str,
    unmarked: str,
) -> None:
    text = shown(capsys, *arguments, cut_file)
    assert marked in text
    assert unmarked in text
    assert text.count(NOTE) == 1


def test_the_table_says_of_what_its_percentages_are(
    cut_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown(capsys, cut_file)
    line = "Counted until 0.03 s of 4.10 s: hits, times and % Time are of that part"
    assert text.count(line) == 3


def test_the_mark_stays_whole_on_a_narrow_terminal() -> None:
    from lineprof.console.terminal import Terminal  # noqa: PLC0415
    from lineprof.report.text_grid import grid  # noqa: PLC0415

    name = "a" * 60
    terminal = Terminal(is_terminal=True, width=120)
    _, row = grid(["F", "Source"], [[name + UNTIL, "x"]], terminal, words=2)
    assert UNTIL in row
    assert name not in row


def test_the_notebook_marks_it() -> None:
    text = html_of(cut_profile())
    assert f"main</b></code>{UNTIL}" in text
    assert text.count(NOTE) == 1


def test_json_has_each_process_in_which_a_function_was_cut(
    cut_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    save(cut_profile(), "other.lprof")
    text = shown(capsys, "--json", cut_file, "other.lprof")
    functions = json.loads(text)["functions"]
    cuts = {one["name"]: one.get("cuts") for one in functions}
    one = {
        "from_ns": 0,
        "until_ns": 30_000_000,
        "lines_until_ns": None,
        "of_ns": 4_100_000_000,
    }
    assert cuts["main"] == [{"process": 0, **one}, {"process": 1, **one}]
    assert cuts["work"] is None


def test_added_files_say_in_how_many_processes_it_was_switched_off(
    cut_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    later, whole = cut_profile(), example()
    later.cuts = (Cut(function=MAIN, process=0, until_ns=2_000_000_000),)
    save(later, "later.lprof")
    save(whole, "whole.lprof")
    text = shown(capsys, "--functions", cut_file, "later.lprof", "whole.lprof")
    assert "(main)  (counted until 0.03 s of 4.10 s, in 2 of 3 processes)" in text
    assert (
        "(Model.forward)  (counted until 0.03 s of 4.10 s, in 1 of 3 processes)" in text
    )


def test_a_function_that_was_counted_late_is_marked(
    cut_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    stats = cut_profile()
    stats.cuts = (
        Cut(function=MAIN, process=0, from_ns=500_000_000, until_ns=None),
        Cut(function=FORWARD, process=0, from_ns=500_000_000, until_ns=2_000_000_000),
    )
    save(stats, cut_file)
    assert load(cut_file).cuts == stats.cuts
    text = shown(capsys, "--functions", cut_file)
    assert "(main)  (counted from 0.50 s of 4.10 s)" in text
    assert "(Model.forward)  (counted from 0.50 s until 2.00 s of 4.10 s)" in text


def test_functions_of_which_later_calls_alone_were_counted_are_marked(
    cut_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    stats = cut_profile()
    lines = {"function": MAIN, "process": 0, "lines_until_ns": 60_000_000}
    stats.cuts = (Cut(**lines, until_ns=None),)  # type: ignore[arg-type]
    save(stats, cut_file)
    assert load(cut_file).cuts == stats.cuts
    text = shown(capsys, "--functions", cut_file)
    assert "(main)  (counted by line until 0.06 s of 4.10 s)" in text
    text = shown(capsys, cut_file)
    assert "later time is on the first line" in text
    assert "without lines after that moment, because of --max-overhead:" in text
    stats.cuts = (Cut(**lines, until_ns=2_000_000_000),)  # type: ignore[arg-type]
    save(stats, cut_file)
    text = shown(capsys, cut_file)
    assert "(counted until 2.00 s by line until 0.06 s of 4.10 s)" in text
    assert "1 function, marked (counted ...), was counted for that part" in text


def test_a_file_of_an_older_version_has_no_end_of_lines(cut_file: str) -> None:
    with contextlib.closing(sqlite3.connect(cut_file)) as base:
        base.execute("ALTER TABLE cuts DROP COLUMN lines_until_ns")
        base.commit()
    assert load(cut_file).cuts == cut_profile().cuts


def test_the_file_keeps_the_times(cut_file: str) -> None:
    assert load(cut_file).cuts == cut_profile().cuts
    save(example(), "whole.lprof")
    assert load("whole.lprof").cuts == ()


def test_a_function_that_was_taken_away_leaves_no_cut(cut_file: str) -> None:
    stats = cut_profile()
    stats.gpu = NO_GPU
    stats.functions = [one for one in stats.functions if one.key != MAIN]
    save(stats, cut_file)
    assert [cut.function for cut in load(cut_file).cuts] == [FORWARD, WEIGHTS]


def test_notes_are_below_the_view_and_in_the_log_file(
    tmp_path: Path, cut_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    stats = example()
    stats.warnings = ("3 events were lost",)
    save(stats, cut_file)
    text = shown(capsys, "--hot", cut_file)
    assert text.endswith("\n\nNote: 3 events were lost\n")
    assert shown(capsys, "--hot", "--log-file", "out.txt", cut_file) == ""
    written = (tmp_path / "out.txt").read_text(encoding="utf-8")
    assert written.endswith("\n\nNote: 3 events were lost\n")


def test_notes_are_wrapped_on_a_terminal() -> None:
    remark = "one two three four five six seven eight nine ten"
    shown = [*with_notes(["x"], [remark], Terminal(width=24))]
    assert shown == [
        "x",
        "",
        "Note: one two three four",
        "  five six seven eight",
        "  nine ten",
    ]
    assert [*with_notes(["x"], [remark], PLAIN)] == ["x", "", f"Note: {remark}"]


def test_of_many_notes_the_first_are_shown(
    cut_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    stats = example()
    stats.warnings = tuple(f"{number} events were lost" for number in range(20))
    save(stats, cut_file)
    lines = shown(capsys, "--hot", cut_file).splitlines()
    assert lines[-9:] == [
        *(f"Note: {number} events were lost" for number in range(8)),
        "Note: 12 more notes are left out; --json has all",
    ]
    assert len(json.loads(shown(capsys, "--hot", "--json", cut_file))["notes"]) == 20
