"""Time of lines that are not suspended; the marks are explained in check_time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from check_time import check_times, measure, totals
from running import plain

if TYPE_CHECKING:
    from settable_clock import Clock

pytestmark = pytest.mark.usefixtures("hook")


def test_each_line_has_its_time(clock: Clock) -> None:
    stats = check_times(
        """
        @profile
        def f():
            tick(1)  #= 2
            tick(20); tick(3)  #= 46
            x = 1
            return tick(400)  #= 800

        f()
        tick(5000)
        f()
        """,
        clock,
    )
    assert totals(stats) == {"f": 848}
    assert [function.calls for function in stats.functions] == [2]
    assert stats.functions[0].recursive_ns is None


def test_the_time_of_a_line_includes_its_callees(clock: Clock) -> None:
    check_times(
        """
        def plain():
            tick(10)

        @profile
        def inner():
            tick(200)  #= 400
            plain()  #= 20

        @profile
        def outer():
            plain()  #= 10
            inner()  #= 210
            sorted([2, 1], key=lambda item: tick(1000) or item)  #= 2000
            return inner()  #= 210

        outer()
        """,
        clock,
    )


def test_loops(clock: Clock) -> None:
    check_times(
        """
        class Slow:
            def __init__(self):
                self.n = 3
            def __iter__(self):
                return self
            def __next__(self):
                tick(100)
                self.n -= 1
                if self.n < 0:
                    raise StopIteration
            def __bool__(self):
                tick(7)
                self.n -= 1
                return self.n > 0

        @profile
        def f():
            for _ in Slow():  #= 400
                tick(1)  #= 3
            for _ in Slow(): tick(1)  #= 403
            slow = Slow()
            while slow:  #= 21
                tick(1000)  #= 2000

        f()
        """,
        clock,
    )


def test_comprehensions_and_generator_expressions(clock: Clock) -> None:
    check_times(
        """
        @profile
        def f(items):
            [tick(i) for i in items]  #= 6
            {tick(i + j) for i in items for j in items}  #= 36
            list(tick(i) for i in items)  #= 6
            for i in items: [tick(j) for j in items]  #= 18

        f([1, 2, 3])
        """,
        clock,
    )


def test_a_statement_over_several_lines(clock: Clock) -> None:
    check_times(
        """
        def g(*args):
            tick(300)

        @profile
        def f():
            for _ in range(2):
                g(  #= 600
                    tick(1),  #= 2
                    tick(20),  #= 40
                )
            return [
                tick(4000),  #= 4000
                tick(50000),  #= 50000
            ]

        f()
        """,
        clock,
    )


def test_recursion_counts_every_frame_and_wall_time_once(clock: Clock) -> None:
    stats = check_times(
        """
        @profile
        def f(n):
            tick(1)  #= 4
            if n:
                f(n - 1)  #= 66
            tick(10)  #= 40

        f(3)
        """,
        clock,
    )
    (function,) = stats.functions
    assert function.recursive_ns == function.total_ns == 44
    assert function.calls == 4


def test_mutual_recursion_counts_wall_time_once(clock: Clock) -> None:
    stats = check_times(
        """
        @profile
        def even(n):
            tick(1)  #= 2
            return n and odd(n - 1)  #= 11

        @profile
        def odd(n):
            tick(10)  #= 10
            return even(n - 1)  #= 1

        even(2)
        """,
        clock,
    )
    even, odd = stats.functions
    assert (even.recursive_ns, even.total_ns) == (12, 12)
    assert (odd.recursive_ns, odd.total_ns) == (None, 11)


def test_recursion_a_thousand_levels_deep_and_repeated(clock: Clock) -> None:
    text = plain(
        """
        import sys

        @profile
        def f(n):
            tick(1)
            if n:
                f(n - 1)
            tick(2)
            if n == 0:
                raise KeyError

        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(5000)
        for _ in range(2):
            try:
                f(999)
            except KeyError:
                tick(10000)
        sys.setrecursionlimit(limit)
        """
    )
    (function,) = measure(text, clock).functions
    rows = {row.line: row.time_ns for row in function.rows}
    assert rows[5] == 2 * 1000
    assert rows[8] == 2 * 2  # the exception left all other frames
    assert function.recursive_ns == 2 * (1000 + 2)


def test_exceptions(clock: Clock) -> None:
    check_times(
        """
        def fail(n):
            tick(n)
            raise KeyError

        @profile
        def inner():
            tick(1)  #= 2
            fail(20)  #= 40
            tick(9)

        @profile
        def outer():
            try:
                inner()  #= 21
            except KeyError:
                tick(300)  #= 300
            try:
                fail(4000)  #= 4000
            finally:
                tick(50000)  #= 50000

        try:
            outer()
        except KeyError:
            tick(7)
        try:
            inner()
        except KeyError:
            tick(7)
        """,
        clock,
    )


def test_a_caught_exception_counts_on_its_line_until_the_handler(clock: Clock) -> None:
    check_times(
        """
        class Odd(Exception):
            pass

        def classes():
            tick(20)
            return Odd

        @profile
        def f():
            for i in range(2):
                try:
                    tick(1)  #= 2
                    raise Odd(tick(5))  #= 10
                except classes():  #= 40
                    tick(300)  #= 600

        f()
        """,
        clock,
    )


def test_a_with_statement_is_in_the_total(clock: Clock) -> None:
    stats = measure(
        plain(
            """
            class Managed:
                def __enter__(self):
                    tick(1)
                def __exit__(self, *rest):
                    tick(20)

            @profile
            def f():
                with Managed():
                    tick(300)
                tick(4000)

            f()
            """
        ),
        clock,
    )
    assert totals(stats) == {"f": 4321}
