"""The sampler thread of waits: its start and end, which programs must not notice."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest
from running import new_profiler, run_python

from lineprof.model.records import SLEEP

if TYPE_CHECKING:
    from settable_clock import Clock

pytestmark = pytest.mark.serial
COUNT_SAMPLERS = """
import os
import sys

def samplers():
    names = []
    for thread in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{thread}/comm") as file:
            names.append(file.read().strip())
    return names.count("lineprof")
"""


def check(program: str) -> None:
    """Run a program that prints nothing unless something is wrong."""
    if not hasattr(time, "pthread_getcpuclockid"):
        pytest.skip("the sampler thread exists on Linux alone")
    status, out, err = run_python(COUNT_SAMPLERS + program)
    assert (status, out, err) == (0, "", "")


def test_the_sampler_ends_with_its_profiler() -> None:
    check("""
import gc
import time
from lineprof import LineProfiler
assert samplers() == 0
profiler = LineProfiler()

@profiler
def f():
    time.sleep(0.05)

f()
assert samplers() == 1
assert "sleep" in {wait.cause for wait in profiler.get_stats().waits}
del profiler, f
gc.collect()
assert samplers() == 0
""")


def test_the_sampler_runs_before_the_first_line() -> None:
    """Its start, which takes a processor, is of no line."""
    check("""
from lineprof import LineProfiler
profiler = LineProfiler()
assert samplers() == 0
profiler.enable()
assert samplers() == 1
profiler.disable()

@profiler
def f():
    assert samplers() == 1

f()
""")


def test_the_sampler_runs_before_the_first_line_of_a_decorated_function() -> None:
    check("""
from lineprof import LineProfiler
profiler = LineProfiler()

@profiler
def f():
    assert samplers() == 1

assert samplers() == 0
f()
""")


def test_a_forked_child_has_one_thread() -> None:
    # From 3.12 on, Python warns of a fork while other threads run.
    check("""
import time
import warnings
from lineprof import LineProfiler
warnings.simplefilter("error")
profiler = LineProfiler()

@profiler
def f():
    time.sleep(0.05)
    child = os.fork()
    if child == 0:
        time.sleep(0.05)
        assert samplers() == 0
        waits = profiler.get_stats().waits
        lines = {wait.line - f.__code__.co_firstlineno for wait in waits}
        os._exit(0 if lines >= {2, 5} else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    time.sleep(0.05)
    assert samplers() == 1

f()
""")


def test_the_sampler_leaves_the_numbers_of_new_files_unchanged() -> None:
    check("""
import time
from lineprof import LineProfiler
profiler = LineProfiler()
reader, writer = os.pipe()

@profiler
def f():
    time.sleep(0.05)
    before = os.dup(0)
    os.close(before)
    for _ in range(20000):
        got = os.dup(0)
        os.close(got)
        assert got == before
    os.close(writer)
    assert os.read(reader, 1) == b""  # no other descriptor of it is open

f()
""")


def test_the_program_gets_all_signals() -> None:
    check("""
import signal
import threading
import time
from lineprof import LineProfiler
profiler = LineProfiler()
got = []
signal.signal(signal.SIGUSR1, lambda *_: got.append(threading.current_thread()))

@profiler
def f():
    time.sleep(0.05)
    for _ in range(50):
        os.kill(os.getpid(), signal.SIGUSR1)
        time.sleep(0.001)

f()
assert got == [threading.main_thread()] * 50
assert threading.active_count() == 1
""")


def test_a_profiler_with_a_given_clock_has_no_waits(clock: Clock) -> None:
    profiler = new_profiler(clock=clock.capsule)

    @profiler
    def f() -> None:
        time.sleep(0.05)
        clock.tick(1_000_000_000)

    f()
    stats = profiler.get_stats()
    assert stats.waits == ()
    (function,) = stats.functions
    assert [row.time_ns for row in function.rows] == [0, 1_000_000_000]


def test_waits_can_be_switched_off() -> None:
    check("""
import time
os.environ["LINEPROF_WAITS"] = "off"
from lineprof import LineProfiler
profiler = LineProfiler()

@profiler
def f():
    time.sleep(0.05)
    assert samplers() == 0

f()
assert profiler.get_stats().waits == ()
""")


def test_unfinished_waits_are_reported() -> None:
    profiler = new_profiler()
    lock = threading.Lock()

    @profiler
    def f() -> None:
        lock.acquire()

    lock.acquire()
    thread = threading.Thread(target=f)
    thread.start()
    time.sleep(0.2)
    first = sum(wait.ns for wait in profiler.get_stats().waits)
    time.sleep(0.2)
    lock.release()
    thread.join()
    second = sum(wait.ns for wait in profiler.get_stats().waits)
    assert first > 0.1e9
    assert second - first > 0.1e9


def test_a_reset_clears_waits() -> None:
    profiler = new_profiler()

    @profiler
    def f(seconds: float) -> None:
        time.sleep(seconds)
        if seconds > 0.1:
            profiler.reset()

    f(0.2)
    f(0.05)
    stats = profiler.get_stats()
    (function,) = stats.functions
    (slept,) = (wait for wait in stats.waits if wait.cause == SLEEP)
    assert slept.line == function.line + 2
    assert slept.ns < 0.15e9


def test_two_profilers_of_one_function() -> None:
    first, second = new_profiler(), new_profiler()

    def f() -> None:
        time.sleep(0.05)

    for profiler in (first, second):
        profiler.add_function(f)
    with first:
        f()
        with second:
            f()
    slept = [sum(w.ns for w in p.get_stats().waits) for p in (first, second)]
    assert slept[0] > 0.09e9
    assert 0.045e9 < slept[1] < 0.075e9


def test_blocks_also_have_waits() -> None:
    profiler = new_profiler()
    with profiler.block("nap"):
        time.sleep(0.05)
    stats = profiler.get_stats()
    (function,) = stats.functions
    assert {wait.function for wait in stats.waits} == {function.key}
    assert sum(wait.ns for wait in stats.waits) > 0.045e9


def test_deep_recursion_that_waits_at_every_level() -> None:
    profiler = new_profiler()

    @profiler
    def f(n: int) -> None:
        if n:
            f(n - 1)
        time.sleep(0.0005)

    f(200)
    stats = profiler.get_stats()
    (function,) = stats.functions
    slept = {wait.line - function.line - 1: 0 for wait in stats.waits}
    for wait in stats.waits:
        slept[wait.line - function.line - 1] += wait.ns
    assert slept[3] > 200 * 0.0004e9
    # Each call waits for all levels below it: 199 * 200 / 2 naps.
    assert slept[2] == pytest.approx(slept[3] * 199 / 2, rel=0.3)
