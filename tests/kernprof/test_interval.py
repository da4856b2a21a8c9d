"""Periodic dumps (-i, --output-interval): the profile so far, while a program runs."""

from __future__ import annotations

import pstats
import signal
import subprocess
import sys
import threading
import time
from _imp import is_frozen
from pathlib import Path

import pytest
from as_python import check_same, kernprof, kernprof_forked, run, write
from deadline import DEADLINE

from kernprof.periodic_dump import PeriodicDump
from lineprof import load_stats

TASKS = "/proc/self/task"
linux = pytest.mark.skipif(
    not Path(TASKS).is_dir(), reason="the system has no list of threads in /proc"
)

# Calls f until the file named by the first argument exists.
WAITS = """\
import os, sys, time
@profile
def f():
    return 1
def wait():
    while not os.path.exists(sys.argv[1]):
        f()
        time.sleep(0.005)
wait()
"""


def tasks() -> set[str]:
    """Ids of this process's threads, from /proc."""
    return {path.name for path in Path(TASKS).iterdir()}


def calls(path: Path) -> int:
    """Number of calls of the only function in a line profile."""
    [function] = load_stats(path).functions
    return function.calls


# Packages that lineprof works with, but a program that uses none of them does not.
OTHERS = ("dask", "distributed", "IPython", "pandas", "pynvml", "pytest", "rich")


def test_packages_of_others_are_not_imported(tmp_path: Path) -> None:
    installed = tmp_path / "installed"
    installed.mkdir()
    for name in OTHERS:
        write(installed, f"{name}.py", f"print('{name} is imported')")
    write(tmp_path, "x.py", "@profile\ndef f(): print('done')\nf()")
    environment = {"PYTHONPATH": str(installed)}
    outcome = kernprof("-lqi60", "x.py", cwd=tmp_path, env=environment)
    assert (outcome.status, outcome.out, outcome.err) == (0, "done\n", "")


def test_a_program_that_is_killed_leaves_its_last_profile(tmp_path: Path) -> None:
    text = f"{WAITS}os.kill(os.getpid(), 9)\n"
    write(tmp_path, "x.py", text)
    outcome = kernprof_forked("-lqi", "x.py", "x.lprof", cwd=tmp_path)
    assert outcome.status == -signal.SIGKILL
    assert calls(tmp_path / "x.lprof") > 0
    stats = load_stats(tmp_path / "x.lprof")
    assert stats.processes[0].exit == "still running"
    assert any("while the program ran" in warning for warning in stats.warnings)
    assert stats.sources[str(tmp_path / "x.py")].text == text
    assert [path.name for path in tmp_path.glob(".*")] == []


def test_a_program_that_leaves_by_exit_leaves_its_last_profile(tmp_path: Path) -> None:
    write(tmp_path, "x.py", f"{WAITS}os._exit(3)\n")
    outcome = kernprof_forked("-lq", "-i", "1", "x.py", "x.lprof", cwd=tmp_path)
    assert outcome.status == 3
    assert calls(tmp_path / "x.lprof") > 0


def test_the_last_write_is_the_whole_profile(tmp_path: Path) -> None:
    text = WAITS + "for _ in range(10**5): f()\nprint('ended')\n"
    write(tmp_path, "x.py", text)
    outcome = kernprof_forked(
        "-l", "--output-interval=1", "x.py", "x.lprof", cwd=tmp_path
    )
    assert outcome.out.splitlines()[:2] == [
        "ended",
        "Wrote profile results to 'x.lprof'",
    ]
    assert (outcome.status, outcome.err) == (0, "")
    assert calls(tmp_path / "x.lprof") > 10**5
    stats = load_stats(tmp_path / "x.lprof")
    assert (stats.processes[0].exit, stats.warnings) == ("", ())


def test_the_source_of_a_command_is_in_the_profile(tmp_path: Path) -> None:
    text = f"{WAITS}os._exit(0)\n"
    kernprof_forked("-lqi1", "-o", "out", "-c", text, "out", cwd=tmp_path)
    stats = load_stats(tmp_path / "out")
    source = stats.sources[stats.functions[0].file].text
    assert source is not None
    assert source.strip() == text.strip()


def test_modules_named_like_standard_ones_are_the_programs(tmp_path: Path) -> None:
    for name in ("json", "linecache", "random"):
        write(tmp_path, f"{name}.py", "mine = True")
    check = "import json, linecache, random\nassert json.mine and random.mine\n"
    if not is_frozen("linecache"):  # as in Python 3.15: nobody can replace it
        check += "assert linecache.mine\n"
    text = f"{check}{WAITS}os._exit(0)\n"
    outcome = kernprof_forked("-lqi1", "-o", "out", "-c", text, "out", cwd=tmp_path)
    assert (outcome.status, outcome.err) == (0, "")
    stats = load_stats(tmp_path / "out")
    assert stats.sources[stats.functions[0].file].text is not None


@pytest.mark.parametrize("mode", ["-q", "-bq"])
def test_calls_after_a_dump_are_recorded(tmp_path: Path, mode: str) -> None:
    begin = "import builtins; profile = getattr(builtins, 'profile', lambda f: f)\n"
    end = "for _ in range(10**4): f()\n@profile\ndef late(): pass\nlate()\n"
    write(tmp_path, "x.py", begin + WAITS + "import pstats\n" + end)
    outcome = kernprof_forked(mode, "-i1", "x.py", "x.prof", cwd=tmp_path)
    assert (outcome.status, outcome.err) == (0, "")
    table = pstats.Stats(str(tmp_path / "x.prof")).stats  # type: ignore[attr-defined]
    count = {name: numbers[1] for (_, _, name), numbers in table.items()}
    assert count["f"] > 10**4
    assert count["late"] == 1
    ours = {name for file, _, name in table if "kernprof" in file}
    assert not ours


