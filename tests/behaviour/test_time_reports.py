"""Time in reports: only while enabled, up to now, since the last reset."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from check_time import check_times
from running import new_profiler

if TYPE_CHECKING:
    from settable_clock import Clock

pytestmark = pytest.mark.usefixtures("hook")


def test_only_time_while_enabled_counts(clock: Clock) -> None:
    check_times(
        """
        def f():
            tick(1)  #= 1
            profile.disable_by_count()
            tick(20)
            profile.enable_by_count()
            tick(300)  #= 300
            return tick(4000)  #= 4000

        def enables():
            tick(1)
            profile.enable_by_count()
            tick(50000)  #= 50000
            profile.disable_by_count()
            tick(600000)

        profile.add_function(f)
        profile.add_function(enables)
        with profile:
            f()
        enables()
        """,
        clock,
    )


def test_a_report_counts_open_lines_up_to_now(clock: Clock) -> None:
    profiler = new_profiler(clock=clock.capsule)
    seen = []

    def look() -> int:
        (function,) = profiler.get_stats().functions
        seen.append(function.total_ns)
        return 1

    @profiler
    def f() -> None:
        clock.tick(1)
        clock.tick(20), look(), clock.tick(300), look()
        clock.tick(4000)

    f()
    look()
    assert seen == [21, 321, 4321]


def test_a_reset_clears_earlier_times(clock: Clock) -> None:
    profiler = new_profiler(clock=clock.capsule)

    @profiler
    def f(reset: bool) -> None:  # noqa: FBT001 - a program, not an interface
        clock.tick(1)
        if reset:
            profiler.reset()
        clock.tick(20)

    f(reset=False)
    f(reset=True)
    (function,) = profiler.get_stats().functions
    assert function.total_ns == 20
    f(reset=False)
    (function,) = profiler.get_stats().functions
    assert function.total_ns == 41


def test_two_profilers_on_one_function(clock: Clock) -> None:
    first = new_profiler(clock=clock.capsule)
    second = new_profiler(clock=clock.capsule)

    def f(n: int) -> None:
        clock.tick(n)

    first.add_function(f)
    second.add_function(f)
    with first:
        f(1)
        with second:
            f(20)
        f(300)
    with second:
        f(4000)
    sums = [p.get_stats().functions[0].total_ns for p in (first, second)]
    assert sums == [321, 4020]


def test_decorated_by_two_profilers(clock: Clock) -> None:
    first = new_profiler(clock=clock.capsule)
    second = new_profiler(clock=clock.capsule)

    def f(n: int) -> int:
        clock.tick(n)
        return n and g(n - 1)

    g = first(second(f))
    g(3)
    for profiler in (first, second):
        (function,) = profiler.get_stats().functions
        assert (function.total_ns, function.calls) == (6, 4)


def test_lambdas_of_one_definition_are_one_function(clock: Clock) -> None:
    stats = check_times(
        """
        def make(n):
            return profile(lambda: tick(n))  #= 6

        for i in (1, 2, 3):
            make(i)()
        """,
        clock,
    )
    assert [function.calls for function in stats.functions] == [3]
