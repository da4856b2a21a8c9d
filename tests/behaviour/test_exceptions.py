"""Exceptions: raised, caught, propagated; each ends the current line."""

from __future__ import annotations

import pytest
from check import check_lines

pytestmark = pytest.mark.usefixtures("hook")


def test_try_except_else_finally() -> None:
    check_lines(
        """
        @profile
        def f(n):
            try:
                x = 1 // n  #> 3
            except ZeroDivisionError:
                x = "zero"  #> 1
            except TypeError as error:
                x = type(error)  #> 1
            else:
                x += 1  #> 1
            finally:
                y = n  #> 3
            return x, y  #> 3

        result = f(0), f(1), f("")
        """
    )


def test_an_exception_that_leaves_the_function() -> None:
    check_lines(
        """
        @profile
        def inner(n):
            x = 1  #> 2
            y = x // n  #> 2
            return y  #> 0

        @profile
        def outer(n):
            x = inner(n)  #> 2
            return x  #> 0

        @profile
        def catch(n):
            try:
                outer(n)  #> 2
            except ZeroDivisionError:
                return "caught"  #> 2

        result = catch(0), catch(0)
        """
    )


def test_return_break_and_continue_in_finally_and_in_try() -> None:
    check_lines(
        """
        @profile
        def f(n):
            for i in range(4):
                try:
                    if i == n: continue
                    if i > n: break
                finally:
                    print(i)
            try:
                return i
            finally:
                print("out")

        @profile
        def g(n):
            while True:
                try:
                    return 1 // n
                except ZeroDivisionError:
                    n += 1  #> 1
                    continue
                finally:
                    print("again", n)

        result = f(0), f(2), f(5), g(0)
        """
    )


def test_try_in_a_loop() -> None:
    check_lines(
        """
        @profile
        def f(items):
            total = 0  #> 1
            for item in items:  #> 6
                try:
                    total += int(item)  #> 5
                except ValueError:
                    total += 100  #> 2
                except TypeError:
                    continue  #> 1
                else:
                    total += 1000  #> 2
            return total  #> 1

        result = f(["1", "x", "2", None, "y"])
        """
    )


def test_nested_try_and_raise_from() -> None:
    check_lines(
        """
        @profile
        def f(n):
            try:
                try:
                    try:
                        raise KeyError(n)
                    except KeyError as error:
                        raise ValueError(n) from error
                    finally:
                        n += 1
                except ValueError as error:
                    if n > 2:  #> 2
                        raise  #> 1
                    return error.args, n  #> 1
            except ValueError as error:
                return repr(error.__cause__), n  #> 1

        result = f(1), f(2)
        """
    )


def test_an_exception_in_flight_is_unchanged() -> None:
    check_lines(
        """
        import sys

        @profile
        def look():
            return sys.exc_info()[0]  #> 4

        @profile
        def f():
            try:
                raise KeyError("a")
            except KeyError as error:
                x = look()  #> 1
                try:
                    raise ValueError("b")
                except ValueError:
                    y = look()  #> 1
                z = look(), sys.exc_info()[1] is error  #> 1
            return x, y, z, look(), sys.exc_info()  #> 1

        result = f()
        """
    )


def test_the_traceback_of_a_profiled_function() -> None:
    check_lines(
        """
        import traceback

        @profile
        def inner(n):
            return 1 // n

        @profile
        def outer(n):
            return inner(
                n)

        try:
            outer(0)
        except ZeroDivisionError as error:
            frames = traceback.extract_tb(error.__traceback__)
            result = [(frame.name, frame.lineno) for frame in frames][-3:]
        """
    )


def test_an_assertion_that_fails() -> None:
    check_lines(
        """
        @profile
        def f(n):
            assert n, "none"  #> 2
            return n  #> 1

        result = f(1)
        f(0)
        """
    )


def test_a_program_that_ends_in_an_exception() -> None:
    outcome = check_lines(
        """
        @profile
        def f(n):
            x = n  #> 1
            raise SystemExit(x)  #> 1

        f(3)
        """
    )
    assert outcome.result == "SystemExit: 3"
