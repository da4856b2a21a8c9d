"""What counts as one execution, for each kind of statement: docs/numbers.md."""

from __future__ import annotations

import pytest
from check_executions import check_executions

pytestmark = pytest.mark.usefixtures("hook")


def test_simple_statements_without_effect() -> None:
    check_executions(
        '''
        @profile
        def f(n):
            """Docstring."""  #> 0
            global made  #> 0
            other: int  #> 0
            f.item: int  #> 1
            n[0]: int  #> 1
            made = 1  #> 1
            1  #> 1
            ...  #> 1
            "a text"  #> 1
            n  #> 1
            pass  #> 1

        f([0])
        '''
    )


def test_a_function_without_code_counts_calls_on_its_first_line() -> None:
    check_executions(
        '''
        @profile  #> 3
        def f():  #> 0
            """Docstring."""  #> 0

        @profile  #> 3
        def g():
            global made
            other: int

        for _ in range(3):
            f(), g()
        '''
    )


def test_loops_count_each_time_that_they_go_on() -> None:
    check_executions(
        """
        @profile
        def f(n):
            for i in range(n):  #> 6
                i  #> 4
            for i in range(n):  #> 3
                if i == 1:  #> 2
                    break  #> 1
            else:  #> 0
                1  #> 1
            for i in range(n): i  #> 6
            k = n
            while k:  #> 6
                k -= 1
            while True:  #> 6
                k += 1
                if k > n:
                    break
            while True: k += 1; assert k < 5  #> 5
            return 1

        for n in (0, 4):
            try:
                f(n)
            except AssertionError:
                pass
        """
    )


def test_a_loop_on_one_line_counts_each_test() -> None:
    check_executions(
        """
        @profile
        def f(n, m):
            while n: n -= 1  #> 10
            while n < 3 and m: n += 1  #> 10
            while n < 5 or n == 12: n += 1  #> 18
            while 2 < n <= 5 if m else n: n -= 1; continue  #> 20
            while n and (n := n - 1): pass  #> 6
            while not n or n < 3: n += 1 if m else 3  #> 12
            else: n = 2  #> 4
            while (n := n + 1) < 6:  #> 16
                x: int
            while (n > 3  #> 10
                   and m): n -= 1
            while n > 3 and n > 2: n = n and len([i for i in range(n)  #> 10
                if i])
            while True: break  #> 4
            while n: n -= 1; d = {i: n for i in range(n)}; m = n or d  #> 16
            return n  #> 4

        for n in range(4):
            f(n, n % 2)
        """
    )


def test_a_loop_on_one_line_that_is_left_early_counts_each_test() -> None:
    check_executions(
        """
        @profile
        def f(n):
            try:
                while n - 2: n += 1; [][n - 5:1][0] if n > 5 else 0  #> 9
            except IndexError:  #> 1
                n = 2
            while n: return n  #> 4

        @profile
        def g(n):
            for i in range(n):
                try:
                    while i: i -= 1; n //= i  #> 5
                finally:
                    while n > 6: n -= 1  #> 5

        @profile
        def h(n):
            while n: yield n; n -= 1  #> 10

        for n in range(4):
            try:
                f(n), list(h(n)), g(n)
            except ZeroDivisionError:
                pass
        """
    )


def test_a_loop_on_one_line_with_an_asynchronous_comprehension() -> None:
    check_executions(
        """
        async def numbers(n):
            for i in range(n):
                yield i

        @profile
        async def f(n):
            while n: n -= 1; x = [i  #> 9
                async for i in numbers(2)]
            return x  #> 2

        for n in (3, 4):
            try:
                f(n).send(None)
            except StopIteration:
                pass
        """
    )


def test_constant_tests_count() -> None:
    check_executions(
        """
        @profile
        def f():
            if 0:  #> 1
                f()
            elif 0:  #> 1
                f()
            elif True:  #> 1
                1  #> 1
            while 0:  #> 1
                f()
            else:  #> 0
                1  #> 1
            if __debug__: 1  #> 1
            if 0: f()  #> 1

        f()
        """
    )


