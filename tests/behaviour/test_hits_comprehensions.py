"""Comprehensions: part of their line, with one hit, in every version of Python."""

from __future__ import annotations

import pytest
from check import check_lines

pytestmark = pytest.mark.usefixtures("hook")

COMPREHENSIONS = [
    "[i for i in y]",
    "{i for i in y}",
    "{i: n for i in y}",
    "[i for i in y if i]",
    "[i for i in y if i if i > 1]",
    "[i or n for i in y if i or n]",
    "[(i, j) for i in y for j in y]",
    "[(i, j) for i in y if i for j in y if j]",
    "[(i, j, k) for i in y for j in y for k in y if k]",
    "[[j for j in y] for i in y]",
    "[[j for j in y if i] for i in [k for k in y]]",
    "{i: {j: [k for k in y] for j in y} for i in y}",
    "[m for i in y if (m := i) > 1]",
    "[(lambda: i)() for i in y]",
    "[i for i in (j for j in y)]",
    "list(i for i in y)",
    "(sum(i for i in y), tuple(i for i in y), set(i for i in y))",
    "[all(i for i in y), any(not i for i in y), all(not i for i in y)]",
    "[all(i for i in y if all(j for j in y)) for k in y]",
    "[sum(j for j in range(i)) for i in y]",
    "[i for i in y] + [j for j in y]",
    "[h(i) for i in y]",
    "[h([j for j in y]) for i in h(y)]",
    "[i for i in []]",
    "[j for i in y for j in ()]",
    "[i if i else n for i in y]",
    "[i for i, in [[j] for j in y]]",
    "[*[i for i in y], *(j for j in y)]",
    "list(f'{[i for i in y]} {[j for j in y]}')",
    "[all([i for i in y]) and any({i for i in y})]",
]


@pytest.mark.parametrize("expression", COMPREHENSIONS)
def test_a_comprehension_is_one_hit_of_its_line(expression: str) -> None:
    check_lines(
        f"""
        def h(x):
            return x

        @profile
        def f(y, n):
            x = {expression}  #> 2
            return {expression}  #> 2

        result = f([1, 2, 3], 0), f([], 1)
        """
    )


@pytest.mark.parametrize("expression", COMPREHENSIONS)
@pytest.mark.parametrize(
    "loop",
    [
        "for k in range(3): x = {}  #> 4",
        "for k in [n, n, n]: x = {}; m = {}  #> 4",
        "while n < 3: n += 1; x = {}",
        "for k in list({}): x = k",
        "for k in list({}): x = {}",
        "if {}: x = {}",
    ],
)
def test_comprehensions_in_loops_on_one_line(loop: str, expression: str) -> None:
    line = loop.replace("{}", expression)
    check_lines(
        f"""
        def h(x):
            return x

        @profile
        def f(y, n):
            x = 0
            {line}
            return x  #> 1

        result = f([1, 2], 0)
        """
    )


@pytest.mark.parametrize("pair", ["[]", "{}", "()"])
def test_a_comprehension_over_several_lines(pair: str) -> None:
    head, tail = pair
    check_lines(
        f"""
        def g(*args):
            return args

        @profile
        def f(y):
            for k in range(3):  #> 4
                x = {head}  #> 3
                    g(
                        i,
                        k,
                    )
                    for i in y
                    if i
                    or k
                {tail}
                sum(j for  #> 3
                    j in y)
            return g(*[  #> 1
                g(i,
                  *{head}j
                    for j in y
                    if j{tail})
                for i
                in y
            ])

        result = f([1, 2])
        """
    )


def test_comprehensions_in_headers_over_several_lines() -> None:
    check_lines(
        """
        def g(*args):
            return args

        @profile
        def f(y):
            for i in [
                g(j)
                for j in y
            ]:
                g(  #> 3
                    i)
            if [
                j for j in y
                if j
            ]:
                g()  #> 1
            while [
                j for j in y
                if y.pop()
            ]:
                g(  #> 2
                  y)

        f([1, 2, 3])
        """
    )


def test_an_exception_leaves_a_comprehension() -> None:
    check_lines(
        """
        def g(i):
            return 1 // i

        @profile
        def f(y):
            i = "kept"
            try:
                x = [g(i) for i in y]
            except ZeroDivisionError:
                x = i  #> 1
            try:
                x = [
                    g(i)
                    for i in y
                ]
            except ZeroDivisionError:
                x += i  #> 1
            return x  #> 1

        result = f([2, 1, 0, 3])
        """
    )


def test_a_comprehension_with_a_closure_over_its_variable() -> None:
    check_lines(
        """
        @profile
        def f(y):
            calls = [lambda: i for i in y]  #> 1
            more = [
                lambda: i + k
                for i in y
                for k in y
            ]
            return [call() for call in calls + more]  #> 1

        result = f([1, 2])
        """
    )


def test_a_registered_function_made_in_a_comprehension() -> None:
    check_lines(
        """
        def f(y):
            return [profile(lambda: i)() for i in y]  #> 3

        result = f([1, 2, 3])
        """
    )


def test_asynchronous_comprehensions() -> None:
    check_lines(
        """
        import asyncio

        async def count(n):
            for i in range(n):
                await asyncio.sleep(0)
                yield i

        async def double(i):
            await asyncio.sleep(0)
            return 2 * i

        @profile
        async def f(n):
            a = [i async for i in count(n)]  #> 2
            b = {i async for i in count(n) if i}  #> 2
            c = [await double(i) for i in range(n)]  #> 2
            d = {i: j async for i in count(n) async for j in count(i)}  #> 2
            e = [await double(i) async for i in count(n)]  #> 2
            h = [  #> 2
                await double(i)
                async for i in count(n)
                if await double(i)
            ]
            k = [i async for i in (j async for j in count(n))]  #> 2
            return a, b, c, d, e, h, k  #> 2

        result = asyncio.run(f(3)), asyncio.run(f(0))
        """
    )


def test_an_asynchronous_comprehension_within_a_plain_one() -> None:
    check_lines(
        """
        import asyncio

        async def count(n):
            for i in range(n):
                await asyncio.sleep(0)
                yield i

        @profile
        async def f(n):
            a = [[j async for j in count(i)] for i in range(n)]  #> 1
            b = [  #> 1
                [j for j in range(i)]
                async for i in count(n)
                if [k async for k in count(i)]
            ]
            return a, b  #> 1

        result = asyncio.run(f(3))
        """
    )


def test_asynchronous_comprehensions_in_loops_on_one_line() -> None:
    check_lines(
        """
        import asyncio

        async def count(n):
            for i in range(n):
                await asyncio.sleep(0)
                yield i

        @profile
        async def f(n):
            for k in range(n): x = [i async for i in count(n)]  #> 4
            async for k in count(n): x = [i async for i in count(n)]
            while n: n -= 1; y = [await asyncio.sleep(0, i) for i in range(n)]
            return x, y  #> 1

        result = asyncio.run(f(3))
        """
    )
