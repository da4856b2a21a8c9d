"""Words that a newcomer types: an error names the command that shows what is meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from as_python import error_line, write
from test_run_command import lineprof_run

from lineprof.cli.main import main
from lineprof.export import EXPORTS


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["hot"], "for the view of this name: lineprof view --hot FILE"),
        (["view", "tree"], "lineprof view --tree FILE"),
        (["html"], "lineprof view --html FILE"),
        (["json"], "lineprof view --json FILE"),
        (["functions"], "lineprof view --functions FILE"),
        (["gpu-idle"], "lineprof view --gpu-idle FILE"),
        (["flamegraph"], "lineprof export -f svg FILE draws a flame graph"),
        (["report"], "lineprof view FILE shows the profile"),
        (["text"], "lineprof view FILE shows the profile"),
        (["frobnicate"], "lineprof view --functions lists all"),
    ],
)
def test_a_word_that_is_no_function_names_its_command(
    file: str, capsys: pytest.CaptureFixture[str], words: list[str], hint: str
) -> None:
    line = error_line(capsys, 1, *words, file)
    assert f"the profile has no function {words[-1]!r}; " in line
    assert hint in line


def test_a_function_of_such_a_name_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, "x.py", "@profile\ndef hot():\n    return 1\nhot()\n")
    assert lineprof_run("-lq", "x.py", cwd=tmp_path).status == 0
    assert main(["hot", str(tmp_path / "x.lprof")]) == 0
    assert "Function: hot at line 1" in capsys.readouterr().out


def test_a_word_near_a_function_names_both(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, "x.py", "@profile\ndef flames():\n    return 1\nflames()\n")
    assert lineprof_run("-lq", "x.py", cwd=tmp_path).status == 0
    line = error_line(capsys, 1, "flame", str(tmp_path / "x.lprof"))
    assert "did you mean x.py::flames? lineprof export -f svg FILE draws" in line


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--top", "5"], "--top is no flag; --hot N shows the hottest lines;"),
        (["--to=5"], "--to is no flag; --hot N shows the hottest lines;"),
        (["--graph"], "--graph is no flag; --tree shows the calls;"),
    ],
)
def test_the_first_word_of_a_flag_that_means_something_else_is_refused(
    file: str, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    line = error_line(capsys, 2, "view", *words, file)
    assert message in line
    assert "is another flag, to be named in full" in line


@pytest.mark.parametrize("flag", ["--top-k=2", "--skip", "--su", "--function"])
def test_other_abbreviations_work(
    file: str, capsys: pytest.CaptureFixture[str], flag: str
) -> None:
    assert main(["view", flag, file]) == 0
    assert capsys.readouterr().out


@pytest.mark.parametrize(
    ("order", "ours"), [("own", "self"), ("cumtime", "cumulative"), ("ncalls", "calls")]
)
def test_an_order_of_another_profiler_is_refused_with_ours(
    file: str, capsys: pytest.CaptureFixture[str], order: str, ours: str
) -> None:
    line = error_line(capsys, 2, "view", "--sort", order, file)
    assert f"there is no order {order!r}; try --functions --sort {ours};" in line
    assert main(["view", "--functions", "--sort", ours, file]) == 0


def test_a_file_may_have_the_name_of_an_order(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(file).rename("own")
    assert main(["view", "--sort", "own"]) == 0
    assert capsys.readouterr().out


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_takes_its_format_from_the_name_of_its_file(
    file: str, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    suffix = EXPORTS[name].suffix
    assert main(["export", file, "-o", f"named{suffix}"]) == 0
    assert main(["export", file, "-f", name, "-o", "chosen"]) == 0
    capsys.readouterr()
    if name != "sqlite":  # whose pages have counters of changes
        assert Path(f"named{suffix}").read_bytes() == Path("chosen").read_bytes()


def test_an_export_without_a_format_lists_the_formats(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    formats = ", ".join(EXPORTS)
    line = error_line(capsys, 2, "export", file)
    assert f"no format is named; give -f with one of {formats};" in line
    line = error_line(capsys, 2, "export", file, "-o", "y.nope")
    assert f"no format has files called y.nope; give -f with one of {formats};" in line
    line = error_line(capsys, 2, "export", file, "-o", "y.html")
    assert "lineprof view --html FILE writes one" in line
    assert main(["export", file, "-o", "y.folded"]) == 0


def test_run_without_l_says_what_it_did(tmp_path: Path) -> None:
    write(tmp_path, "x.py", "print(1)\n")
    outcome = lineprof_run("x.py", "-v", cwd=tmp_path)
    assert outcome.status == 0
    assert outcome.out.endswith(
        "cProfile timed every call. To time every line: lineprof run -l x.py -v\n"
    )
    assert "cProfile" not in lineprof_run("-l", "x.py", cwd=tmp_path).out
    assert "cProfile" not in lineprof_run("-q", "x.py", cwd=tmp_path).out
