"""Exceptions of with statements, iterators and operators; except* and match."""

from __future__ import annotations

import pytest
from check import check_lines

pytestmark = pytest.mark.usefixtures("hook")


def test_exceptions_of_with_statements() -> None:
    check_lines(
        """
        class Managed:
            def __init__(self, swallow):
                self.swallow = swallow

            @profile
            def __enter__(self):
                return self  #> 5

            @profile
            def __exit__(self, *error):
                return self.swallow  #> 5

        @profile
        def f(swallow):
            with Managed(swallow):
                raise KeyError
            return "swallowed"  #> 1

        @profile
        def g():
            with Managed(False) as a, Managed(True) as b:
                x = a.nothing
            with Managed(False):
                return b.swallow  #> 1

        result = [f(True), g()]
        try:
            f(False)
        except KeyError:
            result.append("passed on")
        """
    )


def test_exceptions_of_iterators_operators_and_properties() -> None:
    check_lines(
        """
        class Odd:
            def __iter__(self):
                yield 1
                raise KeyError

            def __add__(self, other):
                raise ValueError

            @property
            def item(self):
                raise TypeError

        @profile
        def f(odd):
            seen = []  #> 1
            try:
                for i in odd:
                    seen.append(i)  #> 1
            except KeyError:
                pass
            try:
                odd + 1
            except ValueError:
                seen.append("added")  #> 1
            try:
                odd.item
            except TypeError:
                seen.append("item")  #> 1
            return seen  #> 1

        result = f(Odd())
        """
    )


def test_except_star() -> None:
    check_lines(
        """
        @profile
        def f(*errors):
            seen = []  #> 4
            try:
                if errors:  #> 4
                    raise ExceptionGroup("many", errors)
                seen.append("none")  #> 1
            except* ValueError as group:
                seen.append(len(group.exceptions))  #> 2
            except* (TypeError, KeyError):
                try:
                    seen.append("type")  #> 2
                finally:
                    seen.append("or key")
            else:
                seen.append("else")  #> 1
            finally:
                seen.append("finally")
            return seen

        result = [f(), f(ValueError(), ValueError(), KeyError()), f(TypeError())]
        f(ValueError(), OSError())
        """
    )


def test_match() -> None:
    check_lines(
        """
        @profile
        def f(x):
            match x:
                case 0:
                    return "zero"  #> 1
                case [1, *rest] if rest:
                    return rest  #> 1
                case {"key": value, **more}:
                    x = value  #> 1
                case str() | bytes():
                    x = (  #> 1
                        x,
                        1,
                    )
                case complex(real=a, imag=b):
                    x = a, b  #> 1
                case [
                    2,
                    y
                ]:
                    return (  #> 1
                        y
                    )
                case _:
                    return None  #> 2
            return x  #> 3

        result = [f(x) for x in (0, [1, 2], {"key": 3}, "a", 1j, [1], [2, 3], None)]
        """
    )