def test_with_counts_entering_and_leaving_in_whatever_way() -> None:
    check_executions(
        """
        class Managed:
            def __init__(self, n=1):
                if not n:
                    raise ValueError
            def __enter__(self):
                return self
            def __exit__(self, kind, *_):
                return kind is KeyError

        @profile
        def f(n):
            with Managed():  #> 4
                1  #> 2
            with Managed(), Managed():  #> 4
                {}[n]  #> 2
            for i in range(2):  #> 6
                with Managed():  #> 8
                    if n:  #> 4
                        continue  #> 2
            for i in range(2):  #> 2
                with Managed():  #> 4
                    break  #> 2
            with Managed(): {}[n]  #> 2
            with Managed(n), Managed(n):  #> 3
                return 1  #> 1

        f(1)
        try:
            f(0)
        except ValueError:
            pass
        """
    )


def test_clauses_of_try_count_when_they_are_examined() -> None:
    check_executions(
        """
        @profile
        def f(error):
            try:  #> 4
                if error:  #> 4
                    raise error  #> 3
            except KeyError:  #> 3
                1  #> 1
            except (ValueError, TypeError) as e:  #> 2
                e  #> 1
            except:  #> 1
                pass  #> 1
            else:  #> 0
                1  #> 1
            finally:  #> 0
                1  #> 4
            try: 1  #> 4
            finally: 2  #> 4

        for error in (None, KeyError, ValueError, OSError):
            f(error)
        """
    )


def test_clauses_of_groups_count_when_they_are_examined() -> None:
    check_executions(
        """
        @profile
        def f(errors):
            try:  #> 3
                if errors:  #> 3
                    raise ExceptionGroup("", errors)  #> 2
            except* KeyError:  #> 2
                1  #> 2
            except* ValueError:  #> 2
                1  #> 1
            else:
                1  #> 1

        f([])
        f([KeyError()])
        f([KeyError(), ValueError()])
        """
    )


def test_cases_count_when_they_are_tried() -> None:
    check_executions(
        """
        @profile
        def f(n):
            match n:  #> 4
                case 0:  #> 4
                    1  #> 1
                case 1 | 2:  #> 3
                    1  #> 1
                case k if k == 3: 1  #> 2
                case _:  #> 1
                    pass  #> 1
            match n:  #> 4
                case _: 1  #> 4

        for n in (0, 1, 3, 4):
            f(n)
        """
    )


def test_definitions_count_once_with_each_decorator() -> None:
    check_executions(
        """
        def same(*_):
            return lambda target: target

        @profile
        def f():
            @same()  #> 2
            @same(  #> 2
                1)
            @same()  #> 2
            def g(n=1):  #> 2
                return n  #> 0
            @same()  #> 2
            class A:  #> 2
                x = 1  #> 0
            async def h(): pass  #> 2
            class B: pass  #> 2
            return g() + g()  #> 2

        f(), f()
        """
    )


def test_heads_over_several_lines_count_as_on_one() -> None:
    check_executions(
        """
        from contextlib import nullcontext

        @profile
        def f(n):
            if (n  #> 2
                    or n
                    or n + 1):
                1  #> 2
            while (n  #> 4
                   and n > 0):
                n -= 1  #> 2
            for (  #> 6
                i,
                k,
            ) in (
                (1, n),
                (2, 3),
            ):
                i  #> 4
            with (  #> 4
                nullcontext(),
                nullcontext(),
            ):
                1  #> 2
            match (  #> 2
                n,
                n
            ):
                case (  #> 2
                    [1, 2]
                    | [3, 4]
                ):
                    1
                case [  #> 2
                    _,
                    _,
                ]: 1

        f(0), f(2)
        """
    )


