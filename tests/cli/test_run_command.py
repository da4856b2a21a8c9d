"""`lineprof run`: kernprof under lineprof's own name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from as_python import kernprof, run, write

from lineprof import load_stats

if TYPE_CHECKING:
    from pathlib import Path

    from as_python import Outcome

PROGRAM = """
import sys
@profile
def double(x):
    return 2 * x

print(double(2), sys.argv, sys.path, __name__, __file__, vars().keys())
if sys.argv[1:]:
    exec(sys.argv[1])
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, "x.py", PROGRAM)
    return tmp_path


def lineprof_run(*words: str, cwd: Path, **options: object) -> Outcome:
    """Return the outcome of `python -m lineprof run`."""
    command = ["-m", "lineprof", "run", *words]
    return run(command, cwd=cwd, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "words",
    [
        ["-lq", "x.py"],
        ["-lq", "x.py", "a", "-l", "run"],
        ["-lq", "-m", "x"],
        ["-lqo", "x.lprof", "-c", PROGRAM.replace("__file__", "0")],
        ["-lqo", "x.lprof", "-"],
        ["-lq", "x.py", "raise SystemExit(7)"],
        ["-lq", "x.py", "1 / 0"],
        ["-lq", "x.py", "raise KeyboardInterrupt"],
        ["-lqqq", "x.py"],
        ["-bq", "x.py"],
    ],
    ids=" ".join,
)
def test_lineprof_run_does_the_same_as_kernprof(folder: Path, words: list[str]) -> None:
    name = "x.prof" if words[0] == "-bq" else "x.lprof"
    theirs = kernprof(*words, cwd=folder, text=PROGRAM)
    (folder / name).unlink()
    ours = lineprof_run(*words, cwd=folder, text=PROGRAM)
    assert ours == theirs
    if name == "x.lprof":
        [function] = load_stats(folder / name).functions
        assert [row.hits for row in function.rows if row.hits] == [1]


def test_lineprof_run_prints_the_command_that_shows_the_profile(folder: Path) -> None:
    ours = lineprof_run("-l", "x.py", cwd=folder)
    assert ours == kernprof("-l", "x.py", cwd=folder)
    assert "\nInspect results with:\n" in ours.out


def test_lineprof_run_has_its_own_name_in_messages(folder: Path) -> None:
    assert lineprof_run("-h", cwd=folder).out == kernprof("-h", cwd=folder).out.replace(
        "usage: kernprof", "usage: lineprof run"
    )
    assert lineprof_run("-V", cwd=folder) == kernprof("-V", cwd=folder)
    for words, line in (
        ([], "lineprof run: no program to run was given; usage: lineprof run [flags]"),
        (["-k"], "lineprof run: unknown flag -k; lineprof run --help lists all flags"),
        (["no.py"], "lineprof run: cannot find script 'no.py'"),
    ):
        outcome = lineprof_run(*words, cwd=folder)
        assert (outcome.status, outcome.out) == (2, "")
        assert outcome.err.startswith(line)
        assert outcome.err.count("\n") == 1


def test_the_help_of_lineprof_lists_run(folder: Path) -> None:
    text = run(["-m", "lineprof"], cwd=folder).out
    assert "\n    run " in text


def test_a_program_begins_without_the_viewers_imports(folder: Path) -> None:
    show = "import sys; print(*sys.modules, 'argparse' in sys.modules)"
    write(folder, "x.py", show)
    theirs = kernprof("-lq", "x.py", cwd=folder).out.split()
    ours = lineprof_run("-lq", "x.py", cwd=folder).out.split()
    more = {name.rpartition(".")[0] for name in {*ours} - {*theirs}}
    assert more <= {"kernprof", "lineprof", "lineprof.cli"}
    assert ours[-1] == "False"


def test_a_program_imports_its_own_modules(folder: Path) -> None:
    for name in ("argparse", "signal", "commands", "run"):
        write(folder, f"{name}.py", f"print('my {name}')")
    write(folder, "x.py", "import argparse, signal, commands, run")
    plain = run(["x.py"], cwd=folder)
    assert lineprof_run("-lq", "x.py", cwd=folder) == plain
    assert lineprof_run("-lq", "-m", "x", cwd=folder) == run(["-m", "x"], cwd=folder)


@pytest.mark.parametrize("name", ["kernprof.py", "kernprof/__init__.py"])
def test_the_kernprof_of_another_package_is_refused(folder: Path, name: str) -> None:
    write(folder, name, "")
    outcome = lineprof_run("-l", "x.py", cwd=folder)
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err == (
        f"lineprof run: cannot run: {folder}/{name} is not lineprof's; uninstall"
        " line_profiler, then install lineprof again\n"
    )


def test_lineprof_run_called_by_a_program(folder: Path) -> None:
    program = "from lineprof.cli.main import main; main(['run', '-lq', 'x.py'])"
    outcome = run(["-c", program], cwd=folder)
    assert (outcome.status, outcome.err) == (0, "")
    assert (folder / "x.lprof").exists()
