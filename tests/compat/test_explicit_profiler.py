"""Output and files of ``from lineprof import profile`` at the end of a program."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from as_python import Outcome, run, write
from deadline import DEADLINE

from lineprof.line_stats import LineStats

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """\
from lineprof import profile
@profile
def f():
    return 1
f()
"""
ON = {"LINE_PROFILE": "1"}


def ended(folder: Path, more: str = "", start: str = PROGRAM) -> Outcome:
    """Run a profiled program that continues with `more`, in `folder`."""
    write(folder, "x.py", start + more)
    return run(["x.py"], cwd=folder, env=ON)


def hits(folder: Path, name: str = "profile_output.lprof") -> int:
    """Return the hits of the one line of f."""
    (lines,) = LineStats.from_files(folder / name).timings.values()
    return sum(count for _, count, _ in lines)


def test_the_files_have_the_names_that_are_printed(tmp_path: Path) -> None:
    outcome = ended(tmp_path)
    assert (outcome.status, outcome.err) == (0, "")
    written = [
        line.removeprefix("Wrote profile results to ")
        for line in outcome.out.splitlines()
        if line.startswith("Wrote")
    ]
    assert sorted(written) == sorted(path.name for path in tmp_path.glob("profile_*"))
    assert len(written) == 3
    assert hits(tmp_path) == 1


@pytest.mark.parametrize("given", ["{folder}/out", "./out", "sub/../out"])
def test_a_prefix_is_printed_as_given(tmp_path: Path, given: str) -> None:
    (tmp_path / "sub").mkdir()
    prefix = given.format(folder=tmp_path)
    outcome = ended(tmp_path, f"profile.output_prefix = {prefix!r}\n")
    assert f"Wrote profile results to {prefix}.lprof\n" in outcome.out
    assert outcome.out.endswith(f" -m lineprof -rtmz {prefix}.lprof\n")
    assert hits(tmp_path, "out.lprof") == 1


def test_the_printed_command_works_in_a_shell(tmp_path: Path) -> None:
    outcome = ended(tmp_path, "profile.output_prefix = 'a b'\n")
    command = outcome.out.splitlines()[-1]
    shown = subprocess.run(  # noqa: S602  # as a user would type it
        command,
        shell=True,
        cwd=tmp_path,
        env={**os.environ, "PATH": "/nowhere"},
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "Function: f at line 2" in shown.stdout


def test_a_prefix_may_be_a_path(tmp_path: Path) -> None:
    more = "import pathlib\nprofile.enable(output_prefix=pathlib.Path('out'))\n"
    outcome = ended(tmp_path, more)
    assert (outcome.status, outcome.err) == (0, "")
    assert hits(tmp_path, "out.lprof") == 1


@pytest.mark.parametrize(
    "end",
    ["sys.stdout.close()", "sys.stdout = None", "os.close(1)", "sys.stdout = object()"],
)
def test_a_closed_standard_output_loses_no_file(tmp_path: Path, end: str) -> None:
    outcome = ended(tmp_path, f"import os, sys\n{end}\n")
    assert "lineprof" not in outcome.err
    assert hits(tmp_path) == 1
    assert len(list(tmp_path.glob("*.txt"))) == 2


def test_a_closed_pipe_loses_no_file_and_changes_no_status(
    tmp_path: Path,
) -> None:
    write(tmp_path, "x.py", PROGRAM + "import os\nos.read(0, 1)\n")
    process = subprocess.Popen(
        [sys.executable, "x.py"],
        cwd=tmp_path,
        env={**os.environ, **ON},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate(b"x", timeout=DEADLINE)
    assert (process.returncode, err) == (0, b"")
    assert hits(tmp_path) == 1


@pytest.mark.parametrize("first", ["", "profile.enable()\n"])
def test_a_deleted_folder_gives_an_error_of_one_line_for_each_file(
    tmp_path: Path, first: str
) -> None:
    begin, rest = PROGRAM.split("\n", 1)
    gone = "import os\nos.mkdir('gone')\nos.chdir('gone')\nos.rmdir('../gone')\n"
    outcome = ended(tmp_path, start=f"{begin}\n{gone}{first}{rest}")
    assert outcome.status == 0
    assert "x.py:7 - f" in outcome.out or "x.py:6 - f" in outcome.out
    lines = outcome.err.splitlines()
    assert len(lines) == 3
    assert all(line.startswith("lineprof: profile_output") for line in lines)


def test_a_file_that_cannot_be_written_is_reported_once(tmp_path: Path) -> None:
    outcome = ended(tmp_path, "profile.output_prefix = 'nowhere/x'\n")
    assert outcome.status == 0
    first, *_ = lines = outcome.err.splitlines()
    assert len(lines) == 3
    assert first == "lineprof: nowhere/x.txt: not written: No such file or directory"


def test_a_program_that_changes_folder_writes_its_files_to_the_first_one(
    tmp_path: Path,
) -> None:
    (tmp_path / "sub").mkdir()
    outcome = ended(tmp_path, "import os\nos.chdir('sub')\n")
    assert (outcome.status, outcome.err) == (0, "")
    assert list((tmp_path / "sub").iterdir()) == []
    assert f"Wrote profile results to {tmp_path}/profile_output.lprof\n" in outcome.out
    assert hits(tmp_path) == 1


def test_show_writes_to_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    ended(tmp_path, "import os\nos.chdir('sub')\nprofile.show()\n")
    assert hits(tmp_path / "sub") == hits(tmp_path) == 1


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("del sys.argv", []),
        ("sys.argv = None", []),
        ("sys.argv = [{}, 1]", []),
        ("sys.argv = [{}, '--line-profile']", ["profile_output.lprof"]),
    ],
)
def test_a_program_may_put_anything_into_its_command_line(
    tmp_path: Path, change: str, found: list[str]
) -> None:
    write(tmp_path, "x.py", f"import sys\n{change}\n{PROGRAM}print(f())\n")
    outcome = run(["x.py"], cwd=tmp_path)
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.startswith("1\n")
    assert [path.name for path in tmp_path.glob("*.lprof")] == found
