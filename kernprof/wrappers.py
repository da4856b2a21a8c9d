"""Functions that record calls of others, and otherwise behave like these.

A wrapper is of the kind that it wraps: function, generator function, coroutine
function or asynchronous generator function. What is suspended is not recorded:
recording stops with every `yield` and `await` and goes on with the next step.
"""

from __future__ import annotations

import functools
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
    from types import FunctionType
    from typing import Any, Protocol

    class Recording(Protocol):
        """What is turned on for as long as a call takes."""

        def enable_by_count(self) -> None:
            """Record, unless it does."""

        def disable_by_count(self) -> None:
            """Undo one `enable_by_count`."""


_GENERATOR, _COROUTINE, _ITERABLE_COROUTINE, _ASYNC = 0x20, 0x80, 0x100, 0x200
_MARK = "__kernprof_wrapper__"


def wrapped(recording: Recording, function: Any) -> Any:  # noqa: ANN401
    """Return a callable like `function` whose calls `recording` records.

    It has ``__wrapped__``. One that is such a wrapper comes back as it is.
    """
    if _is_wrapper(recording, function):
        return function
    wrapper = _wrapper(recording, function)
    # A code object of its own: cProfile tells functions apart by these.
    wrapper.__code__ = wrapper.__code__.replace()
    functools.update_wrapper(wrapper, function)
    for name in ("cache_info", "cache_clear", "cache_parameters"):
        if hasattr(function, name):  # they are no part of its __dict__
            setattr(wrapper, name, getattr(function, name))
    setattr(wrapper, _MARK, (id(recording), id(wrapper)))
    return wrapper


def _is_wrapper(recording: Recording, function: object) -> bool:
    """Tell it from a wrapper around one, which has a copy of its attributes."""
    mark = getattr(function, "__dict__", {}).get(_MARK)
    return mark == (id(recording), id(function))


def _wrapper(recording: Recording, function: Any) -> FunctionType:  # noqa: ANN401
    code = getattr(function, "__code__", None)
    flags = getattr(code, "co_flags", 0)
    if flags & _ASYNC:
        return _async_generator(recording, function)
    if flags & _COROUTINE:
        return _coroutine(recording, function)
    if flags & (_GENERATOR | _ITERABLE_COROUTINE):
        wrapper = _generator(recording, function)
        if flags & _ITERABLE_COROUTINE:  # `await` takes it
            _set_flags(wrapper, _ITERABLE_COROUTINE)
        return wrapper
    return _function(recording, function)


def _set_flags(function: FunctionType, flags: int) -> None:
    code = function.__code__
    function.__code__ = code.replace(co_flags=code.co_flags | flags)


def _function(recording: Recording, function: Callable[..., object]) -> FunctionType:
    def recorded(*args: object, **kwargs: object) -> object:
        recording.enable_by_count()
        try:
            return function(*args, **kwargs)
        finally:
            recording.disable_by_count()

    return recorded  # type: ignore[return-value]


def _generator(recording: Recording, function: Callable[..., Any]) -> FunctionType:
    def recorded(*args: object, **kwargs: object) -> Generator[Any, Any, Any]:
        return (yield from _steps(recording, function(*args, **kwargs)))

    return recorded  # type: ignore[return-value]


def _coroutine(
    recording: Recording, function: Callable[..., Coroutine[Any, Any, Any]]
) -> FunctionType:
    async def recorded(*args: object, **kwargs: object) -> object:
        return await _Steps(recording, function(*args, **kwargs))

    return recorded  # type: ignore[return-value]


def _async_generator(
    recording: Recording, function: Callable[..., AsyncGenerator[Any, Any]]
) -> FunctionType:
    async def recorded(*args: object, **kwargs: object) -> AsyncGenerator[Any, Any]:
        inner = function(*args, **kwargs)
        # The event loop is to close the outer one alone, which closes this one.
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(None, None)
        try:
            step: Any = inner.asend(None)
        finally:
            sys.set_asyncgen_hooks(*hooks)
        while True:
            try:
                item = await _Steps(recording, step)
            except StopAsyncIteration:
                return
            try:
                sent = yield item
            except BaseException as error:  # noqa: BLE001  # it is the inner one's
                step = inner.athrow(error)
            else:
                step = inner.asend(sent)

    return recorded  # type: ignore[return-value]


class _Steps:
    """Waits for `inner`, recording its steps."""

    def __init__(self, recording: Recording, inner: Any) -> None:  # noqa: ANN401
        self._recording = recording
        self._inner = inner

    def __await__(self) -> Generator[Any, Any, Any]:
        return _steps(self._recording, self._inner)


def _steps(recording: Recording, inner: Any) -> Generator[Any, Any, Any]:  # noqa: ANN401
    """Do what `inner` does, a generator or coroutine, recording each step."""
    step, value = inner.send, None
    while True:
        recording.enable_by_count()
        try:
            item = step(value)
        except StopIteration as end:
            return end.value
        finally:
            recording.disable_by_count()
        try:
            value = yield item
        except BaseException as error:  # noqa: BLE001  # it is the inner one's
            step, value = inner.throw, error
        else:
            step = inner.send
