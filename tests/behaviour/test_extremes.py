"""Exact min and max times of a line's executions, by the settable clock.

Expected times are written as ``#[min..max]``; for a line without a mark they are
unknown or 0.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from check_time import measure
from running import hook_name, plain

from lineprof import LineStats

if TYPE_CHECKING:
    from pathlib import Path

    from settable_clock import Clock

    from lineprof.model.records import LineTotals

pytestmark = pytest.mark.usefixtures("hook")

MARK = re.compile(r"#\[(\d+)\.\.(\d+)\]")


def check_extremes(program: str, clock: Clock) -> LineStats:
    """Run *program* and compare its times with those written in its lines."""
    text = plain(program)
    stats = measure(text, clock)
    found = {row.line: (row.min_ns, row.max_ns) for row in rows(stats) if row.max_ns}
    lines = enumerate(text.splitlines(), 1)
    expected = {n: MARK.search(line) for n, line in lines}
    assert found == {n: (int(m[1]), int(m[2])) for n, m in expected.items() if m}
    return stats


def rows(stats: LineStats) -> list[LineTotals]:
    return [row for function in stats.functions for row in function.rows]


def test_a_line_has_its_min_and_max_time(clock: Clock) -> None:
    check_extremes(
        """
        @profile
        def f(n):
            tick(n)  #[1..50]
            if n > 1:
                tick(5)  #[5..5]
            return tick(2 * n)  #[2..100]

        for n in 3, 50, 1, 7:
            f(n)
        """,
        clock,
    )


def test_an_execution_includes_its_callees(clock: Clock) -> None:
    check_extremes(
        """
        @profile
        def inner(n):
            tick(n)  #[10..20]

        @profile
        def outer(n):
            inner(n)  #[10..20]
            [tick(n) for _ in range(3)]  #[30..60]

        outer(10)
        outer(20)
        """,
        clock,
    )


def test_a_call_over_several_lines_is_one_execution(clock: Clock) -> None:
    check_extremes(
        """
        def g(a, b):
            tick(a)

        @profile
        def f(n):
            tick(1)  #[1..1]
            g(  #[100..200]
                n,
                2 * n,
            )
            tick(2)  #[2..2]

        f(100)
        f(200)
        """,
        clock,
    )


def test_each_iteration_of_a_loop_on_one_line_is_an_execution(clock: Clock) -> None:
    check_extremes(
        """
        @profile
        def f(items):
            for n in items: tick(n)  #[0..9]

        f([4, 9, 2])
        """,
        clock,
    )


def test_executions_at_each_level_of_recursion_are_separate(clock: Clock) -> None:
    check_extremes(
        """
        @profile
        def f(n):
            tick(1)  #[1..1]
            if n:
                f(n - 1)  #[1..3]

        f(3)
        """,
        clock,
    )


def test_an_exception_ends_an_execution(clock: Clock) -> None:
    check_extremes(
        """
        def fail():
            tick(30)
            raise KeyError

        @profile
        def f():
            fail()  #[30..30]

        try:
            f()
        except KeyError:
            pass
        """,
        clock,
    )


def test_an_execution_that_is_suspended_has_no_time(clock: Clock) -> None:
    text = """
        @profile
        def f():
            tick(1)  #[1..1]
            yield tick(10)
            tick(2)  #[2..2]
            x = (yield) or tick(20)
            tick(3)  #[3..3]
            return

        for _ in f():
            pass
        """
    check_extremes(text, clock)


@pytest.mark.skipif(
    hook_name() == "settrace",
    reason="there the last line of a generator looks like a yield",
)
def test_the_last_line_of_a_generator_is_a_whole_execution(clock: Clock) -> None:
    check_extremes(
        """
        @profile
        def f():
            yield
            tick(7)  #[7..7]

        for _ in f():
            pass
        """,
        clock,
    )


def test_a_reset_clears_min_and_max_times(clock: Clock) -> None:
    check_extremes(
        """
        @profile
        def f(n):
            tick(n)  #[3..4]

        f(1)
        f(100)
        profile.reset()
        f(3)
        f(4)
        """,
        clock,
    )


def test_a_report_leaves_out_an_unfinished_execution(clock: Clock) -> None:
    check_extremes(
        """
        def look(n):
            tick(n)
            if n > 5:
                profile.get_stats()
            tick(n)

        @profile
        def f(n):
            look(n)  #[4..8]

        f(2)
        f(400)
        f(4)
        """,
        clock,
    )


def test_files_and_sums_keep_min_and_max_times(clock: Clock, tmp_path: Path) -> None:
    program = """
        @profile
        def f(n):
            tick(n)

        for n in 2, 9, 5:
            f(n)
        """
    measure(plain(program), clock).to_file(tmp_path / "first.lprof")
    loaded = LineStats.from_files(tmp_path / "first.lprof")
    (row,) = rows(loaded)
    assert (row.min_ns, row.max_ns) == (2, 9)
    old = LineStats({loaded.functions[0].key: [(3, 1, 1)]}, 1e-9)
    (row,) = rows(loaded + old)
    assert (row.min_ns, row.max_ns) == (2, 9)
    (row,) = rows(loaded + loaded)
    assert (row.min_ns, row.max_ns) == (2, 9)


def test_a_statement_that_ended_before_a_yield(clock: Clock) -> None:
    check_extremes(
        """
        @profile
        def f():
            x = [tick(10),  #[10..10]
                 tick(5)]
            tick(20)  #[20..20]
            yield x

        list(f())
        """,
        clock,
    )
