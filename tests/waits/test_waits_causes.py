"""Causes of waits, as the system reports them: sleep, locks, I/O, the GIL.

The machine may be busy, so times are compared within one run: a wait with the
time of its line. Each wait is long enough to be sampled many times.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest
from running import new_profiler

from lineprof.model.records import CAUSES, GIL, IO, LOCK, OTHER, RUNNABLE, SLEEP

if TYPE_CHECKING:
    from collections.abc import Callable

    from lineprof import LineStats

pytestmark = [
    pytest.mark.serial,
    pytest.mark.skipif(
        sys.platform != "linux", reason="other systems do not report causes"
    ),
]
LONG = 0.4  # s; a busy machine may not let the sampler run for 0.2 s


def waits(stats: LineStats, name: str, line: int) -> tuple[int, dict[str, int]]:
    """Return time (ns) and waits by cause of a line; line 1 is below ``def``."""
    (function,) = (f for f in stats.functions if f.name.endswith(name))
    number = function.line + 1 + line
    found: dict[str, int] = {}
    for wait in stats.waits:
        if wait.function == function.key and wait.line == number:
            found[wait.cause] = found.get(wait.cause, 0) + wait.ns
    (time_ns,) = (row.time_ns for row in function.rows if row.line == number)
    return time_ns, found


def share(stats: LineStats, name: str, line: int, *causes: str) -> float:
    """Return the share of a line's time in waits for `causes`, by default for any.

    Time in which the thread was runnable, on a busy machine, is left out.
    """
    time_ns, found = waits(stats, name, line)
    time_ns -= found.pop(RUNNABLE, 0)
    return sum(found.get(cause, 0) for cause in causes or CAUSES) / time_ns


def later(run: Callable[[], object]) -> threading.Timer:
    """Call *run* on a thread after the wait."""
    timer = threading.Timer(LONG, run)
    timer.start()
    return timer


@pytest.mark.smoke
def test_sleep_is_a_wait_and_computing_is_not() -> None:
    profiler = new_profiler()

    @profiler
    def program() -> None:
        time.sleep(LONG)
        sum(range(3_000_000))

    program()
    stats = profiler.get_stats()
    assert share(stats, "program", 1, SLEEP) > 0.9
    assert share(stats, "program", 2) < 0.1


def test_select_without_files_is_a_sleep() -> None:
    profiler = new_profiler()

    @profiler
    def program() -> None:
        select.select([], [], [], LONG)

    program()
    assert share(profiler.get_stats(), "program", 1, SLEEP) > 0.9


def test_short_sleeps_are_waits_for_sleep_alone() -> None:
    profiler = new_profiler()

    @profiler
    def program() -> None:
        for _ in range(200):
            time.sleep(0.001)

    program()
    stats = profiler.get_stats()
    _, found = waits(stats, "program", 2)
    assert share(stats, "program", 2) > 0.7
    assert found[SLEEP] > 0.8 * (sum(found.values()) - found.get(RUNNABLE, 0))


def test_a_lock_that_another_thread_holds() -> None:
    profiler = new_profiler()
    lock = threading.Lock()

    @profiler
    def program() -> None:
        lock.acquire()

    lock.acquire()
    timer = later(lock.release)
    program()
    timer.join()
    assert share(profiler.get_stats(), "program", 1, LOCK) > 0.9


def test_reading_a_pipe_is_io() -> None:
    profiler = new_profiler()
    reader, writer = os.pipe()

    @profiler
    def program() -> None:
        os.read(reader, 1)

    timer = later(lambda: os.write(writer, b"x"))
    program()
    timer.join()
    os.close(reader)
    os.close(writer)
    assert share(profiler.get_stats(), "program", 1, IO) > 0.9


def test_waiting_for_a_child_process_is_a_wait() -> None:
    profiler = new_profiler()
    child = subprocess.Popen([sys.executable, "-c", f"import time; time.sleep({LONG})"])

    @profiler
    def program() -> None:
        child.wait()

    program()
    assert share(profiler.get_stats(), "program", 1, OTHER) > 0.9


def test_two_threads_that_compute_take_turns() -> None:
    profiler = new_profiler()
    ready = threading.Barrier(2)

    def count() -> int:
        n = 0
        for i in range(4_000_000):
            n += i
        return n

    @profiler
    def program() -> None:
        ready.wait()
        count()

    threads = [threading.Thread(target=program) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stats = profiler.get_stats()
    # One runs while the other waits; other processes may have taken some time.
    time_ns, found = waits(stats, "program", 2)
    assert found.get(GIL, 0) > 0.25 * (time_ns - found.get(RUNNABLE, 0))
    assert share(stats, "program", 2, GIL) < 0.95
    assert share(stats, "program", 2, LOCK, SLEEP, IO) < 0.05
    assert len({wait.thread for wait in stats.waits if wait.cause == GIL}) == 2


def test_a_wait_of_a_callee_also_counts_in_its_callers() -> None:
    profiler = new_profiler()

    @profiler
    def inner() -> None:
        time.sleep(LONG)

    @profiler
    def middle() -> None:
        inner()

    @profiler
    def outer() -> None:
        middle()
        sum(range(1000))

    outer()
    stats = profiler.get_stats()
    times = [waits(stats, name, 1)[1][SLEEP] for name in ("inner", "middle", "outer")]
    assert times == pytest.approx([times[0]] * 3, rel=0.01)
    assert times[0] > LONG * 0.9e9
    assert share(stats, "outer", 2) < 0.5


def test_a_wait_before_a_call_does_not_count_in_the_callee() -> None:
    profiler = new_profiler()

    @profiler
    def inner(_: object) -> None:
        sum(())

    @profiler
    def outer() -> None:
        inner(time.sleep(LONG))

    outer()
    stats = profiler.get_stats()
    assert share(stats, "outer", 1, SLEEP) > 0.9
    assert SLEEP not in waits(stats, "inner", 1)[1]


def test_generators_wait_on_their_own_lines() -> None:
    profiler = new_profiler()

    @profiler
    def numbers() -> object:
        time.sleep(LONG)
        yield 1
        time.sleep(2 * LONG)

    @profiler
    def program() -> None:
        for _ in numbers():
            time.sleep(3 * LONG)

    program()
    stats = profiler.get_stats()
    first, at_yield, second, loop, between = (
        waits(stats, name, line)[1].get(SLEEP, 0) / 1e9 / LONG
        for name, line in (
            ("numbers", 1),
            ("numbers", 2),
            ("numbers", 3),
            ("program", 1),
            ("program", 2),
        )
    )
    assert min(first, second / 2, between / 3) > 0.9
    assert at_yield == 0
    assert loop == pytest.approx(first + second, rel=0.01)
