"""Functions around functions, that enable a profiler for as long as these run.

For functions without code of their own to be told by, and for profilers with an
`enable_by_count` of their own: else calls are told by their code. A wrapper is of
the kind that it wraps. What is suspended is not counted: a profiler is disabled at
every `yield` and `await`, and enabled again for the next step.
"""

from __future__ import annotations

import functools
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
    from typing import Any, Protocol, TypeVar

    T = TypeVar("T")

    class Counter(Protocol):
        """What is enabled and disabled by count."""

        def enable_by_count(self) -> None:
            """Enable."""

        def disable_by_count(self) -> None:
            """Undo it."""


_ITERABLE_COROUTINE = 0x100  # of `inspect`: a generator that `await` takes


def wrapped(profiler: Counter, kind: str, func: Any) -> Any:  # noqa: ANN401
    """Return a function like `func`, a callable of that `kind`.

    It has ``__wrapped__``, and a code object of its own: cProfile tells functions
    apart by these.
    """
    wrapper: Any = _WRAPPERS[kind](profiler, func)
    code = wrapper.__code__
    flags = getattr(getattr(func, "__code__", None), "co_flags", 0)
    wrapper.__code__ = code.replace(
        co_flags=code.co_flags | (flags & _ITERABLE_COROUTINE)
    )
    functools.update_wrapper(wrapper, func)
    for name in ("cache_info", "cache_clear", "cache_parameters"):
        if hasattr(func, name):  # they are no part of its __dict__
            setattr(wrapper, name, getattr(func, name))
    return wrapper


def _function(profiler: Counter, func: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        profiler.enable_by_count()
        try:
            return func(*args, **kwargs)
        finally:
            profiler.disable_by_count()

    return wrapper


def _generator(profiler: Counter, func: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:  # noqa: ANN401
        return (yield from _steps(profiler, func(*args, **kwargs)))

    return wrapper


def _coroutine(profiler: Counter, func: Callable[..., Any]) -> Callable[..., Any]:
    async def wrapper(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        return await _Steps(profiler, func(*args, **kwargs))

    return wrapper


def _async_generator(profiler: Counter, func: Callable[..., Any]) -> Callable[..., Any]:
    async def wrapper(*args: object, **kwargs: object) -> AsyncGenerator[Any, Any]:
        inner = func(*args, **kwargs)
        # The event loop is to close the outer one alone, which closes this one.
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(None, None)
        try:
            step: Any = inner.asend(None)
        finally:
            sys.set_asyncgen_hooks(*hooks)
        while True:
            try:
                item = await _Steps(profiler, step)
            except StopAsyncIteration:
                return
            try:
                sent = yield item
            except BaseException as error:  # noqa: BLE001  # it is the inner one's
                step = inner.athrow(error)
            else:
                step = inner.asend(sent)

    return wrapper


class _Steps:
    """Awaits `inner`, with the profiler enabled for its steps."""

    def __init__(self, profiler: Counter, inner: Any) -> None:  # noqa: ANN401
        self._profiler = profiler
        self._inner = inner

    def __await__(self) -> Generator[Any, Any, Any]:
        inner = self._inner
        return _steps(
            self._profiler, inner if hasattr(inner, "send") else _awaiting(inner)
        )


async def _awaiting(inner: Awaitable[T]) -> T:
    return await inner


def _steps(profiler: Counter, inner: Any) -> Generator[Any, Any, Any]:  # noqa: ANN401
    """Do what `inner` does, a generator or coroutine, enabled for each step."""
    step, value = inner.send, None
    while True:
        profiler.enable_by_count()
        try:
            item = step(value)
        except StopIteration as end:
            return end.value
        finally:
            profiler.disable_by_count()
        try:
            value = yield item
        except BaseException as error:  # noqa: BLE001  # it is the inner one's
            step, value = inner.throw, error
        else:
            step = inner.send


_WRAPPERS = {
    "function": _function,
    "generator": _generator,
    "coroutine": _coroutine,
    "async_generator": _async_generator,
}
