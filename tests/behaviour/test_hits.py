"""Hits of plain statements: one for each execution of a line."""

from __future__ import annotations

import pytest
from check import check_lines

pytestmark = pytest.mark.usefixtures("hook")


def test_each_execution_of_a_line_is_a_hit() -> None:
    check_lines(
        """
        @profile  #> 0
        def f(n):  #> 0
            x = 1  #> 2
            y = x + n  #> 2
            return y  #> 2

        result = f(1), f(2)
        """
    )


def test_hits_may_be_given_as_a_table() -> None:
    check_lines(
        """
        @profile
        def f():
            pass

        f()
        """,
        hits={1: 0, 2: 0, 3: 1},
    )


def test_a_for_header_counts_once_more_than_its_body() -> None:
    check_lines(
        """
        @profile
        def f():
            for i in range(3):  #> 4
                pass  #> 3
            for i in ():  #> 1
                pass  #> 0

        f()
        """
    )


def test_for_with_break_continue_and_else() -> None:
    check_lines(
        """
        @profile
        def f(stop):
            seen = []  #> 2
            for i in range(4):  #> 8
                if i == stop:  #> 7
                    break  #> 1
                if i % 2:  #> 6
                    continue  #> 3
                seen.append(i)  #> 3
            else:
                seen.append("all")  #> 1
            return seen  #> 2

        result = f(2), f(9)
        """
    )


def test_while_with_else_and_break() -> None:
    check_lines(
        """
        @profile
        def f(n, stop):
            while n:  #> 7
                n -= 1  #> 6
                if n == stop:  #> 6
                    break  #> 1
            else:
                return "ran out"  #> 1
            return n  #> 1

        result = f(4, -1), f(4, 2)
        """
    )


def test_while_true() -> None:
    check_lines(
        """
        @profile
        def f(n):
            while True:
                n -= 1  #> 3
                if not n:  #> 3
                    break  #> 1
            while 1:
                n += 1  #> 2
                if n > 1:  #> 2
                    return n  #> 1

        result = f(3)
        """
    )


@pytest.mark.parametrize(
    "loop",
    [
        "for i in range(4): total += i",
        "while total < 4: total += 1",
        "for i in range(3): total += 1; total += 2",
        "while True: total += 1; break",
        "for i in range(3):  total += sum(j for j in range(i))",
        "for i in range(3):  total += sum([j for j in range(i)])",
        "for i in range(2): exec('total')",
    ],
)
def test_a_loop_on_one_line_counts_every_iteration(loop: str) -> None:
    check_lines(
        f"""
        @profile
        def f(total):
            {loop}
            return total  #> 1

        result = f(0)
        """
    )


def test_a_for_loop_on_one_line_counts_like_a_for_header() -> None:
    check_lines(
        """
        @profile
        def f(total):
            for i in range(4): total += i  #> 5
            return total

        result = f(0)
        """
    )


def test_if_elif_else() -> None:
    check_lines(
        """
        @profile
        def f(n):
            if n == 0:  #> 3
                return "none"  #> 1
            elif n == 1:  #> 2
                return "one"  #> 1
            else:
                return "many"  #> 1

        result = f(0), f(1), f(2)
        """
    )


def test_statements_that_share_a_line() -> None:
    check_lines(
        """
        @profile
        def f(n):
            a = n; b = a; c = b  #> 2
            if c: a = 2; b = 3  #> 2
            return a + b; pass  #> 2

        result = f(0), f(1)
        """
    )


def test_with_and_its_exit() -> None:
    check_lines(
        """
        from contextlib import nullcontext, suppress

        @profile
        def f():
            with nullcontext(1) as one:
                x = one  #> 1
            with suppress(ValueError), nullcontext() as nothing:
                raise ValueError
            with suppress(ValueError):
                with nullcontext():
                    int("x")
                    x = 9
            for i in range(2):  #> 3
                with nullcontext():
                    continue  #> 2
            with nullcontext():
                return x  #> 1

        result = f()
        """
    )
