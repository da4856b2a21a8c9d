"""Hits of child processes: their sums are in the program's one profile."""

from __future__ import annotations

import multiprocessing
import textwrap
from typing import TYPE_CHECKING

import pytest
from as_python import check_same, hits_in, kernprof_forked, marked, run, write

from lineprof import load_stats

if TYPE_CHECKING:
    from pathlib import Path

METHODS = multiprocessing.get_all_start_methods()
FUNCTION = """
@profile
def work(n):
    total = 0
    for i in range(n):
        total += i
    return total
"""
LEAF = f"import sys\n{FUNCTION}\nwork(10)\n"
PROGRAM = f"""
import concurrent.futures, multiprocessing, os, subprocess, sys
{FUNCTION}
def nested(n):
    context = multiprocessing.get_context("fork")
    child = context.Process(target=work, args=(n,))
    child.start()
    child.join()
    work(n)

if __name__ == "__main__":
"""


def hits_of_work(
    folder: Path, body: str, *flags: str, may_miss: bool = False
) -> dict[int, int]:
    """Return the hits of `work` in the profile of a program that runs `body`.

    The first line of the function is 1.
    """
    write(folder, "leaf.py", LEAF)
    write(folder, "program.py", PROGRAM + textwrap.indent(body, "    "))
    outcome = kernprof_forked("-l", *flags, "program.py", cwd=folder)
    assert outcome.status == 0, outcome.err
    assert may_miss or "not measured" not in outcome.err
    sums: dict[int, int] = {}
    for function in load_stats(folder / "program.lprof").functions:
        if function.name == "work":
            for row in function.rows:
                line = row.line - function.line - 1
                sums[line] = sums.get(line, 0) + row.hits
    return sums


def hits_of(calls: int) -> dict[int, int]:
    """Return the hits of so many calls of ``work(10)``."""
    return {1: calls, 2: 11 * calls, 3: 10 * calls, 4: calls}


PROCESSES = """
context = multiprocessing.get_context({method!r})
children = [context.Process(target={target}, args=(10,)) for _ in range(3)]
for child in children:
    child.start()
for child in children:
    child.join()
    assert child.exitcode == 0
work(10)
"""
POOL = """
with multiprocessing.get_context({method!r}).Pool(2) as pool:
    assert pool.map(work, [10] * 6) == [45] * 6
    pool.close()
    pool.join()
"""
EXECUTOR = """
context = multiprocessing.get_context({method!r})
with concurrent.futures.ProcessPoolExecutor(2, context) as pool:
    assert list(pool.map(work, [10] * 6)) == [45] * 6
"""
# How children are started, and the number of calls of `work`.
STARTS = {
    "os.fork": ("if not os.fork():\n    work(10)\nelse:\n    os.wait()", 1),
    "os._exit": (
        (
            "if not os.fork():\n    work(10)\n    os._exit(3)\n"
            "assert os.wait()[1] == 3 << 8"
        ),
        1,
    ),
    "a function named like one of subprocess": (
        (
            "def _execute_child():\n    return os.fork()\n"
            "if not _execute_child():\n    work(10)\nelse:\n    os.wait()"
        ),
        1,
    ),
    "a fork of a fork": (PROCESSES.format(method="fork", target="nested"), 7),
    "subprocess": ("subprocess.run([sys.executable, 'leaf.py'], check=True)", 1),
    "an environment of its own": (
        "subprocess.run([sys.executable, '-I', 'leaf.py'], env={}, check=True)",
        1,
    ),
    "-E": ("subprocess.run([sys.executable, '-E', 'leaf.py'], check=True)", 1),
    "os.system": ("assert os.system(sys.executable + ' leaf.py') == 0", 1),
    "a shell": (
        (
            "subprocess.run(f'{sys.executable} leaf.py; {sys.executable} leaf.py',"
            " shell=True, check=True)"
        ),
        2,
    ),
    "os.execv": (
        (
            "if not os.fork():\n    work(10)\n"
            "    os.execv(sys.executable, [sys.executable, 'leaf.py'])\nos.wait()"
        ),
        2,
    ),
    "os.execvpe": (
        (
            "if not os.fork():\n"
            "    os.execvpe(sys.executable, [sys.executable, 'leaf.py'], os.environ)\n"
            "os.wait()"
        ),
        1,
    ),
    "os.execve by name": (
        (
            "words = [sys.executable, 'leaf.py']\n"
            "if not os.fork():\n"
            "    os.execve(path=sys.executable, argv=words, env={'A': 'b'})\n"
            "os.wait()"
        ),
        1,
    ),
    "os.posix_spawn": (
        (
            "words = [sys.executable, 'leaf.py']\n"
            "os.waitpid(os.posix_spawn(sys.executable, words, os.environ), 0)"
        ),
        1,
    ),
    "an exception": (
        (
            "if not os.fork():\n    sys.stderr = None\n    work(10)\n    1 / 0\n"
            "assert os.wait()[1] == 1 << 8"
        ),
        1,
    ),
    **{
        f"{name} by {method}": (text.format(method=method, target="work"), calls)
        for method in METHODS
        for name, text, calls in (
            ("processes", PROCESSES, 4),
            ("a pool", POOL, 6),
            ("an executor", EXECUTOR, 6),
        )
    },
}
# The cases that run with every Python and core.
SMOKE_STARTS = {
    "os.fork",
    "os._exit",
    "subprocess",
    "os.execv",
    "processes by fork",
    "processes by spawn",
    "processes by forkserver",
}


