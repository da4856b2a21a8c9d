"""Recursion: every frame counts its own lines, and the call stack is restored."""

from __future__ import annotations

import pytest
from check import check_lines
from running import plain, program_file, run_lineprof

pytestmark = pytest.mark.usefixtures("hook")


def test_direct_recursion() -> None:
    check_lines(
        """
        @profile
        def fib(n):
            if n < 2:  #> 177
                return n  #> 89
            return fib(n - 1) + fib(n - 2)  #> 88

        result = fib(10)
        """
    )


def test_mutual_recursion() -> None:
    check_lines(
        """
        @profile
        def even(n):
            if not n:  #> 6
                return True  #> 1
            x = odd(n - 1)  #> 5
            return x  #> 5

        @profile
        def odd(n):
            if not n:  #> 5
                return False  #> 0
            x = even(n - 1)  #> 5
            return x  #> 5

        result = even(10)
        """
    )


def test_recursion_through_functions_that_are_not_profiled() -> None:
    check_lines(
        """
        def between(n):
            return list(map(f, [n - 1]))[0]

        @profile
        def f(n):
            x = 0  #> 4
            if n:  #> 4
                x = between(n)  #> 3
            return x + 1  #> 4

        result = f(3)
        """
    )


def test_recursion_in_a_loop_and_in_a_comprehension() -> None:
    check_lines(
        """
        @profile
        def walk(tree):
            total = 1  #> 6
            for child in tree:  #> 11
                total += walk(child)  #> 5
            return total  #> 6

        @profile
        def depth(tree):
            return 1 + max([depth(child) for child in tree], default=0)  #> 6

        tree = [[], [[], [[]]]]
        result = walk(tree), depth(tree)
        """
    )


def test_deep_recursion() -> None:
    check_lines(
        """
        import sys

        @profile
        def f(n):
            if n:  #> 5001
                return f(n - 1) + 1  #> 5000
            return 0  #> 1

        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(20_000)
        try:
            result = f(5_000)
        finally:
            sys.setrecursionlimit(limit)
        """
    )


def test_recursion_without_end() -> None:
    text = plain(
        """
        depth = 0

        @profile
        def f():
            global depth
            depth += 1
            f()
            depth = "never"

        @profile
        def after():
            return depth

        try:
            f()
        except RecursionError:
            result = after()
        """
    )
    with program_file(text) as file:
        outcome = run_lineprof(text, file)
    depth = int(outcome.result)
    assert depth > 100
    assert outcome.lines() in (
        {6: depth, 7: depth, 12: 1},
        {6: depth + 1, 7: depth, 12: 1},  # the stack overflows in the middle of line 6
    )


def test_an_exception_through_all_frames() -> None:
    check_lines(
        """
        @profile
        def f(n):
            try:
                if not n:  #> 5
                    raise ValueError(n)  #> 1
                f(n - 1)  #> 4
            finally:
                last = n

        @profile
        def after():
            x = 1  #> 1
            return x  #> 1

        try:
            f(4)
        except ValueError as error:
            result = after(), error.args
        """
    )


def test_a_recursive_generator() -> None:
    check_lines(
        """
        @profile
        def walk(tree):
            yield len(tree)  #> 6
            for child in tree:  #> 11
                yield from walk(child)  #> 5

        result = list(walk([[], [[], [[]]]]))
        """
    )


def test_a_function_that_calls_its_undecorated_original() -> None:
    check_lines(
        """
        def f(n):
            return plain(n - 1) if n else 0

        plain = f
        f = profile(f)
        result = f(3)
        """
    )
