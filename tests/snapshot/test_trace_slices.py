"""Slices of functions, and long slices of lines, exact to the nanosecond."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from c_events import needs_c_events
from check_trace import nested, rows_of, slices_of, traced

from lineprof import LineProfiler, start, stop
from lineprof.model.records import UNKNOWN_THREAD
from lineprof.model.timelines import ITEMS_PER_BATCH

if TYPE_CHECKING:
    from settable_clock import Clock

pytestmark = pytest.mark.usefixtures("hook")

OFF = float("inf")


def test_slices_of_calls_are_within_the_lines_that_make_them(clock: Clock) -> None:
    found = slices_of(
        """
        @profile
        def inner():
            tick(5)

        @profile
        def outer():
            tick(10)
            inner()
            tick(20); inner()
            return tick(3)

        tick(100)
        outer()
        tick(100)
        inner()
        """,
        clock,
    )
    assert found == [
        (100, 143, "outer", 0),
        (100, 110, "outer", 7),
        (110, 115, "outer", 8),
        (110, 115, "inner", 0),
        (110, 115, "inner", 3),
        (115, 140, "outer", 9),
        (135, 140, "inner", 0),
        (135, 140, "inner", 3),
        (140, 143, "outer", 10),
        (243, 248, "inner", 0),
        (243, 248, "inner", 3),
    ]


PROGRAM = """
@profile
def f():
    tick(999)
    tick(1000)
    for i in range(2):
        tick(400)
    g(1)

@profile
def g(n):
    tick(600 * n)
    tick(600 * n)

