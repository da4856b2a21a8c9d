"""Ends of coroutines and asynchronous generators."""

from __future__ import annotations

import pytest
from check import check_lines

pytestmark = pytest.mark.usefixtures("hook")


def test_an_asynchronous_generator_driven_by_hand() -> None:
    check_lines(
        """
        import asyncio

        @profile
        async def echo(n):
            try:
                while True:
                    n = yield n  #> 6
            except KeyError as error:
                yield error.args
            finally:
                await asyncio.sleep(0)
                print("done", n)

        async def main():
            a, b, c = echo(1), echo(2), echo(3)
            got = [await a.__anext__(), await a.asend(5), await a.asend(6)]
            got += [await a.athrow(KeyError(1))]
            await a.aclose()
            got += [await b.__anext__(), await b.asend(1)]
            await b.aclose()
            got += [await c.__anext__()]
            try:
                await c.athrow(ValueError)
            except ValueError:
                got += ["through"]
            await echo(4).aclose()
            return got

        result = asyncio.run(main())
        """
    )


def test_an_asynchronous_generator_that_the_loop_shuts_down() -> None:
    check_lines(
        """
        import asyncio

        @profile
        async def count(n):
            try:
                while True:
                    yield n  #> 2
                    n += 1  #> 1
            finally:
                print("closed")

        async def main():
            g = count(1)
            result = [await g.__anext__(), await g.__anext__()]
            main.kept = g
            return result

        result = asyncio.run(main())
        del main.kept
        """
    )


def test_cancelling_a_task() -> None:
    check_lines(
        """
        import asyncio

        @profile
        async def forever(n):
            try:
                while True:
                    n += 1
                    await asyncio.sleep(0)
            except asyncio.CancelledError:
                n = -1  #> 1
                raise  #> 1
            finally:
                print("cancelled")

        @profile
        async def main():
            task = asyncio.create_task(forever(0))  #> 1
            for _ in range(3):  #> 4
                await asyncio.sleep(0)  #> 3
            task.cancel()  #> 1
            try:
                await task
            except asyncio.CancelledError:
                return "cancelled"  #> 1

        result = asyncio.run(main())
        """
    )


def test_an_exception_from_an_awaited_coroutine() -> None:
    check_lines(
        """
        import asyncio

        @profile
        async def fail(n):
            await asyncio.sleep(0)  #> 3
            raise ValueError(n)  #> 3

        @profile
        async def main():
            try:
                await fail(1)
            except ValueError as error:
                x = error.args  #> 1
            y = await asyncio.gather(fail(2), fail(3), return_exceptions=True)  #> 1
            return x, list(map(str, y))  #> 1

        result = asyncio.run(main())
        """
    )


def test_a_coroutine_that_is_closed_or_thrown_into() -> None:
    check_lines(
        """
        import types

        @types.coroutine
        def wait():
            return (yield "waiting")

        @profile
        async def f(n):
            try:
                n += await wait()
            except KeyError:
                return n
            finally:
                print("out")
            return -n  #> 1

        a, b, c, d = f(1), f(2), f(3), f(4)
        result = [a.send(None), b.send(None), c.send(None)]
        a.close()
        d.close()
        resumes = [lambda: b.throw(KeyError), lambda: c.send(5)]
        for resume in resumes:
            try:
                resume()
            except StopIteration as stop:
                result.append(stop.value)
        """
    )
