"""Decorated callables of every kind, which keep their behaviour."""

from __future__ import annotations

import pytest
from check import check_lines

pytestmark = pytest.mark.usefixtures("hook")


def test_methods_of_every_kind() -> None:
    check_lines(
        """
        class Box:
            @profile
            def __init__(self, item):
                self.item = item  #> 3

            @profile
            def method(self, n):
                return self.item * n  #> 2

            @classmethod
            @profile
            def of(cls, item):
                return cls(item)  #> 1

            @staticmethod
            @profile
            def double(n):
                return 2 * n  #> 2

            @profile
            def __repr__(self):
                return f"Box({self.item})"  #> 1

            @profile
            def __lt__(self, other):
                return self.item < other.item  #> 1

        a, b = Box(1), Box.of(2)
        bound = a.method
        result = [a.method(2), bound(3), Box.double(1), a.double(2), a < b]
        print(Box(5))
        """
    )


def test_decorated_class_and_static_methods() -> None:
    check_lines(
        """
        class Box:
            @profile
            @classmethod
            def of(cls, item):
                return cls, item  #> 2

            @profile
            @staticmethod
            def double(n):
                return 2 * n  #> 2

        result = [Box.of(1)[1], Box().of(2)[1], Box.double(1), Box().double(2)]
        kinds = [type(vars(Box)[name]).__name__ for name in ("of", "double")]
        print(kinds)
        """
    )


def test_properties() -> None:
    check_lines(
        """
        import functools

        class Box:
            def __init__(self):
                self._item = 0

            @profile
            @property
            def item(self):
                return self._item  #> 2

            @item.setter
            @profile
            def item(self, value):
                self._item = value  #> 1

            @item.deleter
            def item(self):
                self._item = None  #> 0

            @profile
            @functools.cached_property
            def cached(self):
                return self._item + 1  #> 1

            @functools.cached_property
            @profile
            def inner(self):
                return self._item + 1  #> 1

        box = Box()
        result = [box.item]
        box.item = 3
        result += [box.item, box.cached, box.cached, box.inner, box.inner]
        del box.item
        """
    )


def test_a_decorated_property() -> None:
    check_lines(
        """
        class Box:
            def get(self):
                return self._item  #> 1

            def put(self, value):
                self._item = value  #> 1

            def drop(self):
                del self._item  #> 1

            item = profile(property(get, put, drop, "An item."))

        box = Box()
        box.item = 3
        result = [box.item, Box.item.__doc__]
        del box.item
        """
    )


def test_partial_and_partialmethod() -> None:
    check_lines(
        """
        import functools

        def add(a, b, c=0):
            return a + b + c  #> 3

        add_one = profile(functools.partial(add, 1))

        class Box:
            def scaled(self, factor, n):
                return factor * n  #> 2

            double = profile(functools.partialmethod(scaled, 2))

        result = [add_one(2), add_one(3, c=4), add_one(b=1)]
        result += [Box().double(3), Box().double(n=4)]
        """
    )


def test_bound_methods() -> None:
    check_lines(
        """
        class Box:
            def __init__(self, item):
                self.item = item

            def method(self, n):
                return self.item + n  #> 2

            @classmethod
            def of(cls, item):
                return cls(item).item  #> 1

        method = profile(Box(1).method)
        of = profile(Box.of)
        result = method(2), method(3), of(4)
        """
    )


def test_a_class() -> None:
    check_lines(
        """
        @profile
        class Box:
            size = 3

            def __init__(self, item):
                self.item = item  #> 2

            @classmethod
            def of(cls, item):
                return cls(item)  #> 1

            @staticmethod
            def double(n):
                return 2 * n  #> 1

            @property
            def twice(self):
                return self.double(self.item)  #> 1

        result = Box(1).twice, Box.of(2).item, isinstance(Box, type), Box.__name__
        """
    )


def test_stacked_decorators() -> None:
    check_lines(
        """
        import functools

        def plus(n):
            def decorate(function):
                @functools.wraps(function)
                @profile
                def call(*args, **kwargs):
                    return function(*args, **kwargs) + n  #> 4
                return call
            return decorate

        @plus(1)
        @plus(2)
        @profile
        def f(n):
            return n  #> 1

        @profile
        @plus(3)
        @profile
        @plus(4)
        def g(n):
            return n  #> 0

        @profile
        @profile
        def h(n):
            return n  #> 1

        result = f(10), g(20), h(30)
        """
    )


def test_arguments_and_defaults_are_passed_on() -> None:
    check_lines(
        """
        @profile
        def f(a, b=2, *args, c, d=4, **more):
            return a, b, args, c, d, more  #> 3

        result = [
            f(1, c=3),
            f(*[1, 5, 6, 7], **{"c": 3, "z": 9}),
            f(c=1, a=2, self=3, function=4),
        ]
        f(1)
        """
    )
