"""`lineprof view --functions`: calls and times like those of cProfile."""

from __future__ import annotations

from pathlib import Path

import pytest
from example_calls import INIT, example
from example_stats import example as without_calls
from view_text import lines_of, rows_below

from lineprof.cli.main import main
from lineprof.console.terminal import Terminal
from lineprof.line_stats import LineStats
from lineprof.model.names import ShortNames
from lineprof.model.records import FunctionStats
from lineprof.report import VIEWS
from lineprof.report.options import Options
from lineprof.storage import save

pytestmark = pytest.mark.once  # text of fixed profiles

ODD = "%\udcff)"  # the last word of an unusual name


def names(**options: object) -> list[str]:
    """Return the names of functions in the order of the view."""
    rows = rows_below(lines_of(example(), "functions", **options), "Calls")
    return [row[-1] for row in rows]


def test_each_function_has_its_calls_and_times() -> None:
    lines = lines_of(example(), "functions", sort_by="file")
    assert (
        lines[0] == "77 calls (35 of them primitive) of 15 functions: 7.826 ms in all"
    )
    title = "Calls Self (us) Per Call Cumulative (us) Per Call GPU (us) Function"
    assert " ".join(lines[2].split()) == title
    rows = {row[-1]: " ".join(row[:-1]) for row in rows_below(lines, "Calls")}
    assert rows["solve.py:1(fib)"] == "32/4 33.450 1.045 us 33.450 8.363 us"
    assert rows["main.py:6(main)"] == "1 1675.329 1.675 ms 6242.436 6.242 ms 600.000"
    assert rows["{builtins.len}"] == "1 0.060 60.00 ns 0.060 60.00 ns"
    assert rows["main.py:25(never)"] == "0 0.000 0.000"


def test_self_times_add_up_to_the_total() -> None:
    rows = rows_below(lines_of(example(), "functions"), "Calls")
    assert sum(round(1000 * float(row[1])) for row in rows) == 7_826_348


@pytest.mark.parametrize(
    ("order", "first", "last"),
    [
        ("calls", "solve.py:1(fib)", "main.py:25(never)"),
        ("ncalls", "solve.py:1(fib)", "main.py:25(never)"),
        ("primitive", "model.py:12(Model.forward)", "main.py:25(never)"),
        ("tottime", ODD, "main.py:25(never)"),
        ("cumulative", "main.py:1(module)", "main.py:25(never)"),
        ("", "main.py:1(module)", "main.py:25(never)"),
        ("percall", "main.py:1(module)", "main.py:25(never)"),
        ("gpu", "model.py:12(Model.forward)", "{builtins.len}"),
        ("name", "main.py:1(module)", "main.py:17(work)"),
        ("file", "{builtins.len}", ODD),
    ],
)
def test_functions_are_sorted_by_the_given_order(
    order: str, first: str, last: str
) -> None:
    shown = names(sort_by=order)
    assert (shown[0], shown[-1]) == (first, last)


def test_functions_never_called_can_be_left_out() -> None:
    assert "main.py:25(never)" not in names(skip_zero=True)
    assert len(names(skip_zero=True)) == 14


