"""Wrappers for every kind of callable, for profilers that are enabled by count.

They serve functions without a code object of their own, and profilers that override
`enable_by_count`; other decorated functions run a copy of their code. A wrapper is of
the kind that it wraps. A suspended call is not counted: the profiler is disabled at
every `yield` and `await`, and enabled again for the next step.
"""

from __future__ import annotations

import functools
import sys

from lineprof.bytecode.code_flags import ITERABLE_COROUTINE
from lineprof.errors import warn_at_caller
from lineprof.later import Later

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
    from types import MethodType, TracebackType
    from typing import Any, Protocol, Self, TypeVar

    from lineprof.decorate import callables

    T = TypeVar("T")

    class Counter(Protocol):
        """A profiler that is enabled and disabled by count."""

        def enable_by_count(self) -> None:
            """Enable."""

        def disable_by_count(self) -> None:
            """Undo it."""
else:
    callables = Later("lineprof.decorate.callables")


_MARK = "__lineprof_wrapper__"  # its profiler and id; functools.wraps copies it


def wrapped(profiler: Counter, kind: str, func: Any) -> Any:  # noqa: ANN401
    """Return a wrapper of `func`, a callable of that `kind`.

    It has ``__wrapped__``, and a code object of its own, by which cProfile tells
    functions apart.
    """
    wrapper: Any = _WRAPPERS[kind](profiler, func)
    code = wrapper.__code__
    flags = getattr(getattr(func, "__code__", None), "co_flags", 0)
    wrapper.__code__ = code.replace(
        co_flags=code.co_flags | (flags & ITERABLE_COROUTINE)
    )
    functools.update_wrapper(wrapper, func)
    for name in ("cache_info", "cache_clear", "cache_parameters"):
        if hasattr(func, name):  # which are not in its __dict__
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


# Wrappers that run when the interpreter shuts down find no names in their module any
# more: what they need are variables of their makers.


