"""Methods that add and wrap callables: their arguments, results and errors."""

from __future__ import annotations

import asyncio
import functools
import inspect
import sys
import types
from typing import Any

import pytest
from running import hits_by_name, new_profiler

pytestmark = [pytest.mark.usefixtures("hook"), pytest.mark.smoke]

C_FUNCTIONS = [
    len,
    "string".split,
    vars(int)["from_bytes"],
    str.split,
    (1).__str__,
    int.__repr__,
]


def plain(n: int) -> int:
    return n + 1


def numbers(n: int) -> Any:
    received = yield n
    return received


async def coroutine(n: int) -> int:
    await asyncio.sleep(0)
    return n


async def async_numbers(n: int) -> Any:
    received = yield n
    yield received


class Adder:
    def __init__(self, n: int) -> None:
        self.n = n

    def __call__(self, x: int) -> int:
        return x + self.n


def test_add_callable_returns_how_many_functions_it_added() -> None:
    profiler = new_profiler()
    assert profiler.add_callable(plain) == 1
    assert profiler.add_callable(profiler(plain)) == 0, "already decorated"
    assert profiler.add_callable(len) == 0
    assert profiler.add_callable(property(numbers)) == 1
    assert profiler.add_callable(Adder(1)) == 1
    assert profiler.functions == [plain, numbers, Adder.__call__]


def test_a_guard_excludes_functions() -> None:
    profiler = new_profiler()
    asked = []

    def guard(function: object) -> bool:
        asked.append(function)
        return function is plain

    item = property(plain, numbers)
    assert profiler.add_callable(item, guard=guard, name="item") == 1
    assert asked == [plain, numbers]
    assert profiler.functions == [numbers]
    assert profiler.add_callable(plain, guard) == 0


@pytest.mark.parametrize("method", ["__call__", "add_callable", "wrap_callable"])
@pytest.mark.parametrize(
    "thing", [3, "x", None, [plain]], ids=["number", "text", "None", "list"]
)
def test_objects_that_cannot_be_called_are_rejected(method: str, thing: object) -> None:
    profiler = new_profiler()
    with pytest.raises(TypeError, match="callable"):
        getattr(profiler, method)(thing)
    with pytest.raises(TypeError, match="callable"):
        profiler.get_underlying_functions(thing)


@pytest.mark.parametrize("thing", [3, None, len], ids=repr)
def test_adding_an_object_without_lines_gives_a_warning(thing: object) -> None:
    profiler = new_profiler()
    with pytest.warns(UserWarning, match="no Python code") as warned:
        profiler.add_function(thing)
    assert warned[0].filename == __file__
    assert profiler.functions == []


def test_c_functions_are_returned_unchanged() -> None:
    profiler = new_profiler()
    for function in C_FUNCTIONS:
        assert profiler(function) is function  # type: ignore[type-var]
        assert profiler.wrap_callable(function) is function
        assert profiler.get_underlying_functions(function) == []
    assert profiler.functions == []


def test_wrapping_alone_registers_nothing() -> None:
    profiler = new_profiler()

    def inner(n: int) -> int:
        return n

    def outer(n: int) -> int:
        return inner(n) + 1

    profiler.add_function(inner)
    wrapped = profiler.wrap_callable(outer)
    assert wrapped.__wrapped__ is outer
    assert profiler.wrap_callable(wrapped) is wrapped
    assert (inner(1), wrapped(2), outer(3)) == (1, 3, 4)
    assert profiler.functions == [inner]
    assert hits_by_name(profiler) == {"inner": 1}
    profiler.add_callable(outer)
    assert wrapped(5) == 6
    assert hits_by_name(profiler)["inner"] == 2
    assert hits_by_name(profiler)["outer"] >= 1


@pytest.mark.parametrize("name", ["wrap_callable", "wrap_generator", "__call__"])
def test_a_generator_keeps_its_protocol(name: str) -> None:
    wrapped = getattr(new_profiler(), name)(numbers)
    assert inspect.isgeneratorfunction(wrapped)
    steps = wrapped(1)
    assert next(steps) == 1
    with pytest.raises(StopIteration) as stop:
        steps.send("sent")
    assert stop.value.value == "sent"
    steps = wrapped(1)
    next(steps)
    with pytest.raises(KeyError, match="thrown"):
        steps.throw(KeyError("thrown"))