def test_a_profile_of_line_profiler_has_no_number_of_calls(
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = Path(__file__).parents[1] / "golden" / "line_profiler" / "demo-5.1.0.lprof"
    assert main(["view", "--functions", str(file)]) == 0
    first, _, title, row, *_ = capsys.readouterr().out.splitlines()
    assert first.endswith(" functions")
    assert "call" not in first
    assert title.startswith("Calls  ")
    assert row.startswith("       ")


def test_a_limit_has_a_line_on_functions_left_out() -> None:
    lines = lines_of(example(), "functions", limit=3)
    assert len(rows_below(lines, "Calls")) == 3
    assert lines[-1] == "12 more are not shown"
    assert lines_of(example(), "functions", limit=14)[-1] == "1 more is not shown"


def test_a_profile_without_calls_is_shown_with_one_note() -> None:
    stats = without_calls()
    lines = lines_of(stats, "functions", sort_by="file")
    assert lines[0] == "1,234,567,895 calls of 5 functions"
    assert [row[0] for row in rows_below(lines, "Calls")] == [
        *("2", "1", "2", "1234567890", "0")
    ]
    notes = list(VIEWS["functions"].notes(stats, Options()))
    assert len(notes) == 1
    assert notes[0].startswith("the profile does not say who called whom")
    assert list(VIEWS["functions"].notes(example(), Options())) == []


def test_files_of_one_name_are_shown_with_their_folders() -> None:
    files = ("/a/x/m.py", "/b/x/m.py", "/b/n.py", "/a/pkg/__init__.py", "m.py")
    short = ShortNames(files)
    assert [short.file(file) for file in files] == [
        *("a/x/m.py", "b/x/m.py", "n.py", "pkg/__init__.py", "m.py")
    ]
    assert short.function(INIT) == "/p/model.py:5(Model.__init__)"


def test_a_narrow_terminal_still_shows_the_names_of_functions() -> None:
    folder = "/".join(["deep"] * 40)
    stats = LineStats.from_functions([FunctionStats(f"{folder}/m.py", "fit", 3, ())])
    line = lines_of(stats, "functions", terminal=Terminal(is_terminal=True, width=90))[
        -1
    ]
    assert line.endswith("  m.py:3(fit)")


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Write the example to a folder, and change to the folder."""
    monkeypatch.delenv("LINE_PROFILER_RC", raising=False)
    monkeypatch.chdir(tmp_path)
    save(example(), "main.lprof")
    return "main.lprof"


def shown(capsys: pytest.CaptureFixture[str], line: str, status: int = 0) -> str:
    """Return the output of a command, on both streams."""
    assert main(["view", *line.split(" "), "main.lprof"]) == status
    return "".join(capsys.readouterr())


@pytest.mark.usefixtures("file")
@pytest.mark.parametrize(
    "line",
    [
        "--functions --sort calls",
        "--functions --sort=ncalls",
        "--sort-by calls --functions",
        "--func --so=calls --log-file x.txt",
    ],
)
def test_the_order_can_be_given_as_for_cprofile(
    capsys: pytest.CaptureFixture[str], line: str
) -> None:
    text = shown(capsys, line)
    if "x.txt" in line:
        text = Path("x.txt").read_text(encoding="utf-8")
    assert rows_below(text.splitlines(), "Calls")[0][0] == "32/4"


@pytest.mark.usefixtures("file")
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--functions --sort", "--sort of --functions needs an order: calls, ncalls"),
        ("--functions --sort=x", "argument --sort-by: there is no order 'x'; known"),
        ("--functions --sort hits", "--functions has no order 'hits'; known are: ca"),
        ("--sort calls", "the table has no order 'calls'; known are: gpu, time, hits"),
        ("--functions -u 1", "--functions takes no --unit"),
        ("--depth 3", "--depth goes with --tree or --drill"),
        ("--functions --limit 0", "argument --limit: bad number '0'; give one"),
        ("--hot --limit 12345678901", "argument --limit: bad number '12345678901'"),
        ("--tree --min-percent x", "argument --min-percent: bad percentage 'x'"),
    ],
)
def test_wrong_flags_give_an_error_of_one_line(
    capsys: pytest.CaptureFixture[str], line: str, message: str
) -> None:
    text = shown(capsys, line, status=2)
    assert text.startswith(f"lineprof view: {message}")
    assert text.count("\n") == 1


@pytest.mark.usefixtures("file")
def test_an_order_in_the_configuration_is_for_views_that_have_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("lineprof.toml").write_text("[tool.lineprof.cli]\nsort_by = 'hits'\n")
    assert rows_below(shown(capsys, "--functions").splitlines(), "Calls")
    assert "Function: fib" in shown(capsys, "-z")


def test_an_empty_profile_has_no_note_about_calls() -> None:
    empty = LineStats.from_functions([])
    assert list(VIEWS["functions"].notes(empty, Options())) == []
