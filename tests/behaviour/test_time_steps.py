"""Time of frames that are suspended and resumed: generators, coroutines, threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from check_time import check_times, totals

if TYPE_CHECKING:
    from settable_clock import Clock

pytestmark = pytest.mark.usefixtures("hook")


def test_a_suspended_generator_stops_its_clock(clock: Clock) -> None:
    stats = check_times(
        """
        @profile
        def numbers():
            tick(1)  #= 1
            x = [tick(2), (yield 1), tick(4), (yield 2), tick(8)]  #= 14
            for i in range(3):
                yield tick(10)  #= 30
            tick(100)  #= 100

        for _ in numbers():
            tick(5000)
        """,
        clock,
    )
    assert totals(stats) == {"numbers": 145}
    assert [function.recursive_ns for function in stats.functions] == [None]


def test_a_generator_runs_in_the_line_that_resumes_it(clock: Clock) -> None:
    check_times(
        """
        @profile
        def inner():
            tick(1)  #= 1
            x = yield tick(10)  #= 10
            tick(x)  #= 200

        @profile
        def outer():
            yield from inner()  #= 211
            tick(3000)  #= 3000
            yield

        @profile
        def main():
            g = outer()
            next(g)  #= 11
            tick(70000)  #= 70000
            g.send(200)  #= 3200

        main()
        """,
        clock,
    )


def test_generators_that_end_by_throw_or_close(clock: Clock) -> None:
    check_times(
        """
        @profile
        def f():
            try:
                yield tick(1)  #= 2
            except KeyError:
                tick(20)  #= 20
                yield tick(300)  #= 300
            finally:
                tick(4000)  #= 8000

        a, b = f(), f()
        next(a), next(b), tick(9)
        a.throw(KeyError), tick(9)
        a.close()
        tick(9)
        del b
        """,
        clock,
    )


def test_a_recursive_generator(clock: Clock) -> None:
    stats = check_times(
        """
        @profile
        def f(n):
            tick(1)  #= 3
            yield n
            if n:
                yield from f(n - 1)  #= 33
            tick(10)  #= 30

        for _ in f(2):
            tick(5000)
        """,
        clock,
    )
    assert totals(stats) == {"f": 33}


def test_time_suspended_in_an_await_is_separate(clock: Clock) -> None:
    check_times(
        """
        import types

        @types.coroutine
        def pause():
            tick(1)
            yield
            tick(1)

        @profile
        async def work():
            tick(10)  #= 10
            await pause()  #= 2  #~ 1000
            x = [tick(3), await pause(), tick(4)]  #= 9  #~ 5000
            return tick(20)  #= 20

        @profile
        async def main():
            tick(300)  #= 300
            await work()  #= 41  #~ 6000

        c = main()
        c.send(None)
        tick(1000)
        c.send(None)
        tick(5000)
        try:
            c.send(None)
        except StopIteration:
            pass
        """,
        clock,
    )


def test_coroutines_that_take_turns(clock: Clock) -> None:
    check_times(
        """
        import asyncio

        @profile
        async def work(n):
            tick(n)  #= 11
            await asyncio.sleep(0)  #~ 120
            tick(n * 10)  #= 110

        async def main():
            # The first waits while the second and the other run (60), the
            # second while the other runs and the first goes on (60).
            await asyncio.gather(work(1), work(10), other())

        async def other():
            tick(50)

        asyncio.run(main())
        """,
        clock,
    )


def test_a_coroutine_that_is_cancelled_while_suspended(clock: Clock) -> None:
    check_times(
        """
        import types

        @types.coroutine
        def pause():
            yield

        @profile
        async def f():
            try:
                tick(1)  #= 2
                await pause()  #~ 700
            finally:
                tick(20)  #= 40

        a, b = f(), f()
        a.send(None)
        tick(300)
        try:
            a.throw(KeyError)
        except KeyError:
            tick(9)
        b.send(None)
        tick(400)
        b.close()
        """,
        clock,
    )


def test_an_asynchronous_generator(clock: Clock) -> None:
    check_times(
        """
        import types

        @types.coroutine
        def pause():
            tick(1)
            yield

        @profile
        async def numbers():
            for i in range(2):
                await pause()  #= 2  #~ 600
                yield tick(10)  #= 20  #~ 10000
            tick(100)  #= 100

        @profile
        async def main():
            async for i in numbers():  #= 122  #~ 600
                tick(5000)  #= 10000

        c = main()
        c.send(None)
        tick(300)
        c.send(None)
        tick(300)
        try:
            c.send(None)
        except StopIteration:
            pass
        """,
        clock,
    )


def test_a_coroutine_that_is_never_resumed_has_no_await_time(clock: Clock) -> None:
    check_times(
        """
        import types

        @types.coroutine
        def pause():
            yield

        @profile
        async def f():
            tick(1)  #= 1
            await pause()

        c = f()
        c.send(None)
        c.close()
        """,
        clock,
    )
