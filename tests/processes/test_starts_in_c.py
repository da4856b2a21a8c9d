"""Children that C code starts, with a copy of the program's environment."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from as_python import check_same, hits_in, kernprof_forked, run, write

from lineprof import load_stats

if TYPE_CHECKING:
    from pathlib import Path

# Starts a command as packages made of multiprocessing do (loky), or as an extension.
STARTS = """
import ctypes, os, sys

def fork_exec(*words, environment=None):
    import _posixsubprocess
    words = [*map(os.fsencode, words)]
    if environment is not None:
        environment = [os.fsencode(f"{k}={v}") for k, v in environment.items()]
    ends = os.pipe()
    vfork = [True] if sys.version_info < (3, 14) else []
    try:
        return _posixsubprocess.fork_exec(
            words, words[:1], True, (), None, environment, *[-1] * 6, *ends,
            False, False, -1, None, None, None, -1, None, *vfork
        )
    finally:
        [*map(os.close, ends)]

def array(words):
    return (ctypes.c_char_p * (len(words) + 1))(*map(os.fsencode, words), None)

def spawn(*words, environment):
    entries = array([f"{name}={value}" for name, value in environment.items()])
    pid, spawn = ctypes.c_int(), ctypes.CDLL(None).posix_spawn
    path, words = os.fsencode(words[0]), array(words)
    assert spawn(ctypes.byref(pid), path, None, None, words, entries) == 0
    return pid.value

def execute(*words, environment):
    pid = os.fork()
    if not pid:
        entries = array([f"{name}={value}" for name, value in environment.items()])
        ctypes.CDLL(None).execve(os.fsencode(words[0]), array(words), entries)
    return pid
"""
LEAF = """
import builtins
if not hasattr(builtins, "profile"):
    builtins.profile = lambda function: function

@profile
def work(n):
    return n

work(1)
"""
HITS = {8: 1}
IN_C = (
    "fork_exec",
    *(
        pytest.param(
            name,
            marks=pytest.mark.skipif(
                sys.platform != "linux", reason="no ancestors are known here"
            ),
        )
        for name in ("spawn", "execute")
    ),
)
WAIT = "assert os.waitpid(pid, 0)[1] == 0\n"


@pytest.mark.parametrize("start", IN_C)
@pytest.mark.parametrize("flags", [(), ("-I",)])
def test_a_child_with_a_copy_of_the_environment_is_profiled(
    tmp_path: Path, start: str, flags: tuple[str, ...]
) -> None:
    write(tmp_path, "leaf.py", LEAF)
    words = f"sys.executable, *{flags}, 'leaf.py'"
    program = f"{STARTS}pid = {start}({words}, environment=os.environ.copy())\n{WAIT}"
    write(tmp_path, "program.py", program)
    outcome = kernprof_forked("-l", "program.py", cwd=tmp_path)
    assert (outcome.status, "not measured" in outcome.err) == (0, False)
    assert hits_in(tmp_path / "program.lprof")["work"] == HITS
    # A process that is forked and then runs another program is two.
    count = 3 if start == "execute" else 2
    assert len(load_stats(tmp_path / "program.lprof").processes) == count


@pytest.mark.skipif(sys.platform != "linux", reason="no ancestors are known here")
@pytest.mark.parametrize("between", ["", "exec "])
def test_a_child_behind_a_command_without_the_variable_is_profiled(
    tmp_path: Path, between: str
) -> None:
    write(tmp_path, "leaf.py", LEAF)
    program = f"""{STARTS}
command = {between!r} + sys.executable + " leaf.py;"
pid = spawn("/bin/sh", "-c", command, environment={{}})
{WAIT}
os.system("env -i " + sys.executable + " leaf.py")
"""
    write(tmp_path, "program.py", program)
    assert kernprof_forked("-l", "program.py", cwd=tmp_path).status == 0
    [work] = [
        function
        for function in load_stats(tmp_path / "program.lprof").functions
        if function.name == "work"
    ]
    assert work.calls == 2


@pytest.mark.parametrize("start", IN_C)
def test_a_child_in_c_sees_what_it_sees_under_python(
    tmp_path: Path, start: str
) -> None:
    code = "import os, sys; print(sorted(os.environ), sys.argv, sys.path, sys.flags)"
    words = f"sys.executable, '-c', {code!r}, 'x'"
    program = f"{STARTS}pid = {start}({words}, environment=os.environ.copy())\n{WAIT}"
    check_same(write(tmp_path, "program.py", program), cwd=tmp_path)


@pytest.mark.parametrize("environment", ["None", "os.environ.copy()"])
@pytest.mark.parametrize("package", ["loky.backend", "multiprocess"])
def test_a_resource_tracker_is_neither_profiled_nor_missed(
    tmp_path: Path, environment: str, package: str
) -> None:
    for name in ("loky", "loky/backend", "multiprocess"):
        write(tmp_path, f"{name}/__init__.py", "")
        write(tmp_path, f"{name}/resource_tracker.py", "def main(fd): print(fd)\n")
    code = f"from {package}.resource_tracker import main; main(0)"
    program = f"""{STARTS}