def test_coroutines_and_asynchronous_generators_are_wrapped() -> None:
    profiler = new_profiler()
    one, many = (
        profiler.wrap_coroutine(coroutine),
        profiler.wrap_callable(async_numbers),
    )
    assert inspect.iscoroutinefunction(one)
    assert inspect.isasyncgenfunction(many)
    profiler.add_callable(coroutine)

    async def use() -> list[object]:
        steps = many(1)
        return [await one(5), await steps.asend(None), await steps.asend(2)]

    assert asyncio.run(use()) == [5, 1, 2]
    assert hits_by_name(profiler) == {"coroutine": 2}
    assert profiler.enable_count == 0


def test_a_wrapped_c_function_enables_the_profiler() -> None:
    profiler = new_profiler(plain)
    calls = profiler.wrap_function(map)
    assert calls.__wrapped__ is map
    assert profiler.wrap_function(calls) is calls
    sort = profiler.wrap_function(sorted)
    assert sort([2, 1], key=plain) == [1, 2]
    assert hits_by_name(profiler) == {"plain": 2}


def test_wrapped_descriptors_keep_their_type_and_attributes() -> None:
    profiler = new_profiler()
    partial = functools.partial(plain, 1)
    partial.note = "mine"  # type: ignore[attr-defined]
    wrapped = profiler(partial)
    assert (type(wrapped), wrapped()) == (functools.partial, 2)
    assert (wrapped.note, wrapped.args) == ("mine", (1,))  # type: ignore[attr-defined]
    method = profiler(Adder(2).__call__)
    assert isinstance(method, types.MethodType)
    assert (method(1), method.__self__.n) == (3, 2)

    class Box:
        @property
        def item(self) -> int:
            """An item."""
            return 1

        cached = functools.cached_property(lambda _: 2)
        static = staticmethod(plain)

    item = profiler(vars(Box)["item"])
    assert isinstance(item, property)
    assert item.__doc__ == "An item."
    assert profiler.wrap_property(item).fget is item.fget, "already wrapped"
    if sys.version_info >= (3, 13):
        assert item.__name__ == "item"
    cached = profiler.wrap_cached_property(vars(Box)["cached"])
    assert cached.attrname == "cached"
    static = profiler.wrap_staticmethod(vars(Box)["static"])
    assert isinstance(static, staticmethod)
    assert static.__func__.__wrapped__ is plain


def test_a_decorated_cache_is_still_a_cache() -> None:
    profiler = new_profiler()
    cached = functools.lru_cache(plain)
    assert profiler(cached) is cached
    assert (cached(1), cached(1), cached.cache_info().hits) == (2, 2, 1)
    assert hits_by_name(profiler) == {"plain": 1}


def test_an_object_with_every_attribute_is_not_unwrapped_forever() -> None:
    class Proxy:
        def __getattr__(self, name: str) -> Proxy:
            return Proxy()

        def __call__(self) -> int:
            return 1

    profiler = new_profiler()
    assert profiler(Proxy())() == 1
    assert hits_by_name(profiler) == {"__call__": 1}


def test_each_of_two_profilers_counts_its_own_calls() -> None:
    one, two = new_profiler(), new_profiler()
    first = one(plain)
    second = two(first)
    assert second is not first
    assert (one.functions, two.functions) == ([plain], [plain])
    assert [plain(1), first(1), first(1), second(1)] == [2] * 4
    assert (hits_by_name(one), hits_by_name(two)) == ({"plain": 3}, {"plain": 1})


def test_a_function_that_another_profiler_decorated_can_be_added() -> None:
    before, one, after = new_profiler(plain), new_profiler(), new_profiler()
    decorated = one(plain)
    after.add_function(decorated.__wrapped__)  # type: ignore[attr-defined]
    with before, after:
        decorated(1)
    assert [hits_by_name(each) for each in (before, one, after)] == [{"plain": 1}] * 3
