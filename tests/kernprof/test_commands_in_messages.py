"""Commands that messages name: they work as they are printed, in a shell."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from as_python import kernprof_forked, run, viewer, write

from lineprof.console import output

pytestmark = pytest.mark.once  # shells split words, whatever runs them
BASH = shutil.which("bash")
NAMES = [
    *("-x.py", "--hot.py", "a b.py", "it's.py", 'q"x.py', "$HOME`x`.py", "[a]*?.py"),
    *("new\nline.py", "tab\tx.py", "back\\x.py", "~.py", "#x.py"),
]
PYTHONS = {
    sys.executable,
    *(
        shutil.which(name, path=Path(sys.executable).parent)
        for name in ("python", "python3")
    ),
}
DECORATED = "@profile\ndef work():\n    return 1\nwork()\n"
# Functions of one name, so that a function is named with its file.
WHOLE = """\
def work(n):
    return one(n) + two(n) + three() + four() + five()
def one(n):
    return n
def two(n):
    return n
def three():
    return 3
def four():
    return 4
def five():
    return 5
class Box:
    def work(self):
        return 1
Box().work()
work(1)
"""


def words_of(command: str, folder: Path) -> list[str]:
    """Return the words of a command of python or kernprof, as a shell reads them.

    In place of that program, the shell finds a script that prints them.
    """
    assert BASH
    name = command.partition(" ")[0]
    assert name == "kernprof" or shutil.which(name) in PYTHONS
    place = folder.with_name("shell")
    place.mkdir(exist_ok=True)
    python = place / Path(name).name
    python.write_text("#!/bin/sh\nprintf '%s\\0' \"$@\"\n")
    python.chmod(0o755)
    done = subprocess.run(
        [BASH, "-c", f"{python.name}{command[len(name) :]}"],
        cwd=folder,
        env={**os.environ, "PATH": f"{place}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), command
    return [name, *done.stdout.split("\0")[:-1]]


def typed(command: str, folder: Path) -> str:
    """Return what a command prints that a user copies into a shell."""
    name, *words = words_of(command, folder)
    if name == "kernprof":
        done = kernprof_forked(*words, cwd=folder)
    elif words[:2] == ["-m", "lineprof"]:
        done = viewer(*words[2:], cwd=folder)
    else:
        done = run(words, cwd=folder)
    assert done.status == 0, f"{command}: {done.err}"
    return done.out


def run_in_shell(command: str, folder: Path) -> str:
    """Return what a command prints in a shell that finds the programs themselves."""
    assert BASH
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [BASH, "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": path},
        input="",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


@pytest.fixture(autouse=True)
def _has_bash() -> None:
    if BASH is None:
        pytest.skip("bash is not installed")


@pytest.mark.parametrize("name", NAMES)
def test_the_command_that_shows_a_profile(tmp_path: Path, name: str) -> None:
    write(tmp_path, name, DECORATED)
    for flag, shown in (("-l", "Function: work at line 1"), ("-b", "Welcome")):
        said = kernprof_forked(flag, "--", name, cwd=tmp_path).out.splitlines()
        assert said[-2] == "Inspect results with:"
        assert shown in typed(said[-1], tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_the_commands_to_try_next(tmp_path: Path, name: str) -> None:
    write(tmp_path, name, WHOLE)
    said = kernprof_forked("-l", "--", name, cwd=tmp_path).out.splitlines()
    commands = [
        line.partition(": ")[2] for line in said if " -m lineprof view --" in line
    ]
    assert len(commands) == 2
    for command in commands:
        assert "Line Contents" in typed(command, tmp_path)


def test_a_function_is_named_with_a_file_that_looks_like_a_flag(
    tmp_path: Path,
) -> None:
    other = "def work():\n    return 1\ndef a(): pass\ndef b(): pass\ndef c(): pass\n"
    write(tmp_path, "other.py", other + "work(), a(), b(), c()\n")
    program = "import other\ndef work():\n    return sum(range(10**7))\nwork()\n"
    write(tmp_path, "-x.py", program)
    said = kernprof_forked("-l", "--", "-x.py", cwd=tmp_path).out.splitlines()[-1]
    assert "--drill ./-x.py:work ./-x.lprof" in said
    assert "return sum(" in typed(said.partition(": ")[2], tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_the_command_that_defines_profile(tmp_path: Path, name: str) -> None:
    write(tmp_path, name, DECORATED + "import sys\nprint(sys.argv[1:])\n")
    for words in (["--", name, "a b", "-c"], ["-m", Path(name).stem, "--", "*"]):
        if words[0] == "-m" and not Path(name).stem.isidentifier():
            continue
        said = kernprof_forked(*words, cwd=tmp_path).err.splitlines()[-1]
        command = said.partition("try: ")[2]
        assert f"{words[2:]}" in typed(command, tmp_path)


def test_the_command_that_defines_profile_for_a_module(tmp_path: Path) -> None:
    write(tmp_path, "mod.py", DECORATED + "import sys\nprint(sys.argv[1:])\n")
    said = kernprof_forked("-m", "mod", "--", "*", cwd=tmp_path).err.splitlines()[-1]
    assert "['--', '*']" in run_in_shell(said.partition("try: ")[2], tmp_path)
    code = "@profile\ndef f(): print('it\\'s')\nf()\n"
    said = kernprof_forked("-c", code, cwd=tmp_path).err.partition("try: ")[2]
    assert "it's\n" in run_in_shell(said, tmp_path)


def test_the_command_that_merges_ranks(tmp_path: Path) -> None:
    write(tmp_path, "-x.py", DECORATED)
    for rank in (1, 0):
        env = {"RANK": f"{rank}", "WORLD_SIZE": "2"}
        said = kernprof_forked(
            "-l", "--", "-x.py", cwd=tmp_path, env=env
        ).out.splitlines()
    [command] = [line for line in said if " -m lineprof merge " in line]
    typed(command, tmp_path)
    [merged] = set(tmp_path.glob("*.lprof")) - set(tmp_path.glob("*.r*.lprof"))
    assert "Function: work" in viewer("view", f"./{merged.name}", cwd=tmp_path).out


def test_the_command_after_line_profile(tmp_path: Path) -> None:
    text = "from lineprof import profile\nprofile.output_prefix = '-p q'\n"
    write(tmp_path, "x.py", text + DECORATED)
    said = run(["x.py"], cwd=tmp_path, env={"LINE_PROFILE": "1"}).out.splitlines()
    [command] = [line for line in said if " -m lineprof -rtmz " in line]
    assert "work" in typed(command, tmp_path)


@pytest.mark.parametrize(
    ("frozen", "executable", "command"),
    [
        (True, "/opt/app/app", "python"),
        (True, sys.executable, "python"),
        (False, "/usr/sbin/uwsgi", "python"),
        (False, "", "python"),
        (False, "/opt/my python/bin/python3", "'/opt/my python/bin/python3'"),
        (False, "/opt/pypy/bin/pypy3", "/opt/pypy/bin/pypy3"),
    ],
)
def test_the_command_of_an_interpreter_that_cannot_be_started(
    frozen: bool,  # noqa: FBT001  # a case
    executable: str,
    command: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "frozen", frozen, raising=False)
    monkeypatch.setattr(sys, "executable", executable)
    assert output.python_command() == command
