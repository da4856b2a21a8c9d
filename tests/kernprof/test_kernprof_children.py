"""Child processes run as under python; with --no-children they are not profiled."""

from __future__ import annotations

import multiprocessing
import sys
import textwrap
from typing import TYPE_CHECKING

import pytest
from as_python import check_same, kernprof_forked, write

from lineprof import load_stats

if TYPE_CHECKING:
    from pathlib import Path

POOL = """
    import multiprocessing, os, sys

    {decorator}
    def square(x):
        return x * x

    class Worker(multiprocessing.Process):
        def run(self):
            main = sys.modules["__main__"]
            name = main.__spec__ and main.__spec__.name
            print("worker", main.__file__, name, sys.argv)

    if __name__ == "__main__":
        multiprocessing.set_start_method(sys.argv[1])
        worker = Worker()
        worker.start()
        worker.join()
        print(worker.exitcode)
        with multiprocessing.Pool(2) as pool:
            print(pool.map(square, range(5)))
        print([square(n) for n in range(3)])
    """

METHODS = multiprocessing.get_all_start_methods()


@pytest.mark.parametrize("method", METHODS)
def test_a_pool_works_as_under_python(tmp_path: Path, method: str) -> None:
    write(tmp_path, "pool.py", POOL.format(decorator=""))
    write(tmp_path, "package/__main__.py", POOL.format(decorator=""))
    check_same("pool.py", method, cwd=tmp_path)
    check_same("-m", "pool", method, cwd=tmp_path)
    if method == "fork":  # others do not import a package's __main__
        check_same("-m", "package", method, cwd=tmp_path)


@pytest.mark.parametrize("method", METHODS)
def test_profile_is_defined_in_children(tmp_path: Path, method: str) -> None:
    plain = write(tmp_path, "plain.py", POOL.format(decorator=""))
    pool = write(tmp_path, "pool.py", POOL.format(decorator="@profile"))
    expected = kernprof_forked("-lq", plain, method, cwd=tmp_path)
    outcome = kernprof_forked("-lq", "--no-children", pool, method, cwd=tmp_path)
    assert outcome.out == expected.out.replace("plain.py", "pool.py")
    assert (outcome.status, outcome.err) == (0, "")
    [square] = load_stats(tmp_path / "pool.lprof").functions
    assert [row.hits for row in square.rows] == [3]  # the parent's calls


@pytest.mark.parametrize("flags", [(), ("--no-children",)])
def test_profile_has_all_methods_in_children(
    tmp_path: Path, flags: tuple[str, ...]
) -> None:
    program = """
        import multiprocessing
        with profile:
            pass
        def f():
            return 1
        profile.add_function(f)
        print(profile.runcall(f), profile(f)(), profile.enable_count)
        if __name__ == "__main__":
            context = multiprocessing.get_context("spawn")
            child = context.Process(target=print, args=("child",))
            child.start()
            child.join()
            print(child.exitcode)
        """
    write(tmp_path, "all.py", program)
    outcome = kernprof_forked("-lq", *flags, "all.py", cwd=tmp_path)
    assert outcome.out == "1 1 0\n1 1 0\nchild\n0\n"
    assert (outcome.status, outcome.err) == (0, "")