@pytest.mark.parametrize("start", marked(STARTS, pytest.mark.smoke, SMOKE_STARTS))
def test_hits_of_children_are_in_the_profile(tmp_path: Path, start: str) -> None:
    body, calls = STARTS[start]
    assert hits_of_work(tmp_path, body) == hits_of(calls)


@pytest.mark.parametrize("start", ["os.fork", "subprocess", "processes by spawn"])
def test_a_whole_program_has_its_children(tmp_path: Path, start: str) -> None:
    body, calls = STARTS[start]
    assert hits_of_work(tmp_path, body, "--whole") == hits_of(calls)
    text = (tmp_path / "leaf.py").read_text()
    (tmp_path / "leaf.py").write_text(text.replace("@profile", ""))
    write(tmp_path, "undecorated.py", (tmp_path / "program.py").read_text())
    text = (tmp_path / "undecorated.py").read_text()
    (tmp_path / "undecorated.py").write_text(text.replace("@profile", ""))
    assert kernprof_forked("-lq", "undecorated.py", cwd=tmp_path).status == 0
    stats = load_stats(tmp_path / "undecorated.lprof")
    found = [one for one in stats.functions if one.name == "work"]
    assert sum(one.calls for one in found) == calls
    assert {process.is_whole for process in stats.processes} == {True}


def test_a_named_function_is_profiled_in_children(tmp_path: Path) -> None:
    write(tmp_path, "named.py", "def f(n):\n    return n\n\ndef g(n):\n    return n\n")
    program = """
        import multiprocessing, subprocess, sys
        import named
        def both():
            named.f(1)
            named.g(1)
        if __name__ == "__main__":
            for method in ("fork", "spawn"):
                child = multiprocessing.get_context(method).Process(target=both)
                child.start()
                child.join()
            subprocess.run([sys.executable, "-c", "import named; named.f(1)"])
        """
    write(tmp_path, "program.py", program)
    outcome = kernprof_forked("-lq", "-p", "named.f", "program.py", cwd=tmp_path)
    assert (outcome.status, outcome.err) == (0, "")
    assert hits_in(tmp_path / "program.lprof") == {"f": {2: 3}}


@pytest.mark.smoke
def test_lines_that_are_open_at_a_fork_count_once(tmp_path: Path) -> None:
    program = """\
        import os
        @profile
        def outer():
            before = 1
            pid = os.fork()
            after = 2
            return pid
        if outer():
            os.wait()
        """
    write(tmp_path, "forks.py", program)
    assert kernprof_forked("-lq", "forks.py", cwd=tmp_path).status == 0
    assert hits_in(tmp_path / "forks.lprof") == {"outer": {4: 1, 5: 1, 6: 2, 7: 2}}


