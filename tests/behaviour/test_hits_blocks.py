"""Lines at the ends of blocks, and lines of several parts, count what ran.

Python 3.11 has line events where the compiler added code, and two for some lines.
"""

from __future__ import annotations

import pytest
from check import check_lines

pytestmark = pytest.mark.usefixtures("hook")


def test_the_last_line_of_a_finally_that_did_not_run_has_no_hit() -> None:
    check_lines(
        """
        @profile
        def f(a, chosen):
            try:  #> 4
                [][a]  #> 4
            finally:
                if chosen:  #> 4
                    b = 1  #> 3
                else:
                    b = 2  #> 1
            return b

        def g(a, chosen):
            try:
                f(a, chosen)
            except IndexError:
                pass

        for chosen in (True, True, False, True):
            g(0, chosen)
        """
    )


def test_a_finally_that_ends_in_an_if_has_no_hit_of_its_body() -> None:
    check_lines(
        """
        @profile
        def f(chosen):
            try:  #> 2
                [][1]  #> 2
            finally:
                if chosen:  #> 2
                    b = 1  #> 1
                    b = 2  #> 1

        for chosen in (True, False):
            try:
                f(chosen)
            except IndexError:
                pass
        """
    )


def test_a_finally_that_ends_in_a_loop_has_no_hit_of_its_else() -> None:
    check_lines(
        """
        @profile
        def f(values):
            try:  #> 2
                [][1]  #> 2
            finally:
                for value in values:  #> 2
                    break  #> 1
                else:
                    b = 2  #> 1

        for values in ((1, 2), ()):
            try:
                f(values)
            except IndexError:
                pass
        """
    )


def test_a_finally_that_ends_in_a_while_or_a_match() -> None:
    check_lines(
        """
        @profile
        def f(n):
            try:  #> 3
                try:  #> 3
                    [][1]  #> 3
                finally:
                    match n:  #> 3
                        case 0:  #> 3
                            b = 0  #> 1
                        case 1 if n:  #> 2
                            b = 1  #> 1
            finally:
                while n:  #> 6
                    n -= 1  #> 3

        for n in range(3):
            try:
                f(n)
            except IndexError:
                pass
        """
    )


@pytest.mark.filterwarnings("ignore:.* in a 'finally' block:SyntaxWarning")
def test_the_last_line_of_a_finally_that_raises_before_it_has_no_hit() -> None:
    check_lines(
        """
        @profile
        def f(values):
            try:  #> 3
                values[2]  #> 3
            finally:
                values[1]  #> 3
                values[0]  #> 2
                b = 1  #> 2

        @profile
        def g(values):
            try:  #> 2
                values[1]  #> 2
            finally:
                return values[0]  #> 2
                b = 1

        for values in ((1, 2, 3), (1, 2), ()):
            try:
                f(values)
            except IndexError:
                pass
        for values in ((1,), ()):
            try:
                g(values)
            except IndexError:
                pass
        """
    )


def test_the_pass_at_the_end_of_a_finally_is_a_hit() -> None:
    check_lines(
        """
        @profile
        def f(values):
            try:  #> 2
                values[0]  #> 2
            finally:
                values = []  #> 2
                pass  #> 2

        @profile
        def g(values):
            try:  #> 2
                values[0]  #> 2
            finally:
                if values:  #> 2
                    b = 1  #> 1
                pass  #> 2

        @profile
        def h():
            try:  #> 1
                raise KeyError  #> 1
            finally:
                pass  #> 1

        for values in ((1,), ()):
            for call in (f, g):
                try:
                    call(values)
                except IndexError:
                    pass
        try:
            h()
        except KeyError:
            pass
        """
    )


def test_an_except_that_ends_in_an_if() -> None:
    check_lines(
        """
        @profile
        def f(chosen):
            try:  #> 2
                [][1]  #> 2
            except IndexError as error:  #> 2
                if chosen:  #> 2
                    b = 1  #> 1
                else:
                    b = 2  #> 1

        @profile
        def g(n):
            try:  #> 3
                [][1]  #> 3
            except KeyError:  #> 3
                b = 1
            except IndexError as error:  #> 3
                if n == 1:  #> 3
                    [][2]  #> 1
                b = 2  #> 2

        f(True)
        f(False)
        for n in range(3):
            try:
                g(n)
            except IndexError:
                pass
        """
    )


