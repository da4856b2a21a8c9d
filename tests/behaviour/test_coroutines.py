"""Coroutines and asynchronous generators: like generators, run by an event loop."""

from __future__ import annotations

import pytest
from check import check_lines

pytestmark = pytest.mark.usefixtures("hook")


def test_a_coroutine() -> None:
    check_lines(
        """
        import asyncio

        @profile
        async def work(n):
            total = 0  #> 2
            for i in range(n):  #> 6
                await asyncio.sleep(0)  #> 4
                total += i  #> 4
            return total  #> 2

        @profile
        async def main():
            x = await work(2)  #> 1
            return x + await work(2)  #> 1

        result = asyncio.run(main())
        """
    )


def test_gathered_coroutines_interleave() -> None:
    check_lines(
        """
        import asyncio

        @profile
        async def work(n):
            for i in range(n):  #> 9
                await asyncio.sleep(0)  #> 6
            return n  #> 3

        @profile
        async def main():
            tasks = [asyncio.create_task(work(2)), work(1)]  #> 1
            return await asyncio.gather(  #> 1
                *tasks,
                work(3),
            )

        result = asyncio.run(main())
        """
    )


def test_async_for_and_async_with() -> None:
    check_lines(
        """
        import asyncio

        class Managed:
            @profile
            async def __aenter__(self):
                await asyncio.sleep(0)  #> 3
                return 1  #> 3

            @profile
            async def __aexit__(self, kind, *rest):
                await asyncio.sleep(0)  #> 3
                return kind is KeyError  #> 3

        @profile
        async def count(n):
            for i in range(n):  #> 9
                await asyncio.sleep(0)  #> 8
                yield i  #> 8

        @profile
        async def main(total):
            async for i in count(3):
                total += i  #> 3
            else:
                total += 10  #> 1
            async for i in count(5):
                if i == 4: break
            async with Managed() as one:
                total += one  #> 1
            async with Managed():
                raise KeyError
            async with \\
                    Managed() as one:
                return total  #> 1

        result = asyncio.run(main(0))
        """
    )


def test_await_over_several_lines() -> None:
    check_lines(
        """
        import asyncio

        @profile
        async def double(n):
            return 2 * (  #> 9
                await asyncio.sleep(
                    0,
                    n,
                )
            )

        @profile
        async def main():
            x = [  #> 1
                await double(1),
                await double(
                    2),
            ]
            y = await double(  #> 1
                await double(
                    3))
            for i in range(2):  #> 3
                x += [  #> 2
                    await double(i), y,
                ]
            return await asyncio.gather(  #> 1
                *map(double, x[:3]),
            )

        result = asyncio.run(main())
        """
    )


def test_a_user_defined_awaitable() -> None:
    check_lines(
        """
        class Ready:
            @profile
            def __await__(self):
                x = yield "asked"  #> 2
                return x  #> 2

        @profile
        async def main():
            a = await Ready()  #> 1
            b = await Ready()  #> 1
            return a, b  #> 1

        c = main()
        result = [c.send(None), c.send(1)]
        try:
            c.send(2)
        except StopIteration as stop:
            result.append(stop.value)
        """
    )


def test_asynchronous_context_managers_and_generators_from_contextlib() -> None:
    check_lines(
        """
        import asyncio
        from contextlib import asynccontextmanager, AsyncExitStack

        @asynccontextmanager
        @profile
        async def managed(n):
            await asyncio.sleep(0)  #> 3
            try:
                yield n  #> 3
            finally:
                print("out", n)

        @profile
        async def main():
            async with managed(1) as x:
                x += 1  #> 1
            async with AsyncExitStack() as stack:
                for i in range(2):  #> 3
                    x += await stack.enter_async_context(managed(i))  #> 2
            return x  #> 1

        result = asyncio.run(main())
        """
    )