def _generator(profiler: Counter, func: Callable[..., Any]) -> Callable[..., Any]:
    steps = _steps

    def wrapper(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:  # noqa: ANN401
        return (yield from steps(profiler, func(*args, **kwargs)))

    return wrapper


def _coroutine(profiler: Counter, func: Callable[..., Any]) -> Callable[..., Any]:
    steps = _Steps

    async def wrapper(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        return await steps(profiler, func(*args, **kwargs))

    return wrapper


def _async_generator(profiler: Counter, func: Callable[..., Any]) -> Callable[..., Any]:
    steps, get_hooks, set_hooks = _Steps, sys.get_asyncgen_hooks, sys.set_asyncgen_hooks

    async def wrapper(*args: object, **kwargs: object) -> AsyncGenerator[Any, Any]:
        inner = func(*args, **kwargs)
        # The event loop closes only the outer generator, which closes the inner one.
        hooks = get_hooks()
        set_hooks(None, None)
        try:
            step: Any = inner.asend(None)
        finally:
            set_hooks(*hooks)
        while True:
            try:
                item = await steps(profiler, step)
            except StopAsyncIteration:
                return
            try:
                sent = yield item
            except BaseException as error:  # noqa: BLE001  # raised in the inner one
                step = inner.athrow(error)
            else:
                step = inner.asend(sent)

    return wrapper


def _steps(
    profiler: Counter,
    inner: Any,  # noqa: ANN401
    stop: type[
        StopIteration
    ] = StopIteration,  # these names are gone at the end as well
    error: type[BaseException] = BaseException,
) -> Generator[Any, Any, Any]:
    """Run `inner`, a generator or coroutine, enabled during each step."""
    step, value = inner.send, None
    while True:
        profiler.enable_by_count()
        try:
            item = step(value)
        except stop as end:
            return end.value
        finally:
            profiler.disable_by_count()
        try:
            value = yield item
        except error as raised:  # raised in the inner one
            step, value = inner.throw, raised
        else:
            step = inner.send


async def _awaiting(inner: Awaitable[T]) -> T:
    return await inner


class _Steps:
    """Awaits `inner`, with the profiler enabled for its steps."""

    _has = staticmethod(hasattr)
    _steps = staticmethod(_steps)
    _awaiting = staticmethod(_awaiting)

    def __init__(self, profiler: Counter, inner: Any) -> None:  # noqa: ANN401
        self._profiler = profiler
        self._inner = inner

    def __await__(self) -> Generator[Any, Any, Any]:
        inner = self._inner
        return self._steps(
            self._profiler, inner if self._has(inner, "send") else self._awaiting(inner)
        )


_WRAPPERS = {
    "function": _function,
    "generator": _generator,
    "coroutine": _coroutine,
    "async_generator": _async_generator,
}


class ByCountProfilerMixin:
    """Decoration and running of code, by `enable_by_count` and `disable_by_count`.

    Each kind of callable has a method ``wrap_...``, which a profiler may override;
    `wrap_callable` calls the one for its argument.
    """

    def enable_by_count(self) -> None:
        """Enable, if not enabled yet; each call needs a `disable_by_count`."""
        raise NotImplementedError

    def disable_by_count(self) -> None:
        """Undo one `enable_by_count`; the last one disables."""
        raise NotImplementedError

    # -- wrapping ---------------------------------------------------------------

    def wrap_callable(self, func: Any) -> Any:  # noqa: ANN401
        """Return `func` such that calls of it enable the profiler.

        `func` may be a function, generator, coroutine, method, partial object, property
        or class. Raises TypeError if it is not callable.
        """
        kind = callables.kind_of(func)
        if not kind:
            msg = f"{func!r} is neither callable nor holds a callable"
            raise TypeError(msg)
        return getattr(self, f"wrap_{kind}")(func)

    @classmethod
    def get_underlying_functions(cls, func: object) -> list[Any]:
        """Return the Python functions that a call of `func` runs.

        Those of a class are its members. Raises TypeError if `func` is not callable.
        """
        return list(callables.functions_of(func))

    def wrap_function(self, func: Callable[..., Any]) -> Any:  # noqa: ANN401
        """Return a function that enables the profiler and calls `func`."""
        return self._wrapped("function", func)

    def wrap_generator(self, func: Callable[..., Any]) -> Any:  # noqa: ANN401
        """Return a generator function around `func`, disabled between steps."""
        return self._wrapped("generator", func)

    def wrap_coroutine(self, func: Callable[..., Any]) -> Any:  # noqa: ANN401
        """Return a coroutine function around `func`."""
        return self._wrapped("coroutine", func)

    def wrap_async_generator(self, func: Callable[..., Any]) -> Any:  # noqa: ANN401
        """Return an asynchronous generator function around `func`."""
        return self._wrapped("async_generator", func)

    def wrap_classmethod(self, func: Any) -> Any:  # noqa: ANN401
        """Return a class method around the callable in `func`."""
        return _like(func, type(func)(self.wrap_callable(func.__func__)))

    def wrap_staticmethod(self, func: Any) -> Any:  # noqa: ANN401
        """Return a static method around the callable in `func`."""
        return _like(func, type(func)(self.wrap_callable(func.__func__)))

    def wrap_boundmethod(self, func: MethodType) -> MethodType:
        """Return a bound method of the same instance."""
        return type(func)(self.wrap_callable(func.__func__), func.__self__)

    def wrap_partial(self, func: Any) -> Any:  # noqa: ANN401
        """Return a partial object with the same arguments."""
        return self._partial(func)

    def wrap_partialmethod(self, func: Any) -> Any:  # noqa: ANN401
        """Return a partial method with the same arguments."""
        return self._partial(func)

    def _partial(self, func: Any) -> Any:  # noqa: ANN401
        inner = self.wrap_callable(func.func)
        return _like(func, type(func)(inner, *func.args, **func.keywords))

    def wrap_property(self, func: Any) -> Any:  # noqa: ANN401
        """Return a property around the functions of `func`."""
        parts = (func.fget, func.fset, func.fdel)
        wrapped = [part and self.wrap_callable(part) for part in parts]
        made = _like(func, type(func)(*wrapped, func.__doc__))
        name = getattr(func, "__name__", None)  # of properties since Python 3.13
        if name is not None and getattr(made, "__name__", None) != name:
            made.__name__ = name
        return made

    def wrap_cached_property(self, func: Any) -> Any:  # noqa: ANN401
        """Return a cached property of the same name."""
        made = type(func)(self.wrap_callable(func.func))
        made.attrname = func.attrname
        return _like(func, made)

    def wrap_class(self, func: type) -> type:
        """Wrap the members that a class defines, in place, and return the class.

        Warns if a member cannot be replaced.
        """
        return self._replace_members(func, callables.members_of(func))

    def _replace_members(self, namespace: T, members: dict[str, object]) -> T:
        failed = {}
        for name, member in members.items():
            wrapper = self.wrap_callable(member)
            if wrapper is member:
                continue
            try:
                setattr(namespace, name, wrapper)
            except (AttributeError, TypeError):
                failed[name] = member
        if failed:
            # In line_profiler's words, by which programs may filter warnings.
            which = f"{len(failed)} attribute(s) of {namespace!r} (`{{attr: value}}`)"
            warn_at_caller(f"cannot wrap {which}: {failed!r}")
        return namespace

    def _wrapped(self, kind: str, func: Any) -> Any:  # noqa: ANN401
        if self._already_a_wrapper(func):
            return func

        wrapper = wrapped(self, kind, func)
        setattr(wrapper, _MARK, (self, id(wrapper)))
        return wrapper

    def _already_a_wrapper(self, func: object) -> bool:
        return getattr(func, _MARK, None) == (self, id(func))

    # -- running ------------------------------------------------------------------

    def __enter__(self) -> Self:
        """Enable for the length of a ``with`` block."""
        self.enable_by_count()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Disable again."""
        self.disable_by_count()

    def runcall(self, func: Callable[..., T], /, *args: Any, **kw: Any) -> T:  # noqa: ANN401
        """Return ``func(*args, **kw)``, with the profiler enabled."""
        self.enable_by_count()
        try:
            return func(*args, **kw)
        finally:
            self.disable_by_count()

    def runctx(
        self,
        cmd: str,
        globals: dict[str, Any],  # noqa: A002
        locals: dict[str, Any],  # noqa: A002
    ) -> Self:
        """Run the statements `cmd` in these namespaces, enabled; returns self."""
        self.enable_by_count()
        try:
            exec(cmd, globals, locals)  # noqa: S102
        finally:
            self.disable_by_count()
        return self

    def run(self, cmd: str) -> Self:
        """Run the statements `cmd` in ``__main__``, enabled; returns self."""
        import __main__  # noqa: PLC0415

        return self.runctx(cmd, __main__.__dict__, __main__.__dict__)


def _like(old: Any, new: T) -> T:  # noqa: ANN401
    """Return `new` with the attributes that were set on `old`."""
    attributes = getattr(new, "__dict__", None)
    if attributes is not None:
        for name, value in vars(old).items():
            attributes.setdefault(name, value)
    return new
