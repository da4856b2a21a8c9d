"""The command `lineprof`: its output, its messages and its exit statuses."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from as_python import error_line
from example_stats import example

from lineprof.cli.main import COMMANDS, main
from lineprof.line_stats import LineStats
from lineprof.model.records import FunctionStats, SourceFile, ThreadLine
from lineprof.storage import save
from lineprof.version import VERSION

GOLDEN = Path(__file__).parents[1] / "golden"
TABLE = (GOLDEN / "table.txt").read_text(encoding="utf-8")
NOTE = "Note: 3 events were lost\n"


@pytest.mark.parametrize("command", [["view"], []])
def test_the_table_and_its_warnings_are_shown(
    file: str, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    assert main([*command, file]) == 0
    captured = capsys.readouterr()
    assert captured.out == TABLE + NOTE
    assert captured.err == ""


def test_flags_of_line_profiler_and_of_lineprof(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["-zmt", "-u", "auto", "--raw", "--columns=await", file]
    assert main(arguments) == 0
    golden = (GOLDEN / "table_all_options.txt").read_text(encoding="utf-8")
    assert capsys.readouterr().out == f"{golden}\n{NOTE}"
    long = ["--skip-zero", "--summarize", "--sort", "--unit=auto"]
    assert main(["view", file, *long, "--raw", "--columns", "await"]) == 0
    assert capsys.readouterr().out == f"{golden}\n{NOTE}"


def test_json_is_shown(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", "--json", file]) == 0
    golden = (GOLDEN / "profile.json").read_text(encoding="utf-8")
    assert capsys.readouterr().out == golden


def test_several_files_are_merged(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    save(example(), "other.lprof")
    assert main(["view", "--json", file, "other.lprof", file]) == 0
    profile = json.loads(capsys.readouterr().out)
    assert len(profile["processes"]) == 2  # each file counts once
    assert profile["functions"][1]["lines"][0]["hits"] == 2


@pytest.mark.parametrize("flag", ["-V", "--version"])
@pytest.mark.parametrize("command", [["view"], []])
def test_the_version_is_a_bare_number(
    capsys: pytest.CaptureFixture[str], command: list[str], flag: str
) -> None:
    assert main([*command, flag]) == 0
    assert capsys.readouterr().out == f"{VERSION}\n"


@pytest.mark.parametrize("arguments", [[], ["-h"], ["--help"]])
def test_without_arguments_help_is_printed(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert main(arguments) == 0
    text = capsys.readouterr().out
    assert "view" in text
    assert "show one profile" in text


def test_every_flag_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", "--help"]) == 0
    text = capsys.readouterr().out
    flags = "--json --unit --skip-zero --sort --summarize --raw --columns --version"
    assert [flag for flag in flags.split() if flag not in text] == []


@pytest.mark.parametrize(
    ("name", "there"),
    [("train.py.lprof", "train.lprof"), ("other.lprof", "other.py.lprof")],
)
def test_the_other_name_of_a_profile_is_found_and_reported(
    file: str, capsys: pytest.CaptureFixture[str], name: str, there: str
) -> None:
    Path(file).rename(there)
    assert main(["view", name]) == 0
    captured = capsys.readouterr()
    assert captured.out == TABLE + NOTE
    assert captured.err == f"lineprof: there is no {name}; reading {there}\n"


def test_the_name_of_an_existing_file_is_kept(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    save(LineStats({}, 1e-9), "train.py.lprof")
    assert main(["view", "train.py.lprof"]) == 0
    assert "the profile is empty" in capsys.readouterr().err
    assert Path(file).exists()


def test_an_empty_profile_says_why(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    save(LineStats({}, 1e-9), file)
    assert main([file]) == 0
    captured = capsys.readouterr()
    assert captured.out == "Timer unit: 1e-06 s\n\n"
    assert captured.err == (
        "lineprof: the profile is empty: no function was registered;"
        " put @profile above a function or give it to add_function\n"
    )


def test_a_changed_source_is_reported(
    tmp_path: Path, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "a.py"
    script.write_text("def f():\n    new\n")
    name = str(script)
    stats = LineStats.from_functions(
        [FunctionStats(name, "f", 1, (ThreadLine(2, -1, 1, 1),))],
        sources={name: SourceFile(name, "def f():\n    old\n", "")},
    )
    save(stats, file)
    assert main([file]) == 0
    captured = capsys.readouterr()
    assert "old" in captured.out
    assert captured.err == (
        f"lineprof: {name} has changed since it was profiled;"
        " the text shown is that of the profile\n"
    )


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["view"], "lineprof view: the following arguments are required: FILE;"),
        (["view", "-u", "0", "f"], "bad unit '0'; give seconds above 0"),
        (["-u", "ms", "f"], "bad unit 'ms'; give seconds above 0"),
        (["view", "--columns", "x", "f"], "there is no column 'x'; known are: await"),
        (
            ["view", "--frobnicate", "f"],
            "lineprof view: unrecognized arguments: --frobnicate;",
        ),
        (["view", "--json", "-m", "f"], "--json takes no --summarize;"),
        (["view", "--json", "-u1", "f"], "--json takes no --unit;"),
        (["view", "f", "-\x1b\n"], "unrecognized arguments: -\\x1b\\n;"),
    ],
)
def test_invalid_flags_are_one_line_and_status_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], line: str
) -> None:
    text = error_line(capsys, 2, *arguments)
    assert line in text
    assert "--help" in text


def test_files_that_cannot_be_read_are_one_line_and_status_1(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("text.py").write_text("x = 1\n")
    assert "no.lprof does not exist; check the name" in error_line(
        capsys, 1, "no.lprof"
    )
    assert "no\\n does not exist" in error_line(capsys, 1, "view", "no\n")
    assert "text.py is not a profile" in error_line(capsys, 1, "view", file, "text.py")
    assert "it is a folder" in error_line(capsys, 1, "view", ".")


def test_a_command_imports_nothing_of_the_others() -> None:
    code = (
        "import sys; from lineprof.cli.main import main; main(['view', '--help']);"
        "print('loaded', *sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    loaded = {*done.stdout.rpartition("loaded ")[2].split()}
    others = {f"lineprof.cli.{name}" for name in COMMANDS} - {"lineprof.cli.view"}
    assert not loaded & {*others, "lineprof.attach", "lineprof.server", "sqlite3"}


def test_standard_output_may_be_replaced_by_another_stream(
    file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    assert main([file]) == 0
    monkeypatch.undo()
    assert stream.getvalue() == TABLE + NOTE


def test_raw_times_include_the_cost_of_profiling(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    stats = example()
    stats.functions = tuple(
        function._replace(recursive_ns=None) for function in stats.functions
    )
    save(stats, file)
    assert main(["--raw", "-u1e-9", file]) == 0
    assert "Total time: 9 s" in capsys.readouterr().out