os.close(0)
os.open(os.devnull, os.O_RDONLY)
@profile
def f():
    return fork_exec(sys.executable, "-c", {code!r}, environment={environment})
pid = f()
{WAIT}
"""
    write(tmp_path, "program.py", program)
    outcome = kernprof_forked("-l", "program.py", cwd=tmp_path)
    assert outcome.err == ""
    assert len(load_stats(tmp_path / "program.lprof").processes) == 1


@pytest.mark.parametrize(
    ("start", "wait"), [("fork_exec", True), ("fork_exec", False), ("spawn", False)]
)
def test_a_child_in_c_that_cannot_be_profiled_is_counted(
    tmp_path: Path, start: str, *, wait: bool
) -> None:
    if start == "spawn" and sys.platform != "linux":
        pytest.skip("no children are known here")
    # It runs until its input ends, with this process if not before.
    words = "sys.executable, '-S', '-c', 'import sys; sys.stdin.read()'"
    program = f"""{STARTS}
@profile
def f():
    return {start}({words}, environment=os.environ.copy())
begin, end = os.pipe()
os.dup2(begin, 0)
pid = f()
if {wait}:
    os.close(end)
    os.waitpid(pid, 0)
"""
    write(tmp_path, "program.py", program)
    outcome = kernprof_forked("-l", "program.py", cwd=tmp_path)
    said = "kernprof: 1 child process was not measured: it ran with -S, "
    assert said in outcome.err


@pytest.mark.skipif(sys.platform != "linux", reason="no children are known here")
def test_children_from_before_the_program_are_not_said_to_be_missing(
    tmp_path: Path,
) -> None:
    write(tmp_path, "program.py", "@profile\ndef f():\n    return 1\nf()\n")
    # They run until their input ends, in a virtual environment as by its base.
    waits = "-S -c 'import sys; sys.stdin.read()' <&3 >&- 2>&- &"
    pythons = {sys.executable, os.path.realpath(sys.executable)}
    start = " ".join(f"{python} {waits}" for python in pythons)
    kernprof_words = f"{sys.executable} -m kernprof -l program.py"
    begin, end = os.pipe()
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", f"exec 3<&0; {start} exec {kernprof_words}"],
            cwd=tmp_path,
            stdin=begin,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        os.close(end)
        os.close(begin)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(sys.platform != "linux", reason="no children are known here")
def test_a_child_in_c_is_named_as_it_was_started(tmp_path: Path) -> None:
    other = tmp_path / "python"
    other.symlink_to(os.path.realpath(sys.executable))  # in no environment with us
    program = f"""{STARTS}
@profile
def f():
    return spawn({str(other)!r}, "-c", "input()", environment=os.environ.copy())
os.dup2(os.pipe()[0], 0)
f()
"""
    write(tmp_path, "program.py", program)
    said = f"1 child process was not measured: it ran another Python, {other}\n"
    assert said in kernprof_forked("-l", "program.py", cwd=tmp_path).err


def test_profile_is_defined_in_children_of_packages_like_multiprocessing(
    tmp_path: Path,
) -> None:
    spawn = "def get_preparation_data(name, init=True): return {'name': name}\n"
    for name in ("loky", "loky/backend", "multiprocess"):
        write(tmp_path, f"{name}/__init__.py", "")
        write(tmp_path, f"{name}/spawn.py", spawn)
    child = "import pickle, sys; pickle.load(sys.stdin.buffer); import leaf"
    program = f"""
        import pickle, subprocess, sys
        import loky.backend.spawn, multiprocess.spawn
        for module in (loky.backend.spawn, multiprocess.spawn):
            data = pickle.dumps(module.get_preparation_data("x", init=False))
            subprocess.run([sys.executable, "-c", {child!r}], input=data, check=True)
        """
    write(tmp_path, "leaf.py", "@profile\ndef f(): print(1)\nf()\n")
    write(tmp_path, "program.py", program)
    outcome = kernprof_forked("-lq", "--no-children", "program.py", cwd=tmp_path)
    assert (outcome.status, outcome.out, outcome.err) == (0, "1\n1\n", "")


def test_the_starter_is_pythons_own_after_the_run(tmp_path: Path) -> None:
    program = """
        from kernprof import main
        main(["-lq", "inner.py"])
        import _posixsubprocess, subprocess
        print(_posixsubprocess.fork_exec is subprocess._fork_exec)
        print(_posixsubprocess.fork_exec.__self__ is _posixsubprocess)
        """
    write(tmp_path, "inner.py", "import subprocess\n@profile\ndef f(): pass\nf()\n")
    write(tmp_path, "program.py", program)
    assert run(["program.py"], cwd=tmp_path).out == "True\nTrue\n"
