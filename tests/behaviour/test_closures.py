"""Closures, nested functions and lambdas: those of one definition share an entry."""

from __future__ import annotations

import pytest
from check import check_lines
from running import hits_of, new_profiler

pytestmark = pytest.mark.usefixtures("hook")


def test_closures_of_one_definition_share_one_entry() -> None:
    outcome = check_lines(
        """
        def make(n):
            @profile
            def add(x):
                return x + n  #> 20
            return add

        result = [make(i)(j) for i in range(10) for j in range(2)]
        """
    )
    assert len(outcome.hits) == 1


def test_a_nested_function_counts_only_when_it_is_registered() -> None:
    check_lines(
        """
        @profile
        def outer(n):
            def plain(x):
                return x + n  #> 0
            @profile
            def counted(x):
                return x + n  #> 6
            return [plain(i) + counted(i) for i in range(3)]  #> 2

        result = outer(1), outer(2)
        """
    )


def test_lambdas() -> None:
    check_lines(
        """
        square = profile(lambda x: x * x)  #> 3
        add = profile(lambda x, y=1, *args, **more: x + y)  #> 2
        nested = profile(lambda x:  #> 2
            (lambda y:
                x + y))
        result = [square(i) for i in range(3)], add(1), add(1, 2)
        result += nested(1)(2), nested(3)(4)
        """
    )


def test_a_lambda_inside_a_profiled_function_is_part_of_its_line() -> None:
    check_lines(
        """
        @profile
        def f(items):
            a = sorted(items, key=lambda item: -item)  #> 1
            b = list(map(lambda item: item + 1, items))  #> 1
            return a, b  #> 1

        result = f([1, 3, 2])
        """
    )


def test_cells_and_nonlocals() -> None:
    check_lines(
        """
        @profile
        def counter():
            n = 0  #> 2
            @profile
            def step():
                nonlocal n
                n += 1  #> 7
                return n  #> 7
            return step  #> 2

        a, b = counter(), counter()
        result = [a(), a(), b()] + [a() for _ in range(4)]
        """
    )


def test_functions_with_one_name_on_different_lines() -> None:
    outcome = check_lines(
        """
        @profile
        def f():
            return 1  #> 1

        first = f

        @profile
        def f():
            return 2  #> 2

        result = first(), f(), f()
        """
    )
    assert len(outcome.hits) == 2


def test_two_lambdas_on_one_line() -> None:
    check_lines(
        """
        a, b = profile(lambda: 1), profile(lambda: 2)  #> 3
        result = a(), b(), b()
        """
    )


def test_a_function_defined_in_a_loop() -> None:
    outcome = check_lines(
        """
        result = []
        for i in range(5):
            @profile
            def f(x=i):
                return x  #> 5
            result.append(f())
        """
    )
    assert len(outcome.hits) == 1


def test_code_objects_with_the_same_name_from_two_runs_of_exec() -> None:
    check_lines(
        """
        text = "def f(n):\\n    return n\\n"
        result = 0
        for i in range(3):
            namespace = {}
            exec(text, namespace)
            result += profile(namespace["f"])(i)
        """,
        hits={2: 3},
    )


def test_a_class_body_in_a_profiled_function() -> None:
    check_lines(
        """
        @profile
        def f(n):
            class Local:
                a = n
                b = [
                    n,
                    a,
                ]
                @profile
                def method(self):
                    return self.b, n  #> 2
            return Local().method()  #> 2

        result = f(1), f(2)
        """
    )


def test_code_objects_made_by_replace() -> None:
    profiler = new_profiler()

    def f(n: int) -> int:
        return n

    twin = type(f)(f.__code__.replace(co_name="twin"), globals())
    first, second = profiler(f), profiler(twin)
    assert [first(1), second(2), second(3)] == [1, 2, 3]
    hits = hits_of(profiler)
    assert [sum(lines.values()) for lines in hits.values()] in ([1, 2], [3])