def test_each_child_is_a_process_of_the_profile(tmp_path: Path) -> None:
    program = """
        import os, subprocess, sys
        @profile
        def f():
            return os.getpid()
        child = subprocess.Popen([sys.executable, "leaf.py", "an argument"])
        child.wait()
        print(f(), child.pid)
        """
    write(tmp_path, "leaf.py", LEAF)
    write(tmp_path, "starts.py", program)
    outcome = kernprof_forked("-lq", "starts.py", cwd=tmp_path)
    parent, child = load_stats(tmp_path / "starts.lprof").processes
    assert outcome.out == f"{parent.pid} {child.pid}\n"
    assert (parent.parent_pid, child.parent_pid) == (None, parent.pid)
    assert child.argv == ("leaf.py", "an argument")
    assert (parent.exit, child.exit) == ("", "")


SHOW = """
import os, subprocess, sys
code = "import os, sys; print(sorted(os.environ), sys.argv, sys.path, sys.flags)"
for words in ((), ("-E",), ("-I",), ("-S",), ("-B", "-W", "error")):
    subprocess.run([sys.executable, *words, "-c", code, "x"])
    subprocess.run([sys.executable, *words, "-c", code], env={**os.environ, "A": "b"})
"""


def test_children_see_what_they_see_under_python(tmp_path: Path) -> None:
    text = SHOW.replace('("-S",), ', "")  # such a child sees the variable
    check_same(write(tmp_path, "shows.py", text), cwd=tmp_path)


def test_children_that_cannot_be_measured_are_counted(tmp_path: Path) -> None:
    program = "import subprocess, sys\n@profile\ndef f(): return 1\nf()\n"
    program += "for _ in range(2):\n    subprocess.run([{words}, '-c', ''])\n"
    write(tmp_path, "bare.py", program.format(words="sys.executable, '-S'"))
    said = "kernprof: 2 child processes were not measured: they ran with -S, "
    assert said in kernprof_forked("-l", "bare.py", cwd=tmp_path).err
    other = tmp_path / "python"
    other.write_text("#!/bin/sh\nexit 0\n")
    other.chmod(0o755)
    write(tmp_path, "other.py", program.format(words=repr(str(other))))
    said = f"2 child processes were not measured: they ran another Python, {other}\n"
    assert said in kernprof_forked("-l", "other.py", cwd=tmp_path).err


@pytest.mark.parametrize("method", METHODS)
def test_workers_of_a_pool_that_is_terminated_count(
    tmp_path: Path, method: str
) -> None:
    body = f"""
with multiprocessing.get_context({method!r}).Pool(2) as pool:
    pool.map(work, [10] * 6)
"""
    # A worker may be terminated before its Python has begun.
    assert hits_of_work(tmp_path, body, may_miss=True) == hits_of(6)


def test_what_a_fork_server_runs_itself_counts(tmp_path: Path) -> None:
    write(tmp_path, "pre.py", f"{FUNCTION}\nfor _ in range(5):\n    work(10)\n")
    program = """
        import multiprocessing
        def work(n):
            import pre
            pre.work(n)
        if __name__ == "__main__":
            multiprocessing.set_forkserver_preload(["pre"])
            context = multiprocessing.get_context("forkserver")
            for _ in range(3):
                child = context.Process(target=work, args=(10,))
                child.start()
                child.join()
        """
    write(tmp_path, "serves.py", program)
    assert kernprof_forked("-lq", "serves.py", cwd=tmp_path).status == 0
    counted = load_stats(tmp_path / "serves.lprof").functions
    assert sum(one.calls for one in counted if one.name == "work") == 8


