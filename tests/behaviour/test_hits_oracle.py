"""The oracle itself: each rule on a small program, with hits counted by hand."""

from __future__ import annotations

import sys

import pytest
from oracle import spans_of
from oracle_process import ask
from running import plain, program_file

INLINED = sys.version_info >= (3, 12)  # comprehensions have no frame


def truth(program: str) -> dict[int, int]:
    """Return the oracle's hits of all lines."""
    text = plain(program)
    with program_file(text) as file:
        return ask(text, file).lines()


def test_every_event_is_a_hit() -> None:
    hits = truth(
        """
        @profile
        def f(n):
            while n:
                n -= 1
            for i in range(2): n += i
            return n

        f(2)
        """
    )
    assert hits == {3: 3, 4: 2, 5: 3, 6: 1}


def test_a_comprehension_is_part_of_its_line() -> None:
    hits = truth(
        """
        @profile
        def f(y):
            a = [i + j for i in y for j in y if j]
            for i in {j for j in y}: a = [k for k in y]
            return [[k for k in y] for j in y]

        f([1, 2])
        """
    )
    assert hits == {3: 1, 4: 3, 5: 1}


def test_a_statement_over_several_lines_is_one_hit_of_each_line() -> None:
    hits = truth(
        """
        def g(*args):
            return args

        @profile
        def f(a):
            while True:
                a = g(
                    a, g(
                        a,
                        a),
                )
                if a: return g(
                    a)

        f(1)
        """
    )
    hits.pop(6, None)  # some versions have no event for line 6
    assert hits == {7: 1, 8: 1, 9: 1, 10: 1, 12: 1, 13: 1}


def test_code_that_the_compiler_adds_is_no_hit() -> None:
    hits = truth(
        """
        @profile
        def f(a):
            try:
                raise KeyError
            finally:
                if a: a = [a and 1 if a else 2]
                if a:
                    a = 1
                else:
                    a = 2

        @profile
        def g():
            try:
                raise KeyError
            finally:
                pass

        for call in (lambda: f(1), lambda: f(0), g):
            try:
                call()
            except KeyError:
                pass
        """
    )
    assert hits == {3: 2, 4: 2, 6: 2, 7: 2, 8: 1, 10: 1, 14: 1, 15: 1, 17: 1}


def test_a_jump_back_of_a_loop_begins_a_new_execution() -> None:
    hits = truth(
        """
        def g(*args):
            return args

        @profile
        def f(a):
            for i in range(3): g(
                a,
                1)
            while True:
                a = g(
                    a,
                    1)
                if len(str(a)) > 20: break

        f(1)
        """
    )
    assert [hits[line] for line in (6, 7, 8)] == [4, 3, 3]
    assert hits[10] == hits[11] == hits[12] == hits[13] > 1


def test_the_loop_of_a_comprehension_begins_no_new_execution() -> None:
    hits = truth(
        """
        @profile
        def f(y):
            return [
                i
                for i in y
                if i
            ]

        f([1, 2, 3])
        """
    )
    assert hits == ({3: 1, 4: 1, 5: 1, 6: 1} if INLINED else {3: 1, 5: 1})


def test_statements_that_share_lines_are_one_span() -> None:
    text = "x = (\n1); y = (\n2)\nz = 3; w = 4\nif x: y = (\n5)\n"
    assert spans_of(text) == {1: (1, 3), 2: (1, 3), 3: (1, 3), 5: (5, 6), 6: (5, 6)}


def test_a_lambda_is_one_span() -> None:
    hits = truth(
        """
        f = profile(lambda a: (
            a,
            a + 1,
        ))
        f(1)
        f(2)
        """
    )
    assert hits == {1: 2, 2: 2, 3: 2}


def test_a_resume_is_no_hit_and_no_new_execution() -> None:
    hits = truth(
        """
        @profile
        def f():
            x = [
                (yield 1),
                (yield 2), (yield 3),
            ]
            yield x; yield x

        list(f())
        """
    )
    assert hits == {3: 1, 4: 1, 5: 1, 7: 1}


@pytest.mark.parametrize("enabled", [False, True])
def test_added_functions_count_while_enabled(enabled: bool) -> None:  # noqa: FBT001
    hits = truth(
        f"""
        def f():
            return 1

        profile.add_function(f)
        f()
        if {enabled}:
            with profile:
                f()
        """
    )
    assert hits == ({2: 1} if enabled else {})


def test_threads_are_counted() -> None:
    hits = truth(
        """
        import threading

        @profile
        def f():
            return 1

        for _ in range(3):
            thread = threading.Thread(target=f)
            thread.start()
            thread.join()
        """
    )
    assert hits == {5: 3}
