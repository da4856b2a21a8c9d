"""Time on threads: each has its own current lines."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from running import new_profiler

if TYPE_CHECKING:
    from collections.abc import Callable

    from settable_clock import Clock

pytestmark = pytest.mark.usefixtures("hook")


def on_a_thread(run: Callable[[], object]) -> None:
    """Call *run* on a new thread and wait for its end."""
    thread = threading.Thread(target=run, name="worker")
    thread.start()
    thread.join()


def test_threads_have_their_own_open_lines(clock: Clock) -> None:
    profiler = new_profiler(clock=clock.capsule)

    @profiler
    def work(n: int) -> None:
        clock.tick(n)
        if n > 10:
            on_a_thread(lambda: work(n - 10))
        clock.tick(1000 * n)

    work(30)
    stats = profiler.get_stats()
    (function,) = stats.functions
    rows = [row.time_ns for row in function.rows]
    # Each thread is on the if until the threads that it started have ended.
    assert rows == [60, 0, 30_030 + 10_010, 60_000]
    assert function.calls == 3
    assert function.recursive_ns is None, "no thread had two calls open at once"
    mine = threading.get_native_id()
    by_thread: dict[bool, int] = {}
    for cell in function.thread_lines:
        here = stats.threads[cell.thread].native_id == mine
        by_thread[here] = by_thread.get(here, 0) + cell.time_ns
    assert by_thread == {True: 60_060, False: 30_030 + 10_010}


def test_a_generator_that_is_resumed_on_another_thread(clock: Clock) -> None:
    profiler = new_profiler(clock=clock.capsule)

    @profiler
    def numbers() -> object:
        clock.tick(1)
        yield clock.tick(20), (yield), clock.tick(300)
        clock.tick(4000)
        yield

    g = numbers()
    next(g)
    clock.tick(9)
    on_a_thread(lambda: next(g))
    clock.tick(9)
    next(g)
    (function,) = profiler.get_stats().functions
    assert [row.time_ns for row in function.rows] == [1, 320, 4000, 0]


def test_a_coroutine_that_is_resumed_on_another_thread(clock: Clock) -> None:
    profiler = new_profiler(clock=clock.capsule)

    class Pause:
        def __await__(self) -> object:
            yield

    @profiler
    async def f() -> None:
        clock.tick(1)
        await Pause()  # type: ignore[misc]
        clock.tick(20)

    c = f()
    c.send(None)
    clock.tick(300)

    def finish() -> None:
        with pytest.raises(StopIteration):
            c.send(None)

    on_a_thread(finish)
    (function,) = profiler.get_stats().functions
    assert [row.time_ns for row in function.rows] == [1, 0, 20]
    assert [row.await_ns for row in function.rows] == [0, 300, 0]
