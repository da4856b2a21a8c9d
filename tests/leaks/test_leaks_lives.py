"""Leaks of short-lived objects: functions, code, generators, threads, profilers."""

from __future__ import annotations

import contextlib
import gc
import threading
from typing import TYPE_CHECKING, Any

import pytest
from growth import must_not_grow, numbers, used, work
from running import hits_of, new_profiler

if TYPE_CHECKING:
    from types import CodeType

    from lineprof import LineProfiler

pytestmark = [pytest.mark.usefixtures("hook"), pytest.mark.serial]


def test_a_hundred_thousand_closures_are_one_function_and_leak_no_memory() -> None:
    profiler = new_profiler()

    def make(n: int) -> None:
        for i in range(n):

            @profiler
            def f() -> int:
                return i  # noqa: B023 - it is called at once

            f()

    make(1000)
    blocks, size = used()
    make(99_000)
    after = used()
    ((key, lines),) = hits_of(profiler).items()
    assert key[1].endswith("f")
    assert list(lines.values()) == [100_000]
    assert len(profiler.functions) == 1
    assert after[0] - blocks < 1000
    assert after[1] - size < 100_000


def test_code_compiled_again_is_one_function_and_is_deleted() -> None:
    profiler = new_profiler()
    text = "def f(n):\n    n += 1\n    return n\n"
    calls: list[int] = [0]

    def once() -> None:
        namespace: dict[str, Any] = {}
        exec(compile(text, "anew.py", "exec"), namespace)
        calls[0] = profiler(namespace["f"])(calls[0])

    must_not_grow(once)
    (lines,) = hits_of(profiler).values()
    assert list(lines.values()) == [calls[0], calls[0]]


@pytest.mark.smoke
def test_code_that_is_deleted_while_it_is_profiled() -> None:
    profiler = new_profiler()

    def f(n: int) -> Any:
        change()
        gc.collect()
        n += 1
        yield n
        n += 1

    wrapped = profiler(f)
    changed = (f, wrapped)

    def change() -> None:
        for function in changed:
            function.__code__ = f.__code__.replace(co_name="other")

    assert list(wrapped(1)) == [2]
    gc.collect()
    (lines,) = hits_of(profiler).values()
    assert list(lines.values()) == [1] * 5


@pytest.mark.smoke
def test_the_numbers_of_deleted_code_are_kept() -> None:
    profiler = new_profiler()
    codes: list[CodeType] = []
    for name in "abc":
        namespace: dict[str, Any] = {}
        exec(f"def {name}(n):\n    return n\n", namespace)
        profiler(namespace[name])(1)
        codes.append(namespace[name].__code__)
        namespace[name].__code__ = work.__code__
    profiler.functions.clear()
    codes.clear()
    gc.collect()
    assert [key[1] for key in hits_of(profiler)] == ["a", "b", "c"]
    assert [list(lines.values()) for lines in hits_of(profiler).values()] == [[1]] * 3


@pytest.mark.smoke
def test_a_profiler_that_is_deleted_while_its_function_runs() -> None:
    kept: list[LineProfiler] = [new_profiler()]

    def f(n: int) -> Any:
        n += 1
        yield n
        kept.clear()
        gc.collect()
        n += 1
        yield n

    kept[0].add_function(f)
    kept[0].enable()
    assert list(f(1)) == [2, 3]
    assert list(f(1)) == [2, 3]


def test_a_generator_that_outlives_its_profiler() -> None:
    def once() -> None:
        profiler = new_profiler()
        generator = profiler(numbers)(3)
        next(generator)
        del profiler
        assert list(generator) == [1, 2]

    must_not_grow(once)


@pytest.mark.smoke
@pytest.mark.parametrize("end", ["finish", "close", "throw", "drop"])
def test_generators_leak_no_memory_however_they_end(end: str) -> None:
    wrapped = new_profiler()(numbers)

    def once() -> None:
        generator = wrapped(3)
        next(generator)
        if end == "finish":
            list(generator)
        elif end == "close":
            generator.close()
        elif end == "throw":
            with contextlib.suppress(KeyError):
                generator.throw(KeyError)

    must_not_grow(once, 2000)


@pytest.mark.smoke
def test_coroutines_and_exceptions_leak_no_memory() -> None:
    profiler = new_profiler()

    class Pause:
        def __await__(self) -> Any:
            yield

    @profiler
    async def wait() -> None:
        await Pause()
        raise KeyError

    def once() -> None:
        coroutine = wait()
        coroutine.send(None)
        with contextlib.suppress(KeyError):
            coroutine.send(None)
        coroutine = wait()
        coroutine.send(None)
        coroutine.close()

    must_not_grow(once, 2000)


def test_threads_that_end_leak_almost_no_memory() -> None:
    wrapped = new_profiler()(work)

    def once() -> None:
        thread = threading.Thread(target=wrapped, args=(2,))
        thread.start()
        thread.join()

    must_not_grow(once, 300)