def test_a_dump_of_a_call_profile_can_be_read(tmp_path: Path) -> None:
    write(tmp_path, "x.py", f"{WAITS.replace('@profile', '')}os._exit(0)\n")
    kernprof_forked("-qi1", "x.py", "x.prof", cwd=tmp_path)
    table = pstats.Stats(str(tmp_path / "x.prof")).stats  # type: ignore[attr-defined]
    assert "f" in {name for _, _, name in table}


@pytest.mark.parametrize("mode", ["-lqi1", "-qi1", "-bqi1"])
def test_the_program_sees_no_thread(tmp_path: Path, mode: str) -> None:
    program = """
        import os, signal, sys, threading
        print(threading.active_count(), len(threading._active))
        print(signal.pthread_sigmask(signal.SIG_BLOCK, []))
        print(sorted(sys._current_frames()) == [threading.get_ident()])
        print(sys.gettrace(), sys.getswitchinterval())
        """
    check_same(write(tmp_path, "x.py", program), cwd=tmp_path, mode=mode)


def test_a_long_interval_does_not_keep_the_program_alive(tmp_path: Path) -> None:
    write(tmp_path, "x.py", "print(1)")
    assert kernprof_forked("-lqi", "86400", "x.py", cwd=tmp_path).out == "1\n"


def test_forks_work_as_under_python(tmp_path: Path) -> None:
    program = """
        import os, sys, threading
        for _ in range(6):
            pid = os.fork()
            if not pid:
                tasks = "/proc/self/task"
                alone = not os.path.isdir(tasks) or len(os.listdir(tasks)) == 1
                sys.exit(0 if alone else 1)
            assert os.waitpid(pid, 0)[1] == 0
        print(threading.active_count())
        """
    check_same(write(tmp_path, "x.py", program), cwd=tmp_path, mode="-lqi1")


def test_dumps_continue_after_a_fork(tmp_path: Path) -> None:
    program = f"""{WAITS}
os.remove("x.lprof")
pid = os.fork()
if not pid:
    sys.exit(0)
os.waitpid(pid, 0)
wait()
os._exit(0)
"""
    write(tmp_path, "x.py", program)
    assert kernprof_forked("-lqi1", "x.py", "x.lprof", cwd=tmp_path).status == 0
    assert calls(tmp_path / "x.lprof") > 0


def test_no_lock_is_held_in_a_forked_child(tmp_path: Path) -> None:
    program = """
        import os, sys, threading
        from kernprof.periodic_dump import PeriodicDump
        lock, begun = threading.Lock(), threading.Event()
        def dump():
            with lock:
                begun.set()
                for _ in range(10**6):
                    pass
        interval = PeriodicDump(0.001, dump)
        interval.start()
        for _ in range(3):
            begun.clear()
            begun.wait()
            pid = os.fork()
            if not pid:
                os._exit(0 if lock.acquire(False) else 1)
            print(os.waitpid(pid, 0)[1])
        interval.stop()
        """
    outcome = run([write(tmp_path, "x.py", program)], cwd=tmp_path)
    assert (outcome.status, outcome.out, outcome.err) == (0, "0\n" * 3, "")


def test_many_forks_do_not_delay_the_dump(tmp_path: Path) -> None:
    program = """
        import os
        while not os.path.exists("x.lprof"):
            pid = os.fork()
            if not pid:
                os._exit(0)
            os.waitpid(pid, 0)
        """
    outcome = kernprof_forked("-lqi1", write(tmp_path, "x.py", program), cwd=tmp_path)
    assert (outcome.status, outcome.err) == (0, "")


def test_slow_dumps_are_made_less_often() -> None:
    def dump() -> None:
        while time.thread_time() < begun + 0.04:
            pass

    begun = time.thread_time()
    assert PeriodicDump(0.5, dump)._tick() >= 1.0
    begun = 0.0
    assert PeriodicDump(0.5, dump)._tick() == 0.5


def test_the_interval_grows_up_to_its_limit() -> None:
    interval = PeriodicDump(0.1, int, longest=0.5)
    assert [interval._tick() for _ in range(4)] == [0.2, 0.4, 0.5, 0.5]
    assert PeriodicDump(0.1, int)._tick() == 0.1
    assert PeriodicDump(2.0, int, longest=0.5)._tick() == 2.0


@linux
def test_no_thread_is_left_after_stop() -> None:
    before = tasks()
    ticked = threading.Event()
    interval = PeriodicDump(0.001, ticked.set)
    interval.start()
    ticked.wait(DEADLINE)
    assert tasks() > before
    interval.stop()
    ticked.clear()
    assert tasks() <= before
    assert not ticked.is_set()
    interval.stop()  # a second stop does nothing


def test_a_failed_dump_does_not_end_the_dumps() -> None:
    ticks: list[int] = []
    enough = threading.Event()

    def dump() -> None:
        ticks.append(1)
        if len(ticks) == 3:
            enough.set()
        raise OSError("full")

    interval = PeriodicDump(0.001, dump)
    interval.start()
    assert enough.wait(DEADLINE)
    interval.stop()


def test_sigterm_ends_the_dumps_first(tmp_path: Path) -> None:
    write(tmp_path, "x.py", WAITS + "print(1, flush=True)\nsys.stdin.read()\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "kernprof", "-lqi1", "x.py", "x.lprof"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"1\n"
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=DEADLINE)
    assert process.returncode == -signal.SIGTERM
    assert load_stats(tmp_path / "x.lprof").processes[0].exit == "SIGTERM"
