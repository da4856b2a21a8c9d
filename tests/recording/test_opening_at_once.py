"""Threads that create and drop the only profilers of a process at the same time."""

from __future__ import annotations

import pytest
from running import plain, run_python

pytestmark = pytest.mark.usefixtures("hook")

THREADS = """
import sys, threading
from lineprof import LineProfiler
sys.setswitchinterval(1e-6)
def step():
    pass
def all_at_once(work):
    begin = threading.Barrier(4)
    def run():
        begin.wait()
        work()
    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def test_the_first_profilers() -> None:
    program = """
    def work():
        profilers.append(LineProfiler())
    profilers = []
    all_at_once(work)
    for profiler in profilers:
        profiler(step)()
    for profiler in profilers:
        [[(line, hits, ns)]] = profiler.get_stats().timings.values()
        print(hits)
    """
    assert run_python(THREADS + plain(program)) == (0, "1\n" * 4, "")


def test_the_last_profilers_are_dropped_while_others_are_made() -> None:
    program = """
    def work():
        for _ in range(50):
            profiler = LineProfiler()
            profiler(step)()
            counted.append(len(profiler.get_stats().timings))
            del profiler
    counted = []
    before = sys.settrace, threading.settrace
    all_at_once(work)
    print(sum(counted), (sys.settrace, threading.settrace) == before)
    print(sys.gettrace(), threading._trace_hook)
    """
    assert run_python(THREADS + plain(program)) == (0, "200 True\nNone None\n", "")
