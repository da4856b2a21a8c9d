"""The kinds of what can be decorated, which say how it is wrapped."""

from __future__ import annotations

import functools
import types

from lineprof.code_flags import ASYNC_GENERATOR, COROUTINE, GENERATOR

C_LEVEL_CALLABLE_TYPES = (
    types.BuiltinFunctionType,
    types.BuiltinMethodType,
    types.ClassMethodDescriptorType,
    types.MethodDescriptorType,
    types.MethodWrapperType,
    types.WrapperDescriptorType,
)

_CYTHON = ("cython_function_or_method", "fused_cython_function")

_KINDS = (
    (classmethod, "classmethod"),
    (staticmethod, "staticmethod"),
    (types.MethodType, "boundmethod"),
    (functools.partialmethod, "partialmethod"),
    (functools.partial, "partial"),
    (property, "property"),
    (functools.cached_property, "cached_property"),
)


def kind_of(target: object) -> str:
    """Return the kind of a callable or of what wraps one, "" for anything else.

    It is the end of the name of the method that wraps it: ``wrap_property``.
    """
    if isinstance(target, types.FunctionType):
        return function_kind(target)
    for cls, kind in _KINDS:
        if isinstance(target, cls):
            return kind
    if isinstance(target, type):
        return "class"
    return "function" if callable(target) else ""


def function_kind(function: types.FunctionType) -> str:
    """Return the kind of a Python function."""
    flags = function.__code__.co_flags
    if flags & ASYNC_GENERATOR:
        return "async_generator"
    if flags & COROUTINE:
        return "coroutine"
    return "generator" if flags & GENERATOR else "function"


def is_c_level_callable(func: object) -> bool:
    """Return whether `func` is written in C, so that it has no lines."""
    return isinstance(func, C_LEVEL_CALLABLE_TYPES)


def is_cython_callable(func: object) -> bool:
    """Return whether Cython made `func`."""
    return callable(func) and type(func).__name__ in _CYTHON


def is_function(func: object) -> bool:
    """Return whether `func` is a Python function."""
    return isinstance(func, types.FunctionType)


def is_coroutine(func: object) -> bool:
    """Return whether a call of `func` gives a coroutine."""
    import inspect  # noqa: PLC0415  # seldom asked

    return inspect.iscoroutinefunction(func)


def is_generator(func: object) -> bool:
    """Return whether a call of `func` gives a generator."""
    import inspect  # noqa: PLC0415  # seldom asked

    return inspect.isgeneratorfunction(func)


def is_async_generator(func: object) -> bool:
    """Return whether a call of `func` gives an asynchronous generator."""
    import inspect  # noqa: PLC0415  # seldom asked

    return inspect.isasyncgenfunction(func)


def is_classmethod(f: object) -> bool:
    """Return whether `f` is a ``classmethod``."""
    return isinstance(f, classmethod)


def is_staticmethod(f: object) -> bool:
    """Return whether `f` is a ``staticmethod``."""
    return isinstance(f, staticmethod)


def is_boundmethod(f: object) -> bool:
    """Return whether `f` is a method with its instance."""
    return isinstance(f, types.MethodType)


def is_partialmethod(f: object) -> bool:
    """Return whether `f` is a ``functools.partialmethod``."""
    return isinstance(f, functools.partialmethod)


def is_partial(f: object) -> bool:
    """Return whether `f` is a ``functools.partial``."""
    return isinstance(f, functools.partial)


def is_property(f: object) -> bool:
    """Return whether `f` is a ``property``."""
    return isinstance(f, property)


def is_cached_property(f: object) -> bool:
    """Return whether `f` is a ``functools.cached_property``."""
    return isinstance(f, functools.cached_property)
