"""Starts of child processes: their programs see nothing of lineprof's own start."""

from __future__ import annotations

import fcntl
import os
import sys
from pathlib import Path

import pytest
from as_python import check_same, kernprof_forked, write

import kernprof as kernprof_package
from lineprof import load_stats


@pytest.fixture
def live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of live files, which is empty."""
    folder = tmp_path / "live"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("LINEPROF_LIVE", str(folder))
    return folder


def test_a_child_that_cannot_be_profiled_leaves_nothing(
    tmp_path: Path, live: Path
) -> None:
    program = """
        import os, subprocess, sys
        code = "import builtins, os; print(hasattr(builtins, 'profile'), *os.environ)"
        environment = {**os.environ, "LINEPROF_CORE": "none"}
        print(subprocess.run([sys.executable, "-c", code], env=environment).returncode)
        """
    check_same(write(tmp_path, "program.py", program), cwd=tmp_path)
    assert not [*live.iterdir()]


INTERRUPTED = """
import fcntl, os, signal, subprocess, sys
shell = f"read line; exec {sys.executable} {' '.join(sys.argv[1:])}"
pipe = subprocess.PIPE
child = subprocess.Popen(["sh", "-c", shell], stdin=pipe, stderr=pipe, text=True)
folder = os.open(os.environ["LINEPROF_LIVE"], os.O_RDONLY)
fcntl.fcntl(folder, 10, signal.SIGINT)  # F_SETSIG
fcntl.fcntl(folder, fcntl.F_SETOWN, child.pid)
fcntl.fcntl(folder, fcntl.F_NOTIFY, fcntl.DN_CREATE)
print(child.communicate("\\n", timeout=120)[1], child.returncode)
"""


def _can_notify(folder: Path) -> bool:
    """Return whether the kernel sends signals for changes of a folder."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.fcntl(handle, fcntl.F_NOTIFY, fcntl.DN_CREATE)
    except (AttributeError, OSError):
        return False
    finally:
        os.close(handle)
    return True


@pytest.mark.parametrize("words", [("-c", "'while 1: 0'"), ("endless.py",)])
def test_ctrl_c_while_a_child_starts_is_not_raised_in_lineprof(
    tmp_path: Path, live: Path, words: tuple[str, ...]
) -> None:
    if not _can_notify(live):
        pytest.skip("no signals for changes of folders here")
    write(tmp_path, "program.py", INTERRUPTED)
    write(tmp_path, "endless.py", "while 1: 0")
    outcome = kernprof_forked("-lq", "program.py", *words, cwd=tmp_path)
    # As if it came while Python imports site.
    assert "\nKeyboardInterrupt\n" in outcome.out
    assert outcome.out.endswith(" 1\n")
    assert "kernprof/" not in outcome.out
    assert (outcome.status, outcome.err) == (0, "")


LEAF = """
import builtins
if not hasattr(builtins, "profile"):
    builtins.profile = lambda function: function
@profile
def f():
    return 1
print(f())
"""


NAMED = ("fnmatch", "token", "keyword", "optparse", "stat")


@pytest.mark.parametrize("path", ["mine", ""])
def test_only_the_program_of_a_child_runs_modules_named_like_standard_ones(
    tmp_path: Path, live: Path, path: str
) -> None:
    for name in NAMED:
        write(tmp_path, f"mine/{name}.py", "print('side effect of', __name__)")
    imports = "".join(f"import {name}\n" for name in NAMED)
    leaf = write(tmp_path, "leaf.py" if path else "mine/leaf.py", f"{LEAF}{imports}")
    program = f"""
        import os, subprocess, sys
        environment = {{**os.environ, "PYTHONPATH": {path!r}}}
        code = "import sys; print(sys.path)"
        for words in ([{leaf!r}], ["-c", code]):
            subprocess.run([sys.executable, *words], env=environment)
        """
    write(tmp_path, "program.py", program)
    out = check_same("program.py", cwd=tmp_path).out
    assert out.count("side effect of") >= 3
    stats = load_stats(tmp_path / "program.lprof")
    assert [one.calls for one in stats.functions if one.name == "f"] == [1]
    assert [process.exit for process in stats.processes] == ["", "", ""]
    assert not [*live.iterdir()]


def test_a_child_writes_its_profile_with_standard_modules(tmp_path: Path) -> None:
    write(tmp_path, "mine/token.py", "print('side effect')")
    write(tmp_path, "leaf.py", LEAF)
    program = """
        import os, subprocess, sys
        environment = {**os.environ, "PYTHONPATH": "mine"}
        subprocess.run([sys.executable, "leaf.py"], env=environment)
        """
    write(tmp_path, "program.py", program)
    outcome = kernprof_forked("-lq", "--trace", "program.py", cwd=tmp_path)
    assert (outcome.status, outcome.out, outcome.err) == (0, "1\n", "")
    stats = load_stats(tmp_path / "program.lprof")
    assert [process.exit for process in stats.processes] == ["", ""]


def test_a_spawned_child_runs_if_lineprof_cannot_begin_in_it(tmp_path: Path) -> None:
    write(tmp_path, "mine/optparse.py", "1 / 0")
    folder = Path(kernprof_package.__file__).parents[1]
    path = f"{tmp_path / 'mine'}:{folder}"
    python = f'#!/bin/sh\nPYTHONPATH={path} exec {sys.executable} -S "$@"\n'
    write(tmp_path, "bare", python)
    (tmp_path / "bare").chmod(0o755)
    program = """
        import multiprocessing, os
        if __name__ == "__main__":
            context = multiprocessing.get_context("spawn")
            multiprocessing.set_executable(os.path.abspath("bare"))
            child = context.Process(target=print, args=("child",))
            child.start()
            child.join()
            print(child.exitcode)
        """
    check_same(write(tmp_path, "program.py", program), cwd=tmp_path)


IN_A_SUBINTERPRETER = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
code = '\
import os, sys;\
names = [*os.environ, *sys.modules];\
print([name for name in names if "prof" in name.lower()], flush=True)'
interpreters.run_string(interpreters.create(), code)
"""


def test_a_subinterpreter_of_a_child_has_nothing_of_lineprof(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if "PROF" in name]:
        monkeypatch.delenv(name)
    write(tmp_path, "leaf.py", IN_A_SUBINTERPRETER)
    program = "import subprocess, sys\nsubprocess.run([sys.executable, 'leaf.py'])"
    check_same(write(tmp_path, "program.py", program), cwd=tmp_path)
    check_same("leaf.py", cwd=tmp_path)