f()
g(2)
"""


def test_lines_below_the_threshold_are_left_out_and_functions_are_not(
    clock: Clock,
) -> None:
    assert slices_of(PROGRAM, clock, lines_ns=1000) == [
        (0, 3999, "f", 0),
        (999, 1999, "f", 4),
        (2799, 3999, "f", 7),  # includes its callee
        (2799, 3999, "g", 0),
        (3999, 6399, "g", 0),
        (3999, 5199, "g", 11),
        (5199, 6399, "g", 12),
    ]


def test_all_lines_may_be_left_out(clock: Clock) -> None:
    found = slices_of(PROGRAM, clock, lines_ns=OFF)
    assert found == [(0, 3999, "f", 0), (2799, 3999, "g", 0), (3999, 6399, "g", 0)]


def test_slices_of_recursion_nest(clock: Clock) -> None:
    found = slices_of(
        """
        @profile
        def f(n):
            tick(10)
            if n:
                f(n - 1)
            tick(1)

        f(2)
        """,
        clock,
        lines_ns=OFF,
    )
    assert found == [(0, 33, "f", 0), (10, 32, "f", 0), (20, 31, "f", 0)]


def test_each_step_of_a_generator_is_a_slice(clock: Clock) -> None:
    found = slices_of(
        """
        @profile
        def numbers():
            tick(1)
            for i in range(2):
                yield tick(20)
            tick(300)

        @profile
        def main():
            for n in numbers():
                tick(4000)

        main()
        """,
        clock,
        lines_ns=20,
    )
    assert found == [
        (0, 8341, "main", 0),
        (0, 21, "main", 10),
        (0, 21, "numbers", 0),
        (1, 21, "numbers", 5),
        (21, 4021, "main", 11),
        (4021, 4041, "main", 10),
        (4021, 4041, "numbers", 0),
        (4021, 4041, "numbers", 5),
        (4041, 8041, "main", 11),
        (8041, 8341, "main", 10),
        (8041, 8341, "numbers", 0),
        (8041, 8341, "numbers", 6),
    ]


def test_a_coroutine_has_slices_only_while_it_runs(clock: Clock) -> None:
    found = slices_of(
        """
        class Suspend:
            def __await__(self):
                yield

        @profile
        async def f():
            tick(1)
            await Suspend()
            tick(20)

        c = f()
        c.send(None)
        tick(5000)
        try:
            c.send(None)
        except StopIteration:
            pass
        """,
        clock,
        lines_ns=OFF,
    )
    assert found == [(0, 1, "f", 0), (5001, 5021, "f", 0)]


def test_a_slice_ends_when_its_function_raises(clock: Clock) -> None:
    found = slices_of(
        """
        @profile
        def f(n):
            tick(10)
            if not n:
                raise ValueError
            try:
                f(n - 1)
            finally:
                tick(100)

        try:
            f(2)
        except ValueError:
            pass
        """,
        clock,
        lines_ns=OFF,
    )
    assert found == [(0, 230, "f", 0), (10, 130, "f", 0), (20, 30, "f", 0)]


def test_slices_have_their_thread(clock: Clock) -> None:
    profiler = traced(clock, OFF)

    @profiler
    def work(n: int) -> None:
        clock.tick(n)

    # Both exist at the same time: a new thread may get the index of an ended one.
    over = threading.Event()

    def run(n: int, name: str) -> threading.Thread:
        done = threading.Event()

        def body() -> None:
            work(n)
            done.set()
            over.wait()

        thread = threading.Thread(target=body, name=name)
        thread.start()
        done.wait()
        return thread

    work(1)
    threads = [run(20, "first"), run(300, "second")]
    over.set()
    for thread in threads:
        thread.join()
    work(4000)
    stats = profiler.get_stats()
    (trace,) = stats.traces
    found = [(one.ns, stats.threads[one.thread].native_id) for one in nested(trace)]
    here = threading.get_native_id()
    ids = [native_id for _, native_id in found]
    assert [ns for ns, _ in found] == [1, 20, 300, 4000]
    assert (ids[0], ids[3]) == (here, here)
    assert len({one.thread for one in trace}) == 3
    assert set(trace.threads) - {UNKNOWN_THREAD} == {one.thread for one in trace}


def test_open_slices_end_now(clock: Clock) -> None:
    profiler = traced(clock)
    seen = []
    begin = clock.now()

    @profiler
    def f(n: int) -> None:
        clock.tick(10)
        if n:
            f(n - 1)
        else:
            seen.extend(profiler.get_stats() for _ in range(2))
        clock.tick(100)

    first = f.__code__.co_firstlineno
    f(1)
    now = [
        (0, 20, "f", 0),
        (0, 10, "f", first + 2),
        (10, 20, "f", first + 4),
        (10, 20, "f", 0),
        (10, 20, "f", first + 2),
    ]
    for stats in seen:
        rows = rows_of(stats, begin)
        assert [row for row in rows if row[1] > row[0]] == now
        assert (20, 20, "f", first + 6) in rows
    whole = rows_of(profiler.get_stats(), begin)
    assert [row for row in whole if row[1] > row[0]] == [
        (0, 220, "f", 0),
        (0, 10, "f", first + 2),
        (10, 120, "f", first + 4),
        (10, 120, "f", 0),
        (10, 20, "f", first + 2),
        (20, 120, "f", first + 7),
        (120, 220, "f", first + 7),
    ]


def test_a_reset_clears_slices(clock: Clock) -> None:
    profiler = traced(clock, OFF)
    begin = clock.now()

    @profiler
    def g() -> None:
        clock.tick(1)

    @profiler
    def f() -> None:
        g()
        clock.tick(10)
        profiler.reset()
        clock.tick(200)
        g()

    f()
    assert rows_of(profiler.get_stats(), begin) == [
        (11, 212, "f", 0),
        (211, 212, "g", 0),
    ]
    profiler.reset()
    assert profiler.get_stats().traces == ()


def test_the_time_between_stop_and_start_is_in_no_slice(clock: Clock) -> None:
    profiler = traced(clock, OFF)
    begin = clock.now()

    @profiler
    def f() -> None:
        clock.tick(10)
        stop()
        clock.tick(200)
        start()
        clock.tick(3000)

    f()
    found = rows_of(profiler.get_stats(), begin)
    assert [row[1] - row[0] for row in found] == [10, 3000]
    assert found[1][0] == 210


def test_a_slice_ends_when_its_profiler_is_disabled(clock: Clock) -> None:
    profiler = traced(clock, OFF)
    begin = clock.now()

    def f() -> None:
        clock.tick(10)
        profiler.disable()
        clock.tick(200)
        profiler.enable()
        clock.tick(3000)

    profiler.add_function(f)
    profiler.enable()
    f()
    profiler.disable()
    found = rows_of(profiler.get_stats(), begin)
    assert found[0] == (0, 10, "f", 0)
    assert found[-1][1] == 3210


def test_each_profiler_has_its_own_slices(clock: Clock) -> None:
    one, other = traced(clock, OFF), traced(clock, OFF)
    begin = clock.now()

    def f() -> None:
        clock.tick(1)

    def g() -> None:
        clock.tick(20)
        f()

    first, second = one(f), other(g)
    first()
    second()
    with one:
        f()
    assert rows_of(one.get_stats(), begin) == [(0, 1, "f", 0), (22, 23, "f", 0)]
    assert rows_of(other.get_stats(), begin) == [(1, 22, "g", 0)]
    one.reset()
    assert one.get_stats().traces == ()
    assert rows_of(other.get_stats(), begin) == [(1, 22, "g", 0)]


def test_two_profilers_of_one_function_both_have_its_slices(clock: Clock) -> None:
    one, other = traced(clock, OFF), traced(clock, OFF)
    begin = clock.now()

    @other
    @one
    def f() -> None:
        clock.tick(7)

    f()
    for profiler in (one, other):
        assert rows_of(profiler.get_stats(), begin) == [(0, 7, "f", 0)]


def test_without_the_option_no_slices_are_kept(clock: Clock) -> None:
    profiler = LineProfiler(clock=clock.capsule)

    @profiler
    def f() -> None:
        clock.tick(7)

    f()
    assert not profiler.traced
    assert profiler.get_stats().traces == ()


def test_a_full_buffer_keeps_earlier_slices_and_counts_later_ones(clock: Clock) -> None:
    profiler = traced(clock, OFF, memory_mb=1)
    begin = clock.now()

    @profiler
    def f() -> None:
        clock.tick(1000)

    @profiler
    def main() -> None:
        for _ in range(300_000):
            f()

    main()
    stats = profiler.get_stats()
    (trace,) = stats.traces
    assert trace.count + trace.left_out == 300_001
    assert 100_000 < trace.count < 300_000
    assert [batch.events for batch in trace.batches[:1]] == [ITEMS_PER_BATCH]
    outer, *rest = rows_of(stats, begin)
    assert outer == (0, 300_000_000, "main", 0)
    assert rest == [(i * 1000, i * 1000 + 1000, "f", 0) for i in range(len(rest))]
    (warning,) = stats.warnings
    assert f" (1 MB) was full; {trace.left_out} later slices " in warning
    packed = sum(len(data) for batch in trace.batches for _, data in batch.columns)
    assert packed < 2 * trace.count


def test_many_slices_are_in_order(clock: Clock) -> None:
    profiler = traced(clock, OFF, memory_mb=8)
    begin = clock.now()

    @profiler
    def leaf(n: int) -> None:
        clock.tick(n + 1)

    @profiler
    def outer(n: int) -> None:
        for i in range(n):
            leaf(i)
        if n > 100:
            outer(n // 2)

    for _ in range(300):
        outer(1000)
    rows = rows_of(profiler.get_stats(), begin)
    assert len(rows) == 300 * (1000 + 500 + 250 + 125 + 62 + 5)
    whole = sum(n * (n + 1) // 2 for n in (1000, 500, 250, 125, 62))
    assert [row[:2] for row in rows if row[1] - row[0] == whole] == [
        (i * whole, (i + 1) * whole) for i in range(300)
    ]
    leaves = [row[1] - row[0] for row in rows if row[2] == "leaf"]
    assert leaves[:1000] == [*range(1, 1001)]


def test_code_copies_and_their_original_are_one_function(clock: Clock) -> None:
    profiler = traced(clock, OFF)

    def f() -> None:
        clock.tick(7)

    profiler.add_function(f)
    decorated = profiler(f)
    decorated()
    with profiler:
        f()
    (trace,) = profiler.get_stats().traces
    assert [one.ns for one in trace] == [7, 7]
    assert len({one.function for one in trace}) == 1


@needs_c_events
def test_slices_of_c_functions_are_in_the_line_that_calls_them(clock: Clock) -> None:
    profiler = traced(clock, lines_ns=0)
    begin = clock.now()
    profiler.c_functions()

    @profiler
    def f() -> None:
        clock.tick(1)
        sorted([3], key=clock.tick)
        clock.tick(50)

    f()
    profiler.c_functions(on=False)
    first = f.__code__.co_firstlineno
    found = rows_of(profiler.get_stats(), begin)
    names = {"f": "f", "sorted": "sorted"}
    assert [(*row[:2], names[row[2]], row[3]) for row in found if row[2] in names] == [
        (0, 54, "f", 0),
        (0, 1, "f", first + 2),
        (1, 4, "f", first + 3),
        (1, 4, "sorted", 0),
        (4, 54, "f", first + 4),
    ]
    profiler.reset()
    assert profiler.get_stats().traces == ()
