"""Functions with wrappers of other decorators: lines of the function count."""

from __future__ import annotations

import contextlib
import functools
from typing import Any

import pytest
from check import check_lines
from running import hits_of, new_profiler

pytestmark = [pytest.mark.usefixtures("hook"), pytest.mark.smoke]


def decorator(function: Any) -> Any:
    @functools.wraps(function)
    def around(*args: object) -> object:
        return function(*args)

    return around


@decorator
@decorator
def decorated(n: int) -> int:
    n += 1
    return n


def names(profiler: Any) -> list[str]:
    return [name for _, name in hits_of(profiler)]


def test_the_decorated_function_is_added_with_a_warning() -> None:
    profiler = new_profiler()
    with pytest.warns(UserWarning, match=r"decorated has `__wrapped__`") as warned:
        profiler.add_function(decorated)
    assert warned[0].filename == __file__
    assert [function.__name__ for function in profiler.functions] == ["decorated"]
    with profiler:
        decorated(1)
    ((_, lines),) = hits_of(profiler).items()
    assert sorted(lines.values()) == [1, 1], "hits of the two lines of `decorated`"


def test_decorating_a_decorated_function_counts_the_function_not_its_wrapper() -> None:
    profiler = new_profiler()
    assert profiler(decorated) is decorated
    assert decorated(1) == 2
    assert profiler(decorated) is decorated
    ((_, lines),) = hits_of(profiler).items()
    assert sorted(lines.values()) == [1, 1]


def test_a_wrapper_that_is_decorated_where_it_is_defined_counts_itself() -> None:
    check_lines(
        """
        import functools

        def timed(function):
            @profile
            @functools.wraps(function)
            def around(*args):
                result = function(*args)  #> 2
                return result  #> 2
            return around

        @timed
        def f(n):
            return n  #> 0

        @profile
        @functools.wraps(f)
        def g(n):
            return n  #> 1

        result = f(1), f(2), g(3)
        """
    )


def test_a_context_manager_is_counted_and_not_contextlib() -> None:
    profiler = new_profiler()

    @profiler
    @contextlib.contextmanager
    def managed() -> Any:
        yield 1

    with managed() as one:
        assert one == 1
    assert [name.rpartition(".")[-1] for name in names(profiler)] == ["managed"]
    assert [sum(lines.values()) for lines in hits_of(profiler).values()] == [1]


def test_functions_that_wrap_each_other_can_be_decorated() -> None:
    profiler = new_profiler()

    def f() -> int:
        return 1

    def g() -> int:
        return f()

    f.__wrapped__, g.__wrapped__ = g, f  # type: ignore[attr-defined]
    for function in (f, g):
        assert profiler(function)() == 1
    assert profiler.functions


def test_a_wrapped_attribute_may_be_any_object() -> None:
    profiler = new_profiler()

    def f() -> int:
        return 1

    for thing in (3, len, int, None):
        f.__wrapped__ = thing  # type: ignore[attr-defined]
        assert profiler(f)() == 1
    assert sum(sum(lines.values()) for lines in hits_of(profiler).values()) == 4


def test_code_and_defaults_that_a_decorated_function_is_given_take_effect() -> None:
    profiler = new_profiler()

    @profiler
    def f(a: int = 1, *, b: int = 1) -> Any:
        return a, b

    def g(a: int = 1, *, b: int = 1) -> Any:
        return "g", a, b

    f.__defaults__, f.__kwdefaults__ = (2,), {"b": 3}
    assert f() == (2, 3)
    f.__code__ = g.__code__
    assert f() == ("g", 2, 3)