def test_a_child_where_kernprof_is_not_installed(tmp_path: Path) -> None:
    program = """
        import multiprocessing, os, sys
        if __name__ == "__main__":
            os.environ.pop("PYTHONPATH", None)
            flags = ["-S", "-c", "pass"]
            context = multiprocessing.get_context("spawn")
            multiprocessing.set_executable(os.path.abspath("bare"))
            child = context.Process(target=print, args=("child",))
            child.start()
            child.join()
            print(child.exitcode)
        """
    write(tmp_path, "bare", f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    (tmp_path / "bare").chmod(0o755)
    check_same(write(tmp_path, "parent.py", program), cwd=tmp_path)


@pytest.mark.parametrize(
    "ending",
    ["pass", "sys.exit(3)", "1 / 0", "os._exit(4)", "os.kill(os.getpid(), 15)"],
)
def test_a_forked_child_does_not_write_if_nobody_wants_it(
    tmp_path: Path, ending: str
) -> None:
    program = f"""
        import os, sys
        @profile
        def f():
            pass
        f()
        pid = os.fork()
        if pid:
            print(os.waitpid(pid, 0)[1])
            print(os.listdir("."))
            f()
        else:
            f()
            f()
            {ending}
        """
    write(tmp_path, "forks.py", program)
    outcome = kernprof_forked("-lq", "--no-children", "forks.py", cwd=tmp_path)
    status = {"pass": 0, "sys.exit(3)": 768, "1 / 0": 256, "os._exit(4)": 1024}
    assert outcome.out == f"{status.get(ending, 15)}\n['forks.py']\n"
    assert outcome.status == 0
    [function] = load_stats(tmp_path / "forks.lprof").functions
    assert [row.hits for row in function.rows] == [2]


def test_a_forked_child_in_a_long_call_dies_of_sigterm(tmp_path: Path) -> None:
    program = """
        import itertools, os, signal
        ready, started = os.pipe()
        pid = os.fork()
        if not pid:
            print(signal.getsignal(signal.SIGTERM), flush=True)
            os.write(started, b"x")
            sum(itertools.repeat(0))  # endless, in C
        os.read(ready, 1)
        os.kill(pid, signal.SIGTERM)
        print(os.waitpid(pid, 0)[1])
        """
    check_same(write(tmp_path, "parent.py", program), cwd=tmp_path)


def test_a_forked_child_dies_of_a_sigterm_that_comes_at_once(tmp_path: Path) -> None:
    program = """
        import os, signal
        statuses = set()
        for _ in range(200):
            pid = os.fork()
            if not pid:
                signal.pause()
            os.kill(pid, signal.SIGTERM)
            statuses.add(os.waitpid(pid, 0)[1])
        print(statuses, signal.pthread_sigmask(signal.SIG_BLOCK, []))
        """
    check_same(write(tmp_path, "parent.py", program), cwd=tmp_path)


def test_subprocesses_run_as_under_python(tmp_path: Path) -> None:
    program = """
        import os, subprocess, sys
        print(subprocess.run([sys.executable, "-c", "import sys; print(sys.argv)"]))
        print(subprocess.run(["sh", "-c", "kill -TERM $$"]).returncode)
        print(sorted(k for k in os.environ if "PROF" in k.upper()))
        """
    check_same(write(tmp_path, "parent.py", program), cwd=tmp_path)


STARTS = {
    "os.fork": "for _ in range(4):\n    os.fork() or os._exit(0)\n    os.wait()",
    "subprocess": """
for _ in range(4):
    subprocess.run([sys.executable, "-c", "pass"])
subprocess.run(["true"])
subprocess.run([sys.executable, "-m", "kernprof", "--version"], stdout=-3)
""",
    "preexec_fn": """
for _ in range(4):
    subprocess.Popen([sys.executable, "-c", ""], preexec_fn=int).wait()
""",
    **{
        method: f"""
with multiprocessing.get_context({method!r}).Pool(4) as pool:
    pool.map(abs, range(5))
"""
        for method in METHODS
    },
}


@pytest.mark.parametrize("start", STARTS)
def test_children_that_are_not_measured_are_counted(tmp_path: Path, start: str) -> None:
    body = textwrap.indent(STARTS[start].strip(), "    ")
    imports = "import multiprocessing, os, subprocess, sys"
    text = f"{imports}\nif __name__ == '__main__':\n{body}\n"
    write(tmp_path, "starts.py", text)
    outcome = kernprof_forked("-l", "--no-children", "starts.py", cwd=tmp_path)
    said = "kernprof: 4 child processes were started and not measured\n"
    assert outcome.err.endswith(f"--all or -p\n{said}")


def test_one_child_and_none(tmp_path: Path) -> None:
    write(tmp_path, "one.py", "import os\nos.fork() or os._exit(0)\nos.wait()\n")
    write(tmp_path, "none.py", "import subprocess\nsubprocess.run(['true'])\n")
    said = "kernprof: 1 child process was started and not measured\n"
    flags = ("-l", "--no-children")
    assert kernprof_forked(*flags, "one.py", cwd=tmp_path).err.endswith(said)
    assert "child" not in kernprof_forked(*flags, "none.py", cwd=tmp_path).err
    for name in ("one.py", "none.py"):
        assert "child" not in kernprof_forked("-l", name, cwd=tmp_path).err


def test_the_traceback_of_a_child_that_cannot_start_is_pythons(tmp_path: Path) -> None:
    program = """
        import subprocess
        process = subprocess.Popen(["true"])
        process.wait()
        print(subprocess.Popen._child_created, vars(process)["_child_created"])
        subprocess.run([f"{__file__}/python"])
        """
    check_same(write(tmp_path, "starts.py", program), cwd=tmp_path)


def test_a_run_that_cannot_begin_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    write(tmp_path, "x.py", "pass")
    assert kernprof_forked("-l", "-s", "missing.py", "x.py", cwd=tmp_path).status == 2
    assert not list((tmp_path / "tmp").iterdir())