def test_groups_of_exceptions() -> None:
    check_lines(
        """
        @profile
        def f(errors, n):
            try:  #> 4
                if errors:  #> 4
                    raise ExceptionGroup("", errors)  #> 3
            except* KeyError as error:  #> 3
                b = 1  #> 1
            except* ValueError as error:  #> 3
                if n:  #> 2
                    b = 2  #> 1
                else:
                    [][1]  #> 1
                    b = 3
            return n  #> 3

        for errors, n in (
            ([KeyError()], 1), ([ValueError()], 1), ([ValueError()], 0), ([], 0)
        ):
            try:
                f(errors, n)
            except Exception:
                pass
        """
    )


def test_an_asynchronous_with_that_ends_in_a_compound_statement() -> None:
    check_lines(
        """
        class Manager:
            async def __aenter__(self):
                return 1

            async def __aexit__(self, *error):
                return False

        @profile
        async def f(n):
            async with Manager():  #> 6
                match n:  #> 3
                    case 0:  #> 3
                        b = 0  #> 1
                    case 1 if n:  #> 2
                        b = 1  #> 1
            async with Manager():  #> 6
                while True:  #> 3
                    if n < 5:  #> 3
                        break  #> 3
            async with Manager():  #> 6
                if n:  #> 3
                    b = 1  #> 2
                else:
                    b = 2  #> 1
            async with Manager():  #> 6
                b = 3  #> 3
                pass  #> 3
            async with Manager():  #> 6
                if n == 1:  #> 3
                    return 1  #> 1
                b = 4  #> 2
            return b  #> 2

        for n in range(3):
            try:
                f(n).send(None)
            except StopIteration:
                pass
        """
    )


def test_a_conditional_expression_on_one_line_is_one_hit() -> None:
    check_lines(
        """
        @profile
        def f(a, b, c):
            x = (a and b or 1) if c else 2  #> 8
            x = (a or b if c else 2) + 1  #> 8
            x = max(a or b if c else 2, 3)  #> 8
            x = [(a and b) if c else 2, 3]  #> 8
            if (a and b) if c else a: x = 1  #> 8
            for y in [a and b if c else 3]: x = y  #> 16
            assert (a or b or 1) if c else 1  #> 8
            return (a or b) if c else 3  #> 8

        @profile
        def g(a, b, c):
            y = (yield (a or b if c else 2)) if c else 2  #> 8
            yield (a and b) if c else 2  #> 8

        for a in (0, 1):
            for b in (0, 1):
                for c in (0, 1):
                    f(a, b, c)
                    list(g(a, b, c))
        """
    )


def test_a_loop_in_one_line_is_hit_in_each_turn() -> None:
    check_lines(
        """
        @profile
        def f(n, a):
            for i in range(n): a = (i and a or 1) if n else 2  #> 4
            while True:  #> 3
                n -= 1  #> 3
                if not n: break  #> 3
            for i in (a and [1, 2] if n else [3]): pass  #> 2
            return a  #> 1

        f(3, 1)
        """
    )


def test_managers_on_one_line_are_entered_and_left_once() -> None:
    check_lines(
        """
        from contextlib import nullcontext, suppress

        @profile
        def f(values):
            with nullcontext(), nullcontext(1) as x, nullcontext():  #> 4
                values[0]  #> 2

        @profile
        def g(values):
            with suppress(IndexError), nullcontext(), nullcontext():  #> 4
                values[0]  #> 2
            return values  #> 2

        for values in ((1,), ()):
            g(values)
            try:
                f(values)
            except IndexError:
                pass
        """
    )


def test_asynchronous_managers_on_one_line_are_entered_and_left_once() -> None:
    check_lines(
        """
        class Manager:
            async def __aenter__(self):
                return 1

            async def __aexit__(self, *error):
                return False

        @profile
        async def f(values):
            async with Manager(), Manager() as x:  #> 4
                values[0]  #> 2
            return x  #> 1

        for values in ((1,), ()):
            try:
                f(values).send(None)
            except (StopIteration, IndexError):
                pass
        """
    )
