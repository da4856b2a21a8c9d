"""Time of forked children: the lines that were open at the fork are the parent's."""

from __future__ import annotations

import json
import os
import textwrap
import threading
import warnings
from typing import TYPE_CHECKING

import pytest
from as_python import kernprof_forked, write
from running import new_profiler

from lineprof import load_stats
from lineprof.model.records import NO_NODE

if TYPE_CHECKING:
    from pathlib import Path

    from settable_clock import Clock

    from lineprof import LineProfiler, LineStats

PROGRAM = """
import concurrent.futures, multiprocessing, os, signal, time

def work(_=None):
    time.sleep(0.2)

def ended_by_signal():
    work()
    os.kill(os.getpid(), signal.SIGKILL)

def main():
{body}

if __name__ == "__main__":
    begun = time.perf_counter()
    main()
    print(time.perf_counter() - begun)
"""
# How a child is forked, in which `work` takes longer than the line in the parent.
FORKS = {
    "a process": """
        child = multiprocessing.get_context("fork").Process(target=work)
        child.start()
        child.join()
        """,
    "a process that is killed": """
        child = multiprocessing.get_context("fork").Process(target=ended_by_signal)
        child.start()
        child.join()
        """,
    "a pool": """
        with multiprocessing.get_context("fork").Pool(2) as pool:
            pool.map(work, range(4), chunksize=1)
        """,
    "an executor": """
        context = multiprocessing.get_context("fork")
        with concurrent.futures.ProcessPoolExecutor(2, context) as pool:
            list(pool.map(work, range(4)))
        """,
    "os.fork on one line": """
        os.fork() or (work(), os._exit(0))
        os.wait()
        """,
}


def measured(folder: Path, program: str) -> tuple[LineStats, int]:
    """Return the profile of a program, and the ns that it printed in seconds."""
    write(folder, "forks.py", program)
    outcome = kernprof_forked("-lq", "forks.py", cwd=folder)
    assert (outcome.status, outcome.err) == (0, "")
    return load_stats(folder / "forks.lprof"), int(float(outcome.out) * 1e9)


@pytest.mark.parametrize("live", ["on", "off"])
@pytest.mark.parametrize("fork", FORKS)
def test_a_line_that_forks_takes_no_longer_than_in_the_parent(
    tmp_path: Path, fork: str, live: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if live == "off":
        if fork in {"a process that is killed", "a pool"}:
            pytest.skip("a child that is killed leaves nothing without a live file")
        monkeypatch.setenv("LINEPROF_LIVE", "off")
    body = textwrap.indent(textwrap.dedent(FORKS[fork]), "    ")
    stats, wall_ns = measured(tmp_path, PROGRAM.format(body=body))
    functions = {function.name: function for function in stats.functions}
    main, work = functions["main"], functions["work"]
    assert main.total_ns <= wall_ns
    assert sum(row.time_ns for row in main.rows) <= wall_ns
    assert work.total_ns >= work.calls * 200_000_000
    # The child does not return to the line that forked: `main` called nobody.
    nodes = stats.calls.nodes
    callers = {nodes[one.parent].function for one in nodes if one.parent != NO_NODE}
    assert main.key not in callers


def times(profiler: LineProfiler) -> dict[str, list[int]]:
    """Return the times (ns) of a function's lines, and its total, by its last name."""
    found = {}
    for function in profiler.get_stats().functions:
        name = function.name.rpartition(".")[2]
        found[name] = [*(row.time_ns for row in function.rows), function.total_ns]
    return found


@pytest.mark.smoke
@pytest.mark.usefixtures("hook")
def test_a_child_counts_from_its_next_line_on(clock: Clock) -> None:
    profiler = new_profiler(clock=clock.capsule)
    tick = clock.tick

    @profiler
    def inner() -> None:
        tick(100)

    @profiler
    def forks() -> int:
        tick(1)
        pid = (tick(10), os.fork(), tick(1000), inner())[1]
        tick(20)
        if pid == 0:
            inner()
            tick(5)
        return int(bool(pid))

    reader, writer = os.pipe()
    if forks():
        os.wait()
    else:
        os.write(writer, json.dumps(times(profiler)).encode())
        os._exit(0)
    child = json.loads(os.read(reader, 4096))
    os.close(reader)
    os.close(writer)
    assert times(profiler)["forks"] == [1, 1110, 20, 0, 0, 1131]
    assert child["forks"] == [1, 10, 20, 0, 100, 5, 0, 136]
    assert child["inner"] == [200, 200]


@pytest.mark.smoke
@pytest.mark.usefixtures("hook")
def test_calls_in_a_child_are_outermost_though_its_parent_is_in_the_function(
    clock: Clock,
) -> None:
    profiler = new_profiler(clock=clock.capsule)
    tick = clock.tick
    reader, writer = os.pipe()

    def run_child() -> None:
        pid = os.fork()
        if pid:
            os.wait()
            return
        profiler.reset()
        recurse(2)
        os.write(writer, json.dumps(times(profiler)).encode())
        os._exit(0)

    @profiler
    def recurse(n: int) -> None:
        tick(10)
        if n == 0:
            return run_child()
        if n < 3:
            return tick(100)
        return recurse(n - 3)

    recurse(3)
    child = json.loads(os.read(reader, 4096))
    os.close(reader)
    os.close(writer)
    assert child == {"recurse": [10, 0, 0, 100, 110]}
    assert times(profiler)["recurse"][-1] == 20


@pytest.mark.smoke
@pytest.mark.usefixtures("hook")
def test_threads_of_the_parent_have_no_time_in_a_child(clock: Clock) -> None:
    profiler = new_profiler(clock=clock.capsule)
    tick = clock.tick
    is_open, may_end = threading.Event(), threading.Event()
    reader, writer = os.pipe()

    @profiler
    def waits() -> None:
        is_open.set()
        may_end.wait()

    thread = threading.Thread(target=waits)
    thread.start()
    is_open.wait()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of forks while there are threads
        pid = os.fork()
    tick(1000)
    if not pid:
        os.write(writer, json.dumps(times(profiler)).encode())
        os._exit(0)
    os.wait()
    may_end.set()
    thread.join()
    child = json.loads(os.read(reader, 4096))
    os.close(reader)
    os.close(writer)
    assert child["waits"] == [0, 0, 0]
    assert times(profiler)["waits"][-1] == 1000
