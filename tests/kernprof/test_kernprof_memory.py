"""kernprof --memory: what the lines of a program allocate, however it ends."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from as_python import kernprof, kernprof_forked, run, viewer, write
from memory_numbers import BLOCK, check_sums, own_memory
from memory_program import KEEP_LINE, ON_LINUX, PROGRAM

from lineprof import load_stats
from lineprof.model.host_memory import (
    HostMemory,
    MemoryNumbers,
    memory_of_functions,
    outside_memory,
)

if TYPE_CHECKING:
    from pathlib import Path

    from lineprof.line_stats import LineStats

pytestmark = [pytest.mark.usefixtures("hook"), ON_LINUX]

DECORATED = f"{PROGRAM}KEPT = [None] * 100\nkeep(KEPT)\n"
WHOLE = DECORATED.replace("@profile\n", "").replace("profile =", "_ =")
KEPT = MemoryNumbers(100, 100 * BLOCK, 0, 0, 100 * BLOCK)


def profile_of(folder: Path, text: str, *flags: str, status: int = 0) -> LineStats:
    """Run a program with --memory; return its profile."""
    write(folder, "x.py", text)
    done = kernprof_forked("-lq", "--memory", *flags, "x.py", cwd=folder)
    assert done.status == status, done.err
    return load_stats(folder / "x.lprof")


@pytest.mark.smoke
@pytest.mark.parametrize("text", [DECORATED, WHOLE], ids=["decorated", "whole"])
def test_the_profile_has_the_memory_of_lines(text: str, tmp_path: Path) -> None:
    stats = profile_of(tmp_path, text)
    assert own_memory(stats, "keep")[max(own_memory(stats, "keep"))] == KEPT
    [whole] = stats.memory.runs
    assert whole.peak_bytes >= KEPT.peak_bytes
    assert 0 < whole.peak_ns < 600_000_000_000
    check_sums(stats)


@pytest.mark.parametrize("core", ["auto", "settrace"])
@pytest.mark.parametrize("decorator", ["", "@profile\n"])
def test_a_first_call_allocates_nothing(
    decorator: str, core: str, tmp_path: Path
) -> None:
    functions = "def empty():\n    pass\n", "def main():\n    empty()\n"
    text = "".join(f"{decorator}{function}" for function in functions)
    stats = profile_of(tmp_path, f"{text}main()\n", "--core", core)
    assert own_memory(stats, "main") == own_memory(stats, "empty") == {}


def test_without_the_flag_there_is_none(tmp_path: Path) -> None:
    assert profile_of(tmp_path, DECORATED, "--no-memory").memory == HostMemory()


@pytest.mark.parametrize("flags", [(), ("-p", "x"), ("--include", "os"), ("-i", "1")])
def test_nothing_of_kernprof_is_counted(flags: tuple[str, ...], tmp_path: Path) -> None:
    outside = outside_memory(profile_of(tmp_path, "x = 1\n", *flags).memory)
    assert outside.alloc_bytes < 5000


ENDINGS = {
    "normal": ("", 0),
    "exit": ("sys.exit(3)", 3),
    "exception": ("raise ValueError", 1),
    "SIGTERM": ("os.kill(os.getpid(), signal.SIGTERM)\nwhile True: pass", -15),
    "SIGINT": ("os.kill(os.getpid(), signal.SIGINT)", -2),
    "SIGHUP": ("os.kill(os.getpid(), signal.SIGHUP)\nwhile True: pass", -1),
    "os._exit": ("os._exit(4)", 4),
    "exec": ("os.execv(sys.executable, [sys.executable, '-c', 'pass'])", 0),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_memory_is_there_however_the_program_ends(
    ending: str, tmp_path: Path
) -> None:
    line, status = ENDINGS[ending]
    write(tmp_path, "x.py", f"{DECORATED}{line}\n")
    env = {"LINEPROF_LIVE": str(tmp_path / "live")}
    done = kernprof("-lq", "--memory", "x.py", cwd=tmp_path, env=env)
    assert done.status == status, done.err
    own = own_memory(load_stats(tmp_path / "x.lprof"), "keep")
    assert own[max(own)] == KEPT


def test_a_recovered_profile_has_the_memory_up_to_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "x.py", f"{DECORATED}keep([None])\nos._exit(0)\n")
    monkeypatch.setenv("LINEPROF_LIVE", str(tmp_path / "live"))
    kernprof("-lq", "--memory", "x.py", cwd=tmp_path)
    done = viewer("recover", cwd=tmp_path)
    assert done.status == 0, done.err
    stats = load_stats(tmp_path / "x.lprof")
    own = own_memory(stats, "keep")
    assert own[max(own)].allocs == 101
    assert not any("was last written" in warning for warning in stats.warnings)


LIMITED = """\
import os, resource, sys
_, most = resource.getrlimit(resource.{name})
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.{name}, (used + (280 << 20), most))
words = [sys.executable, "-m", "kernprof", "-lq", "--memory", "x.py"]
os.execv(sys.executable, words)
"""
FILLING = """\
@profile
def fill(size):
    kept = []
    try:
        while True:
            kept.append(bytes(size))
    except MemoryError:
        return len(kept)

