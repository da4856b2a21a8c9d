"""Functions around functions, that enable a profiler for as long as these run.

Where a function has no code of its own to be told by, or a profiler's own
`enable_by_count` wants to be called: else calls are told by their code.
"""

from __future__ import annotations

import functools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Protocol

    class Counter(Protocol):
        """What is enabled and disabled by count."""

        def enable_by_count(self) -> None:
            """Enable."""

        def disable_by_count(self) -> None:
            """Undo it."""


def function(profiler: Counter, func: Callable[..., Any]) -> Any:  # noqa: ANN401
    """Return a function that calls `func`."""

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        profiler.enable_by_count()
        try:
            return func(*args, **kwargs)
        finally:
            profiler.disable_by_count()

    return wrapper


def coroutine(profiler: Counter, func: Callable[..., Any]) -> Any:  # noqa: ANN401
    """Return a coroutine function that awaits what `func` gives."""

    @functools.wraps(func)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        profiler.enable_by_count()
        try:
            return await func(*args, **kwargs)
        finally:
            profiler.disable_by_count()

    return wrapper


def generator(profiler: Counter, func: Callable[..., Any]) -> Any:  # noqa: ANN401
    """Return a generator function that runs the generators of `func`, step by step.

    What is sent and thrown in goes on to them; what they return comes back.
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        steps = func(*args, **kwargs)
        step, value = steps.send, None
        while True:
            profiler.enable_by_count()
            try:
                item = step(value)
            except StopIteration as stop:
                return stop.value
            finally:
                profiler.disable_by_count()
            try:
                step, value = steps.send, (yield item)
            except GeneratorExit:
                function(profiler, steps.close)()
                raise
            except BaseException as error:  # noqa: BLE001  # it goes on
                step, value = steps.throw, error

    return wrapper


def async_generator(profiler: Counter, func: Callable[..., Any]) -> Any:  # noqa: ANN401
    """Return an asynchronous generator function around `func`, as `generator` is."""

    @functools.wraps(func)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        steps = func(*args, **kwargs)
        step, value = steps.asend, None
        while True:
            profiler.enable_by_count()
            try:
                item = await step(value)
            except StopAsyncIteration:
                return
            finally:
                profiler.disable_by_count()
            try:
                step, value = steps.asend, (yield item)
            except GeneratorExit:
                await coroutine(profiler, steps.aclose)()
                raise
            except BaseException as error:  # noqa: BLE001  # it goes on
                step, value = steps.athrow, error

    return wrapper
