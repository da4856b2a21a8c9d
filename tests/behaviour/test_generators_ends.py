"""Ends of generators: by an exception, by close(), by deletion, or none."""

from __future__ import annotations

import pytest
from check import check_lines

pytestmark = pytest.mark.usefixtures("hook")


def test_throw_into_a_generator() -> None:
    check_lines(
        """
        @profile
        def f():
            while True:
                try:
                    x = yield 1
                except KeyError:
                    x = yield 2  #> 2
                except IndexError as error:
                    return error.args  #> 1

        g = f()
        result = [next(g), g.throw(KeyError), next(g), g.throw(KeyError), next(g)]
        try:
            g.throw(IndexError(5))
        except StopIteration as stop:
            result.append(stop.value)
        """
    )


def test_throw_into_a_generator_that_has_not_begun() -> None:
    check_lines(
        """
        @profile
        def f():
            yield 1  #> 1

        @profile
        def after():
            return 1  #> 2

        g = f()
        try:
            g.throw(ValueError(3))
        except ValueError:
            result = [after(), list(g)]
        result.append(list(f()))
        after()
        """
    )


def test_throw_through_yield_from() -> None:
    check_lines(
        """
        @profile
        def inner():
            try:
                yield 1  #> 2
            except KeyError:
                yield "caught"  #> 1
            finally:
                print("out")
            return 2  #> 1

        @profile
        def outer():
            try:
                x = yield from inner()
            except ValueError:
                x = "through"  #> 1
            yield x  #> 2

        a, b = outer(), outer()
        result = [next(a), a.throw(KeyError), next(a), list(a)]
        result += [next(b), b.throw(ValueError), list(b)]
        """
    )


def test_throw_that_ends_the_generator_of_a_yield_from() -> None:
    check_lines(
        """
        @profile
        def inner():
            try:
                yield 1  #> 3
            except ValueError:
                pass
            return 2  #> 3

        @profile
        def outer():
            x = yield from inner()  #> 1
            for _ in range(2): x += yield from inner()  #> 3
            yield x  #> 1

        g = outer()
        result = [next(g), *(g.throw(ValueError) for _ in range(3))]
        """
    )


def test_throw_through_yield_from_over_several_lines() -> None:
    check_lines(
        """
        @profile
        def inner(n):
            try:
                yield n  #> 3
            except KeyError:
                pass
            return n + 1

        @profile
        def outer(n):
            for i in range(3):  #> 4
                n = (
                    yield from
                    inner(n)
                )
            yield [  #> 1
                (yield from
                    []),
                n,
            ]

        g = outer(1)
        result = [next(g), g.throw(KeyError), next(g), g.throw(KeyError), next(g)]
        """
    )


def test_close_with_and_without_finally() -> None:
    check_lines(
        """
        @profile
        def f(n):
            try:
                for i in range(n):
                    yield i  #> 4
            finally:
                print("closed")

        @profile
        def g(n):
            yield n  #> 1
            print("never")  #> 0

        @profile
        def after():
            return 1  #> 1

        a, b, c = f(5), g(1), f(5)
        result = [next(a), next(a), next(b), next(c), next(c)]
        a.close()
        b.close()
        c.close()
        f(1).close()
        result.append(after())
        """
    )


def test_a_generator_that_is_never_finished() -> None:
    check_lines(
        """
        @profile
        def f():
            yield 1  #> 2
            yield 2  #> 1
            yield 3  #> 0

        @profile
        def after():
            x = 1  #> 1
            return x  #> 1

        kept = [f(), f(), f()]
        result = [next(kept[0]), next(kept[0]), next(kept[1]), after()]
        """
    )


def test_a_generator_finalised_by_the_collector() -> None:
    check_lines(
        """
        import gc

        @profile
        def f(me):
            try:
                me.append(me)  #> 1
                yield 1  #> 1
                yield 2  #> 0
            finally:
                print("finalised")

        @profile
        def run():
            me = []  #> 1
            me.append(f(me))  #> 1
            x = next(me[0])  #> 1
            del me  #> 1
            gc.collect()  #> 1
            return x  #> 1

        result = run()
        """
    )


def test_a_generator_dropped_in_the_middle_of_a_line() -> None:
    check_lines(
        """
        @profile
        def f(n):
            try:
                yield n  #> 6
            finally:
                print(n)

        @profile
        def run():
            x = next(f(1)) + next(f(2))  #> 1
            y = [next(f(i)) for i in range(3)]  #> 1
            for z in f(4): break
            return x, y, z  #> 1

        result = run()
        """
    )


def test_stop_iteration_inside_a_generator() -> None:
    check_lines(
        """
        @profile
        def f():
            yield 1  #> 1
            next(iter(()))  #> 1
            yield 2  #> 0

        g = f()
        result = [next(g)]
        try:
            next(g)
        except RuntimeError as error:
            result.append(str(error))
        """
    )