fill(50)
print(fill(10_000_000) >= 20)
"""


@pytest.mark.parametrize("name", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_a_low_limit_is_left_to_the_program(name: str, tmp_path: Path) -> None:
    write(tmp_path, "x.py", FILLING)
    done = run(["-c", LIMITED.format(name=name)], cwd=tmp_path)
    assert (done.status, done.out, done.err) == (0, "True\n", "")
    stats = load_stats(tmp_path / "x.lprof")
    assert stats.memory == HostMemory()
    [warning] = stats.warnings
    assert warning.endswith("; ulimit -v and -d have to leave 512 MiB")


FILLED = """\
import resource
pages = int(open("/proc/self/statm").read().split()[0])
_, most = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize(), most))
"""


def test_an_end_without_memory_is_told_in_words(tmp_path: Path) -> None:
    write(tmp_path, "x.py", f"{DECORATED}{FILLED}print('end')\n")
    done = kernprof("-lq", "--memory", "x.py", cwd=tmp_path)
    assert (done.status, done.out) == (0, "end\n")
    assert all(line.startswith("kernprof: ") for line in done.err.splitlines())


CHILDREN = {
    "fork": """\
if not os.fork():
    keep([None] * 10)
    os._exit(0)
os.wait()
""",
    "fork, normal": """\
if not os.fork():
    keep([None] * 10)
    sys.exit()
os.wait()
""",
    "subprocess": """\
if len(sys.argv) == 1:
    subprocess.run([sys.executable, __file__, "child"], check=True)
""",
    "spawn": """\
if __name__ == "__main__":
    import multiprocessing
    context = multiprocessing.get_context("spawn")
    child = context.Process(target=keep, args=([None] * 10,))
    child.start()
    child.join()
""",
    "multiprocessing fork": """\
import multiprocessing
context = multiprocessing.get_context("fork")
child = context.Process(target=keep, args=([None] * 10,))
child.start()
child.join()
""",
}


@pytest.mark.parametrize("kind", CHILDREN)
def test_each_process_has_its_own_memory(kind: str, tmp_path: Path) -> None:
    stats = profile_of(tmp_path, DECORATED + CHILDREN[kind])
    assert len(stats.processes) == 2
    assert sorted(run.process for run in stats.memory.runs) == [0, 1]
    sums = [0, 0]
    for one in stats.memory.sums:
        path = stats.memory.paths[one.path]
        line = path.lines[-1:] and path.lines[-1][1]
        if line == KEEP_LINE:
            sums[path.process] += one.allocs
    child = {"subprocess": 100, "spawn": 110}.get(kind, 10)
    assert sums == [100, child]
    check_sums(stats)


UNCOLLECTED = """\
class Loop:
    def __init__(self):
        self.loop = self
    def __del__(self):
        print("collected", flush=True)

if not os.fork():
    Loop()
    os._exit(0)
