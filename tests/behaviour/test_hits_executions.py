"""Executions of a statement over several lines: loops, recursion, shared lines."""

from __future__ import annotations

import pytest
from check import check_lines

pytestmark = pytest.mark.usefixtures("hook")


def test_each_iteration_of_a_loop_is_an_execution() -> None:
    check_lines(
        """
        def g(*args):
            return args

        @profile
        def f(n):
            while True:
                n = g(  #> 5
                    n,
                    1)[0] - 1
                if n < 0: break  #> 5
            for i in range(3): g(  #> 4
                i,
                1)
            while n < 3: n += len(
                g(
                    n))
            while True: n += sum(
                g(1)); break

        f(4)
        """
    )


def test_a_loop_whose_body_is_one_statement_over_several_lines() -> None:
    check_lines(
        """
        def g(*args):
            return len(args)

        @profile
        def f(n):
            while n:
                n -= g(  #> 5
                    n)
            while True:
                n += (  #> 4
                    g(n,
                      n))
                if n > 6:
                    return (  #> 1
                        n
                    )

        result = f(5)
        """
    )


def test_statements_that_share_lines_are_one() -> None:
    check_lines(
        """
        def g(*args):
            return args

        @profile
        def f(a):
            x = g(  #> 1
                a); y = g(
                    a,
                    x)
            z = 1; y = (  #> 1
                z
            ); z = 2
            if a: x = g(  #> 1
                a)
            else: x = g(
                x)
            return x, y, z  #> 1

        result = f(1)
        """
    )


def test_multi_line_headers_hold_multi_line_bodies() -> None:
    check_lines(
        """
        from contextlib import nullcontext

        def g(*args):
            return args

        @profile
        def f(a):
            for i in g(
                a,
                2,
            ):
                g(i,  #> 2
                  i)
            if (a
                    and g(
                        a)):
                g(  #> 1
                    a)
            elif (a or
                    g()):
                g()
            with nullcontext(
                a
            ) as x, \\
                    nullcontext(a):
                g(  #> 1
                    x)
            while (a
                   < 3):
                a = g(a  #> 2
                      + 1)[0]
            return (  #> 1
                a)

        result = f(1)
        """,
    )


def test_recursion_in_the_middle_of_a_statement() -> None:
    check_lines(
        """
        @profile
        def f(n):
            return (  #> 15
                n
                if n < 2
                else f(
                    n - 1)
                + f(n
                    - 2)
            )

        result = f(5)
        """
    )


def test_an_exception_in_the_middle_of_a_statement() -> None:
    check_lines(
        """
        def g(n):
            return 1 // n

        @profile
        def f(n):
            for i in (1, 0, 2):
                try:
                    x = [  #> 6
                        g(n),
                        g(i),
                        g(n),
                    ]
                except ZeroDivisionError:
                    continue  #> 4
                print(x)  #> 2

        f(1)
        f(0)
        """
    )


def test_without_source_each_line_of_a_statement_counts() -> None:
    check_lines(
        '''
        text = """
        def f(a):
            return (
                a,
                a + 1
            )
        """
        namespace = {}
        exec(compile(text.strip(), "<no such source>", "exec"), namespace)
        f = profile(namespace["f"])
        result = f(1)
        ''',
        hits={2: 1, 3: 1, 4: 1},
    )


def test_a_lambda_is_one_span() -> None:
    check_lines(
        """
        f = profile(
            lambda a: (  #> 3
                a,
                a + 1,
            )
        )
        g = profile(lambda n: n); h = profile(lambda: 0)  #> 4
        result = [f(1), f(2), f(3), g(1), g(2), h(), h()]
        """
    )


def test_a_lambda_inside_a_statement_over_several_lines() -> None:
    check_lines(
        """
        @profile
        def f(items):
            return sorted(  #> 1
                items,
                key=lambda item: (
                    -item,
                    item,
                ),
            )

        result = f([3, 1, 2])
        """
    )


def test_a_line_with_two_events_is_executed_once() -> None:
    check_lines(
        """
        def no():
            return 0

        def yes(*_):
            return 1

        @profile
        def f(n):
            for i in range(n):  #> 4
                x = no() or yes()  #> 3
                y = yes() and no() or yes()  #> 3
                if no() or yes():  #> 3
                    x = yes() if no() else no() or yes(no() or yes())  #> 3
            while n: n -= no() or yes()
            return x if no() or yes() else y  #> 1

        f(3)
        """
    )


def test_a_generator_that_is_closed_in_a_yield_from_executes_no_line() -> None:
    check_lines(
        """
        def inner(n):
            for i in range(n):
                yield i

        @profile
        def outer(n):
            for i in inner(n):  #> 2
                yield from inner(i + 2)  #> 2

        g = outer(5)
        result = [next(g) for _ in range(3)]
        g.close()
        """
    )


def test_two_context_managers_on_one_line_end_an_exception() -> None:
    check_lines(
        """
        from contextlib import nullcontext, suppress

        @profile
        def f():
            for i in range(3):  #> 4
                with nullcontext(), suppress(KeyError):
                    raise KeyError
            return i  #> 1

        f()
        """
    )


# More lines than an execution has bits for: beyond them control only goes down.
FAR = "\n".join(f"        {n},  #> 1" for n in range(70))


def test_a_comprehension_far_down_in_a_literal_is_one_hit() -> None:
    check_lines(
        f"""
@profile
def f(n):
    found = [  #> 1
{FAR}
        [i for i in range(n)],  #> 1
        [i for i in range(n) if  #> 1
            n],
        n,  #> 1
    ]
    return len(found)  #> 1

result = f(4)
"""
    )


def test_an_await_far_down_in_a_literal_is_one_hit() -> None:
    check_lines(
        f"""
class Steps:
    def __await__(self):
        yield 1
        yield 2
        return 3

@profile
async def f(n):
    found = [  #> 1
{FAR}
        await Steps(),  #> 1
        n,  #> 1
        [await Steps() for _ in range(n) if  #> 1
            n],
        n,  #> 1
    ]
    return len(found)  #> 1

steps = f(3)
try:
    while True:
        steps.send(None)
except StopIteration as end:
    result = end.value
"""
    )
