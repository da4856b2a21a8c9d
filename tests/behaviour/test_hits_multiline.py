"""Statements over several lines: one hit for each execution, on the first line."""

from __future__ import annotations

import pytest
from check import check_lines

pytestmark = pytest.mark.usefixtures("hook")


def test_a_call_over_several_lines_counts_once_on_its_first_line() -> None:
    check_lines(
        """
        def g(*args):
            return args

        @profile
        def f(a, b):
            for i in range(3):  #> 4
                x = g(  #> 3
                    a,  #> 3
                    b,  #> 3
                )  #> 0
            return x

        result = f(1, 2)
        """
    )


def test_calls_in_calls_and_chains_of_methods() -> None:
    check_lines(
        """
        def g(*args, **more):
            return args or more

        @profile
        def f(a):
            x = g(  #> 1
                g(a,
                  g(
                      a, a)),
                key=g(a,
                      *[a],
                      **{"k": a}),
            )
            y = (  #> 1
                "a b"
                .upper()
                .split(
                    " "
                )
            )
            g(g(g(  #> 1
                a)))
            return x, y  #> 1

        result = f(1)
        """
    )


def test_literals_over_several_lines() -> None:
    check_lines(
        """
        @profile
        def f(a, b):
            for _ in range(2):  #> 3
                d = {  #> 2
                    "a": a,
                    "b": b,
                    **{"c":
                       a},
                }
                s = {  #> 2
                    a,
                    b,
                }
                t = [  #> 2
                    a, b,
                    *d,
                ]
                c = [  #> 2
                    1,
                    2,
                    3,
                    4,
                ]
                u = (  #> 2
                    a,
                    b)
            return d, s, t, u, c  #> 1

        result = f(1, 2)
        """
    )


def test_f_strings_and_strings_over_several_lines() -> None:
    check_lines(
        '''
        @profile
        def f(a, b):
            x = (  #> 1
                f"{a} and "
                f"{b:>{a}}"
                " more"
            )
            y = f"""{
                a
            } {b
            }"""
            z = """%s
            %s""" % (
                a,
                b,
            )
            return x, y, z  #> 1

        result = f(1, 2)
        ''',
        hits={8: 1, 12: 1},
    )


def test_chained_comparisons_and_boolean_operators_over_several_lines() -> None:
    check_lines(
        """
        @profile
        def f(a, b):
            x = (  #> 4
                a
                < b
                < 3
            )
            y = (a  #> 4
                 and b
                 or (not a
                     and x))
            z = (a  #> 4
                 if b
                 else x)
            w = a + \\
                b \\
                + 1
            return x, y, z, w  #> 4

        result = [f(a, b) for a in (0, 1) for b in (0, 2)]
        """,
        hits={15: 4},
    )


def test_simple_statements_of_every_kind_over_several_lines() -> None:
    check_lines(
        """
        class Box:
            item = 0

        @profile
        def f(a, d):
            from os import (  #> 1
                path,
                sep,
            )
            import os.path, \\
                sys
            assert (  #> 1
                a
                > 0
            ), (
                "message"
            )
            d[  #> 1
                a
            ] = (
                a
            )
            d[  #> 1
                a
            ] += (
                1
            )
            Box(
            ).item = a
            b: int = (  #> 1
                a
            )
            (
                b,
                c,
            ) = a, d
            del (
                b,
                d[
                    a
                ],
            )
            return (
                c
            )

        result = f(1, {})
        """
    )


@pytest.mark.parametrize("error", ["KeyError", "ValueError"])
def test_raise_over_several_lines(error: str) -> None:
    check_lines(
        f"""
        @profile
        def f(a):
            try:
                raise {error}(  #> 2
                    a,
                ) from (
                    None
                )
            except KeyError as error:
                return (
                    error
                )
            except (
                TypeError,
                ValueError,
            ) as error:
                print(
                    error
                )

        f(1)
        f(2)
        """
    )


def test_yield_over_several_lines() -> None:
    check_lines(
        """
        @profile
        def f(a):
            x = yield (  #> 1
                a
            )
            y = [  #> 1
                (yield x),
                (yield
                 a),
            ]
            z = yield from (  #> 1
                a,
                x,
            )
            return y, z  #> 1

        result = list(f(1))
        """
    )


def test_inner_lines_of_a_statement_count_once_per_execution() -> None:
    check_lines(
        """
        def g(a):
            return a

        @profile
        def f(n):
            for i in range(n):  #> 4
                d = {  #> 3
                    "a": g(1),  #> 3
                    "b": g(2),  #> 3
                }
                x = (g(1) +  #> 3
                     g(2) +  #> 3
                     g(3))  #> 3
                y = (i and  #> 3
                     g(i))  #> 2
            return d, x, y  #> 1

        result = f(3)
        """
    )
