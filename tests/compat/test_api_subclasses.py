"""Subclasses of LineProfiler: methods that they override are called."""

from __future__ import annotations

import asyncio
import functools
from typing import Any

import pytest
from running import hits_of, hook_name

from lineprof import LineProfiler
from lineprof.decorate.wrappers import ByCountProfilerMixin

pytestmark = [pytest.mark.usefixtures("hook"), pytest.mark.smoke]


def plain(n: int) -> int:
    return n + 1


def numbers(n: int) -> Any:
    try:
        received = yield n
        yield received
    except KeyError:
        yield "caught"
    return "end"


async def coroutine(n: int) -> int:
    await asyncio.sleep(0)
    return n


async def async_numbers(n: int) -> Any:
    try:
        yield (yield n)
    except KeyError:
        yield "caught"


class Recording(LineProfiler):
    """A profiler that records which of its methods were called."""

    def __init__(self) -> None:
        self.called: list[str] = []
        super().__init__(core=hook_name())


def recording(*names: str) -> Any:
    """Return a profiler whose methods `names` are overridden."""

    def method(name: str) -> Any:
        def call(self: Recording, *args: Any, **kwargs: Any) -> Any:
            self.called.append(name)
            return getattr(super(cls, self), name)(*args, **kwargs)

        return call

    cls: Any = type("Derived", (Recording,), {name: method(name) for name in names})
    return cls()


@pytest.mark.parametrize(
    "name",
    ["__call__", "add_callable", "add_function", "wrap_callable", "wrap_function"],
)
def test_decorating_calls_overridden_methods(name: str) -> None:
    profiler = recording(name)
    wrapped = profiler(plain)
    assert profiler.called == [name]
    assert wrapped(1) == 2
    assert profiler(wrapped) is wrapped
    assert [sum(lines.values()) for lines in hits_of(profiler).values()] == [1]


def test_each_member_of_a_class_goes_through_the_methods() -> None:
    profiler = recording("add_function", "wrap_function", "wrap_property")

    @profiler
    class Box:
        def method(self) -> int:
            return 1

        @property
        def item(self) -> int:
            return 2

    assert (Box().method(), Box().item) == (1, 2)
    assert sorted(profiler.called) == sorted(
        ["add_function"] * 2 + ["wrap_function"] * 2 + ["wrap_property"]
    )
    profiler.called.clear()
    profiler.add_class(type("Other", (), {"f": plain}), scoping_policy="none")
    assert profiler.called == ["add_function"]


def test_the_constructor_adds_through_add_function() -> None:
    added = []

    class Derived(LineProfiler):
        def add_function(self, func: object) -> None:
            added.append(func)
            super().add_function(func)

    assert (
        Derived(plain, numbers, core=hook_name()).functions == added == [plain, numbers]
    )


def test_an_overridden_wrap_may_return_functions_unchanged() -> None:
    class Derived(LineProfiler):
        def wrap_callable(self, func: Any) -> Any:
            return func if func is plain else super().wrap_callable(func)

    profiler = Derived(core=hook_name())
    assert profiler(plain) is plain
    assert profiler(numbers) is not numbers
    assert plain in profiler.functions


def test_overridden_enable_by_count_is_called_by_every_call() -> None:
    profiler = recording("enable_by_count", "disable_by_count")
    both = ["enable_by_count", "disable_by_count"]
    f, g = profiler(plain), profiler(numbers)
    assert f.__wrapped__ is plain
    assert (profiler(f), profiler(g)) == (f, g)
    assert f(1) == 2
    assert profiler.called == both
    assert list(g(1)) == [1, None]
    assert profiler.called == both * 4
    assert [sum(lines.values()) for lines in hits_of(profiler).values()] == [1, 4]
    assert profiler.enable_count == 0


def test_overridden_enable_is_called_by_the_outermost_call() -> None:
    profiler = recording("enable", "disable")
    both = ["enable", "disable"]
    f = profiler(plain)
    assert f(1) == 2
    assert profiler.called == both
    with profiler:
        assert f(1) == 2
        assert profiler.enable_count == 1
    assert profiler.called == both * 2
    profiler.disable_by_count()
    assert profiler.called == both * 2
    plain(1)
    assert [sum(lines.values()) for lines in hits_of(profiler).values()] == [2]
    profiler.enable()
    plain(1)
    profiler.disable()
    plain(1)
    assert profiler.called == both * 3
    assert [sum(lines.values()) for lines in hits_of(profiler).values()] == [3]


def test_a_partial_method_is_wrapped_by_wrap_partialmethod_alone() -> None:
    profiler = recording("wrap_partial", "wrap_partialmethod")
    profiler(functools.partialmethod(plain, 1))
    profiler(functools.partial(plain, 1))
    assert profiler.called == ["wrap_partialmethod", "wrap_partial"]


class Counting(ByCountProfilerMixin):
    """A minimal user of the mixin, which counts how often it is enabled."""

    def __init__(self) -> None:
        self.count = self.calls = 0

    def enable_by_count(self) -> None:
        self.count += 1
        self.calls += 1

    def disable_by_count(self) -> None:
        self.count -= 1


def test_the_mixin_makes_a_profiler_of_a_class_with_enable_by_count() -> None:
    profiler = Counting()
    assert profiler.wrap_callable(plain)(1) == 2
    with profiler as same:
        assert (same, profiler.count) == (profiler, 1)
    assert profiler.runcall(plain, n=1) == 2
    names: dict[str, object] = {"plain": plain}
    assert profiler.runctx("x = plain(2)", names, names) is profiler
    assert names["x"] == 3
    assert profiler.run("1 + 1") is profiler
    assert (profiler.count, profiler.calls) == (0, 5)


def test_generators_of_the_mixin_keep_their_protocol() -> None:
    profiler = Counting()
    wrapped = profiler.wrap_callable(numbers)
    steps = wrapped(1)
    assert [next(steps), profiler.count, steps.send(2)] == [1, 0, 2]
    with pytest.raises(StopIteration) as stop:
        next(steps)
    assert stop.value.value == "end"
    steps = wrapped(1)
    next(steps)
    assert steps.throw(KeyError()) == "caught"
    steps.close()
    assert profiler.count == 0


def test_asynchronous_functions_of_the_mixin_keep_their_protocol() -> None:
    profiler = Counting()
    one, many = profiler.wrap_callable(coroutine), profiler.wrap_callable(async_numbers)

    async def use() -> list[object]:
        steps = many(1)
        found = [await one(5), await steps.asend(None), await steps.asend(2)]
        thrown = many(1)
        await thrown.asend(None)
        found.append(await thrown.athrow(KeyError()))
        await thrown.aclose()
        return [*found, [n async for n in many(7)]]

    assert asyncio.run(use()) == [5, 1, 2, "caught", [7, None]]
    assert profiler.count == 0
