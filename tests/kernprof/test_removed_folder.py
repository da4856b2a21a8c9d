"""A current folder that was removed before the command starts."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest
from as_python import Outcome, hits_in, kernprof, run, write

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROGRAM = """
import builtins, sys
decorate = getattr(builtins, "profile", lambda f: f)
@decorate
def f():
    return 1
f()
print(__file__, sys.argv, sys.path[0])
"""

needs_linux = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="names such as ../x.py work on Linux"
)


@pytest.fixture
def gone(tmp_path: Path) -> Iterator[Path]:
    """Remove the current folder, and return the path of a profile elsewhere."""
    write(tmp_path, "x.py", PROGRAM)
    write(tmp_path, "package/__main__.py", PROGRAM)
    (tmp_path / "gone").mkdir()
    before = os.open(".", os.O_RDONLY)
    os.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    yield tmp_path / "x.lprof"
    os.fchdir(before)
    os.close(before)


def flags(gone: Path, mode: str = "-lq") -> list[str]:
    return [mode, "-o", str(gone)]


@needs_linux
@pytest.mark.parametrize(
    "mode", ["-lq", "-q", "-bq", "-lqi1", "-lqp../x.py", "-lqs../y.py"]
)
def test_a_script_runs_as_under_python(gone: Path, mode: str) -> None:
    (gone.parent / "y.py").write_text("")
    plain = run(["../x.py"], cwd=None)
    assert (plain.status, plain.out) == (0, "../x.py ['../x.py'] ..\n")
    assert kernprof(*flags(gone, mode), "../x.py", cwd=None) == plain
    assert gone.exists()
    if "l" in mode:
        assert hits_in(gone) == {"f": {6: 1}}


def test_a_script_is_profiled_as_a_whole(gone: Path) -> None:
    script = str(gone.parent / "x.py")
    write(gone.parent, "x.py", "def f():\n    return 1\nf()\nprint('ran')\n")
    outcome = kernprof(*flags(gone, "-lv"), script, cwd=None)
    assert (outcome.status, outcome.out[:4]) == (0, "ran\n")
    assert hits_in(gone)["f"] == {2: 1}


def test_programs_of_other_kinds_run_as_under_python(gone: Path) -> None:
    code = "import sys; print(sys.argv, sys.path)"
    path = {"PYTHONPATH": str(gone.parent)}
    for words in (["-c", code], ["-m", "x"], ["-m", "package"]):
        plain = run(words, cwd=None, env=path)
        assert kernprof(*flags(gone), *words, cwd=None, env=path) == plain


@needs_linux
@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["../x.py"], "x.lprof"),
        (["-m", "x"], "x.lprof"),
        (["-o", "../y.lprof", "../x.py"], "../y.lprof"),
    ],
)
def test_a_profile_without_a_place_is_an_error_of_one_line(
    gone: Path, words: list[str], name: str
) -> None:
    env = {"PYTHONPATH": str(gone.parent)}
    assert kernprof("-l", *words, cwd=None, env=env) == Outcome(
        2,
        "",
        f"kernprof: cannot write the profile to {name!r}: the current folder was"
        " removed; choose another with -o\n",
    )


@needs_linux
def test_errors_of_one_line(gone: Path) -> None:
    outcome = kernprof(*flags(gone), "../package", cwd=None)
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err == (
        "kernprof: cannot run folder '../package': the current folder was removed;"
        " give its full path\n"
    )
    kernprof(*flags(gone), "../x.py", cwd=None)
    viewed = run(["-m", "lineprof", "../x.lprof"], cwd=None)
    assert (viewed.status, viewed.out) == (1, "")
    assert viewed.err.count("\n") == 1
    assert "the current folder was removed" in viewed.err
    for config in ("../x.toml", "x.toml"):
        outcome = kernprof(*flags(gone), "--config", config, "../x.py", cwd=None)
        assert (outcome.status, outcome.err.count("\n")) == (2, 1)