ENDS = {
    "SIGKILL": ("os.kill(os.getpid(), signal.SIGKILL)", "killed"),
    "SIGTERM": ("os.kill(os.getpid(), signal.SIGTERM)", "killed"),
    "SIGSEGV": ("os.kill(os.getpid(), signal.SIGSEGV)", "SIGSEGV"),
    "os._exit": ("os._exit(3)", ""),
    "exec": ("os.execvp('true', ['true'])", "exec"),
    "an exception": ("sys.stderr = None\n    1 / 0", "exception"),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_child_counts_and_says_how_it_ended(tmp_path: Path, end: str) -> None:
    how, name = ENDS[end]
    body = f"import signal\nif not os.fork():\n    work(10)\n    {how}\nos.wait()"
    assert hits_of_work(tmp_path, body) == hits_of(1)
    stats = load_stats(tmp_path / "program.lprof")
    assert [process.exit for process in stats.processes] == ["", name]
    assert not stats.warnings


@pytest.mark.parametrize("start", ["os.fork", "os._exit", "subprocess", "-E"])
def test_children_count_without_live_files(
    tmp_path: Path, start: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEPROF_LIVE", "off")
    body, calls = STARTS[start]
    assert hits_of_work(tmp_path, body) == hits_of(calls)


@pytest.mark.parametrize("start", ["os._exit", "subprocess", "a pool by spawn"])
def test_children_have_timelines(tmp_path: Path, start: str) -> None:
    body, calls = STARTS[start]
    assert hits_of_work(tmp_path, body, "--trace") == hits_of(calls)
    stats = load_stats(tmp_path / "program.lprof")
    assert sum(trace.count for trace in stats.traces) >= calls


def test_a_killed_child_that_leaves_nothing_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEPROF_LIVE", "off")
    program = """
        import os, signal
        if not os.fork():
            os.kill(os.getpid(), signal.SIGKILL)
        os.wait()
        """
    outcome = kernprof_forked("-l", write(tmp_path, "killed.py", program), cwd=tmp_path)
    said = "1 child process was not measured: it was killed, or still ran at the end\n"
    assert said in outcome.err


def test_errors_of_starting_a_child_have_pythons_traceback(tmp_path: Path) -> None:
    program = """
        import os, traceback
        from os import _exit
        for start in (os.execv, os.execve, os.posix_spawn, os.posix_spawnp):
            try:
                start("./missing", ["missing"], *[{"A": "b"}] * (start != os.execv))
            except OSError:
                traceback.print_exc()
            print(start, start.__name__, os._exit, _exit)
        os.execvp("./missing", ["missing"])
        """
    check_same(write(tmp_path, "starts.py", program), cwd=tmp_path)


def test_functions_that_start_and_end_processes_show_their_signatures(
    tmp_path: Path,
) -> None:
    program = """
        import inspect, os, _posixsubprocess
        names = ("_exit", "execv", "execve", "posix_spawn", "posix_spawnp")
        for function in (*map(os.__dict__.get, names), _posixsubprocess.fork_exec):
            print(function, function.__module__, function.__doc__)
            print(inspect.signature(function), function.__text_signature__)
        for words in ((), ("a",), ("a", [], {}, 0)):
            for function in (os.execv, os.execve, os.posix_spawn):
                try:
                    function(*words)
                except TypeError as error:
                    print(error)
        """
    check_same(write(tmp_path, "shows.py", program), cwd=tmp_path)


def test_a_childs_live_file_may_be_read_while_the_child_ends(tmp_path: Path) -> None:
    """Other runs have it mapped at that time, to see which run the child is of."""
    program = """
        import mmap, os, pathlib
        @profile
        def work():
            pass
        work()
        (seen, let_go), (ready, tell) = os.pipe(), os.pipe()
        child = os.fork()
        if not child:
            work()
            os.write(tell, b"1")
            os.read(seen, 1)
            os._exit(0)
        os.read(ready, 1)
        [file] = pathlib.Path(os.environ["LINEPROF_LIVE"]).glob(f"{child}-*.live")
        before = file.stat()
        with open(file, "rb") as stream:
            mapped = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        os.write(let_go, b"1")
        os.waitpid(child, 0)
        after = file.stat()
        print(len(bytes(mapped)) == before.st_size == after.st_size)
        print(after.st_blocks < before.st_blocks)
        """
    write(tmp_path, "program.py", program)
    live = {"LINEPROF_LIVE": str(tmp_path / "live")}
    outcome = kernprof_forked("-lq", "program.py", cwd=tmp_path, env=live)
    assert (outcome.status, outcome.out) == (0, "True\nTrue\n"), outcome.err
    [counted] = load_stats(tmp_path / "program.lprof").functions
    assert counted.calls == 2


def test_nothing_of_a_run_is_left(tmp_path: Path) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    body = "import os\nos.fork() or os._exit(0)\nos.wait()\n"
    write(tmp_path, "program.py", body)
    environment = {"TMPDIR": str(place)}
    assert (
        kernprof_forked("-l", "program.py", cwd=tmp_path, env=environment).status == 0
    )
    for end in ("os.kill(os.getpid(), 15)", "os._exit(0)"):
        write(tmp_path, "ends.py", f"import os\n{end}\n")
        kernprof_forked("-l", "ends.py", cwd=tmp_path, env=environment)
    kernprof_forked("-l", "-m", "no_such_module", cwd=tmp_path, env=environment)
    assert not [path for path in place.iterdir() if "run" in path.name]


def test_a_child_has_its_own_modules_in_place_of_standard_ones(tmp_path: Path) -> None:
    (tmp_path / "child").mkdir()
    for name in ("keyword", "operator", "re"):
        write(tmp_path, f"child/{name}.py", f"MINE = {name!r}")
    write(
        tmp_path,
        "child/child.py",
        "import keyword, operator, re\n"
        "def f():\n    return keyword.MINE + operator.MINE + re.MINE\nprint(f())",
    )
    body = "import os, sys\nos.system(f'{sys.executable} child/child.py')"
    write(tmp_path, "program.py", body)
    assert check_same("program.py", cwd=tmp_path).out == "keywordoperatorre\n"
    found = load_stats(tmp_path / "program.lprof").functions
    assert {row.hits for one in found if one.name == "f" for row in one.rows} == {1}


@pytest.mark.parametrize("flag", ["--trace", "--split", "--no-trace"])
def test_a_child_that_execs_counts_once(tmp_path: Path, flag: str) -> None:
    body = """
child = os.fork()
if not child:
    work(10)
    os.execvp("true", ["true"])
os.waitpid(child, 0)
"""
    hits = hits_of_work(tmp_path, body, flag)
    assert hits == {1: 1, 2: 11, 3: 10, 4: 1}
    pids = [one.pid for one in load_stats(tmp_path / "program.lprof").processes]
    assert len(pids) == len(set(pids)) == 2


LIMITED = """
import os, resource, signal, sys
def limit():
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, most))
def end():
    print(signal.pthread_sigmask(signal.SIG_BLOCK, []), signal.sigpending())
    sys.stdout.flush()
    sys.exit(7)
if sys.argv[1] == "before":
    limit()
if sys.argv[1] != "itself":
    child = os.fork()
    if child:
        print(os.waitpid(child, 0)[1])
        sys.exit()
limit()
end()
"""


@pytest.mark.parametrize("live", ["off", ""])
@pytest.mark.parametrize("where", ["itself", "before", "after"])
def test_a_program_that_may_die_of_a_large_file_does_not_die_of_a_profile(
    tmp_path: Path, where: str, live: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEPROF_LIVE", live)
    write(tmp_path, "limits.py", LIMITED)
    plain = run(["limits.py", where], cwd=tmp_path)
    outcome = kernprof_forked("-lq", "--trace", "limits.py", where, cwd=tmp_path)
    assert outcome.out == plain.out
    is_written = where == "after"
    is_lost = not is_written and live == "off"
    assert outcome.status == (plain.status or int(is_lost))
    assert ("cannot write" in outcome.err) == (not is_written)


def test_a_child_that_outlives_its_run_writes_nothing(tmp_path: Path) -> None:
    program = f"""
import os, sys, time
{FUNCTION}
reading, writing = os.pipe()
if not os.fork():
    os.close(writing)
    os.read(reading, 1)  # until the parent has ended
    while not os.path.exists("x.lprof"):
        time.sleep(0.01)
    work(1)
    sys.exit()
work(1)
"""
    write(tmp_path, "x.py", program)
    kernprof_forked("-lq", "--trace", "x.py", cwd=tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["x.lprof", "x.py"]
