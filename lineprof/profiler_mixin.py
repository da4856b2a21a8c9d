"""Alias of line_profiler's module: see `lineprof.decorate`."""

from lineprof.decorate.callables import (
    C_LEVEL_CALLABLE_TYPES,
    is_async_generator,
    is_boundmethod,
    is_c_level_callable,
    is_cached_property,
    is_classmethod,
    is_coroutine,
    is_cython_callable,
    is_function,
    is_generator,
    is_partial,
    is_partialmethod,
    is_property,
    is_staticmethod,
)
from lineprof.decorate.wrappers import ByCountProfilerMixin

__all__ = [
    "C_LEVEL_CALLABLE_TYPES",
    "ByCountProfilerMixin",
    "is_async_generator",
    "is_boundmethod",
    "is_c_level_callable",
    "is_cached_property",
    "is_classmethod",
    "is_coroutine",
    "is_cython_callable",
    "is_function",
    "is_generator",
    "is_partial",
    "is_partialmethod",
    "is_property",
    "is_staticmethod",
]
