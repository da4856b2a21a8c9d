"""Wrappers: inspect, pickle, asyncio and functools treat them as their functions."""

from __future__ import annotations

import asyncio
import functools
import inspect
import pickle
from typing import Any

import pytest
from running import hits_of, new_profiler

pytestmark = pytest.mark.usefixtures("hook")


def plain(a: int, b: int = 2) -> int:
    """Add."""
    return a + b


def generator(n: int) -> Any:
    """Yield."""
    yield n


async def coroutine(n: int) -> int:
    """Await."""
    return n


async def agenerator(n: int) -> Any:
    """Await and yield."""
    yield n


KINDS = [plain, generator, coroutine, agenerator]
QUESTIONS = [
    inspect.isfunction,
    inspect.isgeneratorfunction,
    inspect.iscoroutinefunction,
    inspect.isasyncgenfunction,
    inspect.isroutine,
    inspect.signature,
    inspect.getdoc,
    inspect.unwrap,
    inspect.getsource,
    inspect.getmodule,
    callable,
]


@pytest.mark.parametrize("function", KINDS)
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.__name__)
def test_inspect_sees_the_kind_that_is_wrapped(function: Any, question: Any) -> None:
    wrapper = new_profiler()(function)
    if question is inspect.isfunction:
        assert callable(wrapper)  # a wrapper may be of a kind of its own
        return
    assert question(wrapper) == question(function)


@pytest.mark.parametrize("function", KINDS)
def test_a_wrapper_has_the_attributes_of_its_function(function: Any) -> None:
    profiler = new_profiler()
    wrapper = profiler(function)
    assert wrapper.__wrapped__ is function
    for name in ("__name__", "__qualname__", "__doc__", "__module__"):
        assert getattr(wrapper, name) == getattr(function, name)
    assert wrapper.__annotations__ == function.__annotations__
    assert profiler(wrapper) is wrapper, "decorated twice, one wrapper"
    assert function in profiler.functions


@pytest.mark.skipif("not hasattr(inspect, 'markcoroutinefunction')")
def test_asyncio_knows_a_wrapped_coroutine_function() -> None:
    assert inspect.iscoroutinefunction(new_profiler()(coroutine))
    assert asyncio.run(new_profiler()(coroutine)(3)) == 3


def test_wrappers_can_be_pickled_weakly_referred_to_and_compared() -> None:
    profiler = new_profiler()
    original = globals()["plain"]
    wrapper = globals()["plain"] = profiler(original)
    try:
        assert pickle.loads(pickle.dumps(wrapper)) is wrapper  # noqa: S301
    finally:
        globals()["plain"] = original
    assert wrapper == wrapper  # noqa: PLR0124
    assert len({wrapper, wrapper}) == 1
    wrapper.note = "attributes may be set"
    assert wrapper.note


def test_functools_works_on_wrappers() -> None:
    profiler = new_profiler()
    wrapper = profiler(plain)
    cached = functools.lru_cache(wrapper)
    assert [cached(1), cached(1), functools.partial(wrapper, 1)(b=5)] == [3, 3, 6]
    dispatch = functools.singledispatch(wrapper)
    dispatch.register(str, lambda a: a)
    assert [dispatch(1), dispatch("a")] == [3, "a"]
    (lines,) = hits_of(profiler).values()
    assert sum(lines.values()) == 3


def test_an_object_that_cannot_be_profiled_is_returned_unchanged() -> None:
    profiler = new_profiler()
    assert profiler(len) is len
    assert profiler.get_stats().functions == ()
