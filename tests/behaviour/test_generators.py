"""Generators: a resumed generator continues in its line, whatever resumes it."""

from __future__ import annotations

import pytest
from check import check_lines

pytestmark = pytest.mark.usefixtures("hook")


def test_a_generator_and_its_consumer() -> None:
    check_lines(
        """
        @profile
        def count(n):
            for i in range(n):  #> 4
                yield i  #> 3
            return "done"  #> 1

        @profile
        def consume():
            total = 0  #> 1
            for i in count(3):  #> 4
                total += i  #> 3
            return total  #> 1

        result = consume()
        """
    )


def test_a_resume_is_no_hit() -> None:
    check_lines(
        """
        @profile
        def f():
            x = yield (yield (yield 1))  #> 1
            y = [(yield x), (yield x)]  #> 1
            return y  #> 0

        g = f()
        result = [next(g)] + [g.send(i) for i in range(4)]
        """
    )


def test_yield_from_with_its_return_value() -> None:
    check_lines(
        """
        @profile
        def inner(n):
            got = []  #> 2
            for i in range(n):  #> 6
                got.append((yield i))  #> 4
            return got  #> 2

        @profile
        def outer(n):
            first = yield from inner(n)  #> 1
            second = yield from inner(n)  #> 1
            return first + second  #> 1

        def drive(g):
            sent = [next(g)]
            try:
                while True:
                    sent.append(g.send(len(sent)))
            except StopIteration as stop:
                return sent, stop.value

        result = drive(outer(2))
        """
    )


def test_yield_from_over_plain_iterators() -> None:
    check_lines(
        """
        @profile
        def f():
            yield from [1, 2]  #> 1
            yield from range(2)  #> 1
            yield from ()  #> 1
            yield from (i for i in "ab")  #> 1

        result = list(f())
        """
    )


def test_many_generators_at_once() -> None:
    check_lines(
        """
        @profile
        def f(n):
            total = 0  #> 50
            while n:
                total += yield n  #> 150
                n -= 1  #> 150
            return total  #> 50

        def finish(g):
            try:
                g.send(1)
            except StopIteration as stop:
                return stop.value

        generators = [f(3) for _ in range(50)]
        for g in generators: next(g)
        for g in reversed(generators): g.send(1)
        for g in generators[::2] + generators[1::2]: g.send(1)
        result = [finish(g) for g in generators]
        """
    )


def test_a_generator_resumed_on_another_thread() -> None:
    check_lines(
        """
        import threading

        @profile
        def f():
            here = []  #> 1
            for i in range(4):  #> 5
                here.append(i)  #> 4
                yield i  #> 4
            return here  #> 1

        g = f()
        result = [next(g)]
        for _ in range(3):
            thread = threading.Thread(target=lambda: result.append(next(g)))
            thread.start()
            thread.join()
        result += list(g)
        """
    )


def test_a_generator_that_resumes_another_in_its_line() -> None:
    check_lines(
        """
        @profile
        def numbers(n):
            while n:
                yield n  #> 6
                n -= 1  #> 5

        @profile
        def pairs(a, b):
            for x in a:  #> 4
                yield x, next(b)  #> 3

        result = list(pairs(numbers(3), numbers(3)))
        """
    )


def test_a_generator_expression_is_part_of_its_line() -> None:
    check_lines(
        """
        @profile
        def f(n):
            a = sum(i for i in range(n))  #> 1
            b = (i for i in range(n))  #> 1
            for i in b: a += i
            return sum(  #> 1
                i
                for i in range(n)
                if i
            )

        result = f(4)
        """
    )


def test_a_generator_in_a_with_statement() -> None:
    check_lines(
        """
        from contextlib import contextmanager

        @contextmanager
        @profile
        def managed(n):
            print("in", n)  #> 3
            try:
                yield n  #> 3
            except ValueError:
                print("caught")  #> 1
            finally:
                print("out", n)

        @profile
        def f():
            with managed(1) as x, managed(2) as y:
                z = x + y  #> 1
            with managed(3):
                raise ValueError
            return z  #> 1

        result = f()
        """
    )


def test_a_generator_that_is_already_running() -> None:
    check_lines(
        """
        @profile
        def f():
            try:
                next(g)  #> 1
            except ValueError as error:
                yield str(error)  #> 1

        g = f()
        result = list(g)
        """
    )
