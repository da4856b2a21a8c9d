"""Flags of `lineprof view`: every form that line_profiler's viewer takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from example_stats import example

from lineprof.cli.main import main
from lineprof.cli.view import expand_flags
from lineprof.errors import LineprofError
from lineprof.storage import save

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Write the example profile and go to its folder."""
    monkeypatch.delenv("LINE_PROFILER_RC", raising=False)
    monkeypatch.chdir(tmp_path)
    save(example(), "train.lprof")
    return "train.lprof"


def shown(capsys: pytest.CaptureFixture[str], line: str) -> str:
    """Return the view; `line` has no file unless it names train.lprof."""
    words = line.split(" ") if line else []
    if "train.lprof" not in words:
        words.append("train.lprof")
    assert main(words) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "same"),
    [
        ("-zmt", "-z -m -t"),
        ("-rmtz", "--rich --summarize --sort --skip-zero"),
        ("--skip-zero", "-z"),
        ("--skip-zero=yes", "-z"),
        ("--skip-zero on", "-z"),
        ("--skip-zero train.lprof", "-z"),
        ("train.lprof --skip-zero", "-z"),
        ("--skip-zero=no", ""),
        ("--skip-zero 0 train.lprof", ""),
        ("--skip-zero=", ""),
        ("-z --no-skip-zero", ""),
        ("-z --no-skip-zero=no", "-z"),
        ("--no-skip-zero N", "-z"),
        ("--skip", "-z"),
        ("--summ=T --sort F", "-m"),
        ("--no-summarize --no-sort --no-rich", ""),
        ("--raw=y", "--raw"),
        ("--no-raw", ""),
        ("-u1", "-u 1"),
        ("--u=1", "-u 1"),
        ("--unit 1", "-u 1"),
        ("--no-config", ""),
        ("view --no-config -z -m", "-zm"),
        ("-c empty.toml", ""),
        ("-zcempty.toml", "-z"),
        ("--config empty.toml -m", "-m"),
        ("--c=empty.toml", ""),
        ("--c no.toml --no-config", ""),
        ("--no-config --config empty.toml", ""),
        ("-- train.lprof", ""),
    ],
)
def test_a_flag_in_each_of_its_forms(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, same: str
) -> None:
    (tmp_path / "empty.toml").write_text("")
    assert shown(capsys, line) == shown(capsys, same)


def test_each_flag_changes_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    tables = [shown(capsys, line) for line in ("", "-z", "-m", "-t", "-u 1", "--raw")]
    assert len(set(tables)) == len(tables)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--rich=maybe", "lineprof view: --rich takes yes or no, not 'maybe'; see"),
        (
            "--no-sort=f.lprof",
            "lineprof view: --no-sort takes yes or no, not 'f.lprof'",
        ),
        ("--json --no-summarize", "lineprof view: --json takes no --summarize; see"),
        ("--s", "lineprof view: ambiguous option: --s could match --"),
        ("-c", "lineprof view: argument -c/--config: expected one argument; see"),
    ],
)
def test_invalid_flags_are_one_line(
    capsys: pytest.CaptureFixture[str], line: str, message: str
) -> None:
    words = line.split(" ")
    given = words if words[-1] == "-c" else [*words, "train.lprof"]
    assert main(["view", *given]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(message)
    assert captured.err.count("\n") == 1


def test_arguments_after_two_dashes_are_files() -> None:
    assert expand_flags(["--a", "--", "--a=no", "yes"], ["--a"], []) == [
        *("--a", "--", "--a=no", "yes")
    ]
    assert expand_flags(["-x", "--b=no", "--a", "x"], ["--a"], ["--b"]) == [
        *("-x", "--b=no", "--a", "x")
    ]
    with pytest.raises(LineprofError):
        expand_flags(["--no-a=?"], ["--a"], [])
