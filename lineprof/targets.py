"""From whatever a user decorates or names to functions with code objects."""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING, Any, Callable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType

    Wrap = Callable[[Any], Any]


def code_of(target: object) -> CodeType | None:
    """Return the code object that a call of `target` runs, or None.

    Methods, partial objects and wrappers are looked through; functions of C
    have none.
    """
    for function in functions_of(target):
        return function.__code__
    return None


def functions_of(target: object) -> Iterator[types.FunctionType]:
    """Yield the Python functions of a callable, a property or a method."""
    if isinstance(target, types.FunctionType):
        yield target
    elif isinstance(target, (classmethod, staticmethod, types.MethodType)):
        yield from functions_of(target.__func__)
    elif isinstance(target, (functools.partial, functools.partialmethod)):
        yield from functions_of(target.func)
    elif isinstance(target, property):
        for part in (target.fget, target.fset, target.fdel):
            if part is not None:
                yield from functions_of(part)
    elif isinstance(target, functools.cached_property):
        yield from functions_of(target.func)
    elif not isinstance(target, type) and hasattr(target, "__wrapped__"):
        yield from functions_of(target.__wrapped__)
    elif not isinstance(target, type):
        call = getattr(type(target), "__call__", None)
        if isinstance(call, types.FunctionType):
            yield from functions_of(call)


def rewrap(target: Any, wrap: Wrap) -> Any:  # noqa: ANN401, PLR0911
    """Return `target` with each function inside it replaced by ``wrap(function)``.

    A function itself comes back as ``wrap`` makes it; a class is changed in
    place. What has no Python function inside comes back as it is.
    """
    if isinstance(target, (classmethod, staticmethod)):
        return type(target)(rewrap(target.__func__, wrap))
    if isinstance(target, types.MethodType):
        return types.MethodType(rewrap(target.__func__, wrap), target.__self__)
    if isinstance(target, functools.partial):
        partial = type(target)(
            rewrap(target.func, wrap), *target.args, **target.keywords
        )
        vars(partial).update(vars(target))
        return partial
    if isinstance(target, functools.partialmethod):
        return functools.partialmethod(
            rewrap(target.func, wrap), *target.args, **target.keywords
        )
    if isinstance(target, property):
        parts = (target.fget, target.fset, target.fdel)
        wrapped = (part and rewrap(part, wrap) for part in parts)
        return type(target)(*wrapped, doc=target.__doc__)
    if isinstance(target, functools.cached_property):
        cached = type(target)(rewrap(target.func, wrap))
        if getattr(target, "attrname", None) is not None:
            cached.__set_name__(object, target.attrname)
        return cached
    if isinstance(target, type):
        return _rewrap_class(target, wrap)
    return wrap(target) if code_of(target) is not None else target


def _rewrap_class(cls: type, wrap: Wrap) -> type:
    for name, member in list(vars(cls).items()):
        if isinstance(member, type) or (
            not callable(member) and not list(functions_of(member))
        ):
            continue
        changed = rewrap(member, wrap)
        if changed is not member:
            setattr(cls, name, changed)
    return cls
