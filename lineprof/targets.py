"""From whatever a user decorates or names to functions with code objects."""

from __future__ import annotations

import functools
import sys
import types
from types import FunctionType

from lineprof.scopes import scope
from lineprof.twins import original

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import CodeType
    from typing import Union

    Part = Union[FunctionType, type]

# What wraps functions, and the attributes that hold them.
_HOLDERS: tuple[tuple[tuple[type, ...], tuple[str, ...]], ...] = (
    ((classmethod, staticmethod, types.MethodType), ("__func__",)),
    (
        (functools.partial, functools.partialmethod, functools.cached_property),
        ("func",),
    ),
    ((property,), ("fget", "fset", "fdel")),
)


def codes_of(target: object) -> list[CodeType]:
    """Return the code object that `target` is, or those that a call of it runs.

    Raises TypeError where it is neither callable nor holds a callable.
    """
    if isinstance(target, types.CodeType):
        return [target]
    return [function.__code__ for function in functions_of(target)]


def functions_of(target: object, seen: set[int] | None = None) -> list[FunctionType]:
    """Return the Python functions of a callable, a property, a method or a class.

    A class has those that are defined in it, and in the classes in it. Functions
    whose ids are in `seen` are left out; others join it. Raises TypeError where
    `target` is neither callable nor holds a callable.
    """
    seen = set() if seen is None else seen
    if isinstance(target, type):
        return list(_functions_of_class(target, seen))
    return [
        function
        for part in parts_of(target)
        for function in (
            _functions_of_class(part, seen)
            if isinstance(part, type)
            else _unseen(part, seen)
        )
    ]


def parts_of(target: object) -> Iterator[Part]:
    """Yield the functions that `target` calls, and the classes as they are.

    Raises TypeError where it is neither callable nor holds a callable.
    """
    if isinstance(target, (FunctionType, type)):
        yield target
        return
    for held in held_in(target):
        yield from parts_of(held)


def _unseen(function: FunctionType, seen: set[int]) -> Iterable[FunctionType]:
    if id(function) in seen:
        return ()
    seen.add(id(function))
    return (function,)


def _functions_of_class(cls: type, seen: set[int]) -> Iterator[FunctionType]:
    own_function = scope("children", cls, "func")
    own_class = scope("children", cls, "class")
    for member in list(vars(cls).values()):
        try:
            parts = list(parts_of(member))
        except TypeError:  # no callable
            continue
        for part in parts:
            if not isinstance(part, type):
                yield from _unseen(part, seen) if own_function(part) else ()
            elif own_class(part):
                yield from _functions_of_class(part, seen)


def held_in(target: object) -> list[object]:
    """Return what `target` calls, as far as that is kept where it can be found.

    Raises TypeError where it is neither callable nor holds a callable.
    """
    for kinds, names in _HOLDERS:
        if isinstance(target, kinds):
            held = [getattr(target, name) for name in names]
            return [part for part in held if part is not None]
    if not callable(target):
        msg = f"{target!r} is neither callable nor holds a callable"
        raise TypeError(msg)
    for name in ("__wrapped__", "py_func"):  # a cache, say; what Numba compiled
        if _has(target, name):
            wrapped = getattr(target, name)
            return [wrapped] if callable(wrapped) else []
    calls = (vars(base).get("__call__") for base in type(target).__mro__)
    call = next((one for one in calls if one is not None), None)
    return [call] if isinstance(call, FunctionType) else []


def _has(target: object, name: str) -> bool:
    """Return whether `target` has an attribute that its ``__getattr__`` gives not."""
    own = getattr(target, "__dict__", None)
    if isinstance(own, dict) and name in own:
        return True
    return any(name in vars(base) for base in type(target).__mro__)


def innermost(function: FunctionType) -> FunctionType:
    """Return the function that decorators have put others around.

    A function that is just being defined, by a decorator that runs now, stands
    for itself: ``@profile`` above ``@functools.wraps(f)`` is about its own lines.
    """
    hops = set()
    while True:
        function = original(function)
        hops.add(id(function))
        if "__wrapped__" not in function.__dict__ or _being_defined(function.__code__):
            return function
        inside = function.__dict__["__wrapped__"]
        try:
            parts = list(parts_of(inside))
        except TypeError:
            return function
        if len(parts) != 1 or isinstance(parts[0], type) or id(parts[0]) in hops:
            return function
        function = parts[0]


def _being_defined(code: CodeType) -> bool:
    """Return whether a function that runs on this thread has `code` in it."""
    frame = sys._getframe(1)  # noqa: SLF001  # there is no other
    while frame is not None:
        if any(constant is code for constant in frame.f_code.co_consts):
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False