os.wait()
"""


def test_os_exit_collects_none_of_the_objects_of_a_child(tmp_path: Path) -> None:
    write(tmp_path, "x.py", DECORATED + UNCOLLECTED)
    done = kernprof("-lq", "--memory", "x.py", cwd=tmp_path)
    assert (done.status, done.out) == (0, "")


def test_the_views_name_processes_without_memory(tmp_path: Path) -> None:
    stats = profile_of(tmp_path, DECORATED + "keep([None] * 10)\n", "--no-memory")
    (without,) = [one.pid for one in stats.processes]
    (tmp_path / "x.lprof").rename(tmp_path / "without.lprof")
    profile_of(tmp_path, DECORATED + "keep([None] * 10)\n")
    done = viewer("merge", "-o", "all.lprof", "x.lprof", "without.lprof", cwd=tmp_path)
    assert done.status == 0
    for view in ([], ["--memory"], ["--functions"], ["--markdown"]):
        done = viewer("view", *view, "all.lprof", cwd=tmp_path)
        shown = " ".join(done.out.split())
        assert f"memory is that of 1 of 2 processes, without {without}" in shown, view


@pytest.mark.serial
def test_profiles_that_are_written_while_it_runs_do_not_count(tmp_path: Path) -> None:
    # A function has small offsets: those of others are ints that settrace counts. The
    # program imports nothing that lineprof's thread may import before it, or after.
    text = "import time\n@profile\ndef spin(until):\n"
    text += "    while time.monotonic() < until: pass\nspin(time.monotonic() + 2.5)\n"
    stats = profile_of(tmp_path, text, "-i", "1")
    assert outside_memory(stats.memory).alloc_bytes < 50_000


def test_a_budget_may_leave_functions_out(tmp_path: Path) -> None:
    stats = profile_of(tmp_path, WHOLE, "--max-overhead", "1.01")
    check_sums(stats)


def test_another_profiler_of_the_program_may_not_measure(tmp_path: Path) -> None:
    text = "from lineprof import LineProfiler\nLineProfiler(memory=True)\n"
    write(tmp_path, "x.py", text)
    done = kernprof("-lq", "--memory", "x.py", cwd=tmp_path)
    assert done.status == 1
    assert "another profiler of this process measures its memory" in done.err


def test_a_sample_is_enough_to_ask(tmp_path: Path) -> None:
    write(tmp_path, "x.py", DECORATED)
    kernprof_forked("-lq", "--memory-sample", "10KB", "x.py", cwd=tmp_path)
    [one] = load_stats(tmp_path / "x.lprof").memory.runs
    assert one.sample_bytes == 10_000


def test_a_file_may_ask(tmp_path: Path) -> None:
    write(tmp_path, "x.py", DECORATED)
    table = '[tool.lineprof.kernprof]\nmemory = true\nmemory-sample = "1MB"\n'
    write(tmp_path, "pyproject.toml", table)
    kernprof_forked("-lq", "x.py", cwd=tmp_path)
    [one] = load_stats(tmp_path / "x.lprof").memory.runs
    assert one.sample_bytes == 1_000_000


def test_a_child_has_the_environment_that_it_has_without_the_flag(
    tmp_path: Path,
) -> None:
    command = 'import subprocess\nsubprocess.run(["env", "-u", "LINEPROF_CHILDREN"])\n'
    write(tmp_path, "x.py", command)
    texts = [
        kernprof("-lq", flag, "x.py", cwd=tmp_path).out.splitlines()
        for flag in ("--no-memory", "--memory")
    ]
    assert sorted(texts[0]) == sorted(texts[1]) != []


def test_any_command_may_be_measured(tmp_path: Path) -> None:
    write(tmp_path, "x.py", DECORATED)
    words = ["run", "--children", "--memory", "-o", "x.lprof", "--", sys.executable]
    done = run(["-m", "lineprof", *words, "x.py"], cwd=tmp_path)
    assert done.status == 0, done.err
    stats = load_stats(tmp_path / "x.lprof")
    assert memory_of_functions(stats.memory)
    own = own_memory(stats, "keep")
    assert own[max(own)] == KEPT


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--memory",), "--memory needs -l"),
        (("-l", "--memory-sample", "much"), "bad size 'much'; give bytes, or as in"),
        (("-l", "--memory-sample"), "--memory-sample needs a value"),
    ],
)
def test_wrong_flags_are_one_line(
    flags: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    write(tmp_path, "x.py", "")
    words = flags if flags[-1] == "--memory-sample" else (*flags, "x.py")
    done = kernprof_forked(*words, cwd=tmp_path)
    assert done.status == 2
    assert message in done.err