def test_a_conditional_expression_is_part_of_its_line() -> None:
    check_executions(
        """
        @profile
        def f(a, b, c):
            x = (a or b) if c else a  #> 8
            if (a or b if b else c): x = 1  #> 8
            for i in range(1):  #> 16
                if (a or b if b else c): continue  #> 8
                1
            return (a and b if c else a) or (a or b if c else b)  #> 8

        for a in (0, 1):
            for b in (0, 1):
                f(a, b, 0), f(a, b, 1)
        """
    )


def test_asynchronous_statements_count_like_others() -> None:
    check_executions(
        """
        import types

        @types.coroutine
        def pause():
            yield

        class Managed:
            async def __aenter__(self):
                await pause()
            async def __aexit__(self, kind, *_):
                await pause()
                return kind is KeyError

        async def numbers(n):
            for i in range(n):
                await pause()
                yield i

        @profile
        async def f(n):
            async for i in numbers(n):  #> 6
                await pause()  #> 4
            else:
                1  #> 2
            async for i in numbers(n): i  #> 6
            async with Managed():  #> 4
                {}[n]  #> 2
            async with Managed(), Managed():  #> 4
                {}[n]  #> 2
            async with Managed(): 1  #> 2
            async for i in numbers(n):  #> 2
                return [await pause() async for j in numbers(n)]  #> 1

        for n in (0, 4):
            coroutine = f(n)
            try:
                while True:
                    coroutine.send(None)
            except StopIteration:
                pass
        """
    )


def test_several_managers_are_left_at_once() -> None:
    check_executions(
        """
        from contextlib import nullcontext, suppress

        @profile
        def f(error):
            with nullcontext(), nullcontext(), suppress(KeyError):  #> 4
                raise error  #> 2
            return 1  #> 1

        @profile
        def g(error):
            with suppress(KeyError), nullcontext():  #> 4
                raise error  #> 2
            return 1  #> 1

        for error in (KeyError, ValueError):
            for function in (f, g):
                try:
                    function(error)
                except ValueError:
                    pass
        """
    )


def test_several_asynchronous_managers_are_left_at_once() -> None:
    check_executions(
        """
        import types

        @types.coroutine
        def pause(n):
            yield
            return n

        class Managed:
            async def __aenter__(self):
                return await pause(self)
            async def __aexit__(self, kind, *_):
                return await pause(kind is KeyError)

        def fail(error):
            raise error

        @profile
        async def f(error):
            async with Managed(), Managed():  #> 4
                fail(error)  #> 2
            async with Managed(), Managed(): fail(error)  #> 1
            return 1  #> 1

        for error in (KeyError, ValueError):
            coroutine = f(error)
            try:
                while True:
                    coroutine.send(None)
            except (StopIteration, ValueError):
                pass
        """
    )


def test_a_line_that_an_exception_does_not_reach_has_no_hit() -> None:
    check_executions(
        """
        @profile
        def f(n):
            try:
                {}[n]  #> 2
            finally:
                if n:  #> 2
                    1  #> 1
                else:
                    2  #> 1

        @profile
        def g(n):
            try:
                {}[n]  #> 2
            finally:
                for i in range(2):  #> 4
                    if n:  #> 3
                        break  #> 1
                else:
                    2  #> 1

        @profile
        def h(n):
            try:
                {}[n]  #> 2
            except* KeyError:  #> 2
                if n:  #> 2
                    1  #> 1
                else:
                    {}[n]  #> 1
            except* ValueError:  #> 2
                2  #> 0

        for n in (0, 1):
            for function in (f, g, h):
                try:
                    function(n)
                except (KeyError, ExceptionGroup):
                    pass
        """
    )


def test_a_statement_after_an_asynchronous_loop_in_a_finally() -> None:
    check_executions(
        """
        async def numbers(n):
            for i in range(n):
                yield i

        @profile
        async def f(n):
            try:
                {}[n]  #> 2
            finally:
                async for i in numbers(2):  #> 4
                    if n:  #> 3
                        break  #> 1
                raise ValueError  #> 2

        for n in (0, 1):
            try:
                f(n).send(None)
            except ValueError:
                pass
        """
    )
