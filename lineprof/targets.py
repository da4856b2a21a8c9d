"""From whatever a user decorates or names to functions with code objects."""

from __future__ import annotations

import functools
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType
    from typing import Any, Callable

    Wrap = Callable[[Any], Any]


def code_of(target: object) -> CodeType | None:
    """Return the code object that a call of `target` runs, or None.

    Methods, partial objects and wrappers are looked through; functions of C
    have none.
    """
    for function in functions_of(target):
        return function.__code__
    return None


# What wraps functions, and the attributes that hold them.
_HOLDERS: tuple[tuple[tuple[type, ...], tuple[str, ...]], ...] = (
    ((classmethod, staticmethod, types.MethodType), ("__func__",)),
    (
        (functools.partial, functools.partialmethod, functools.cached_property),
        ("func",),
    ),
    ((property,), ("fget", "fset", "fdel")),
)


def functions_of(target: object) -> Iterator[types.FunctionType]:
    """Yield the Python functions of a callable, a property or a method."""
    if isinstance(target, types.FunctionType):
        yield target
        return
    for held in _held(target):
        yield from functions_of(held)


def _held(target: object) -> Iterator[object]:
    """Yield what `target` calls, if that is kept where it can be found."""
    for kinds, names in _HOLDERS:
        if isinstance(target, kinds):
            held = (getattr(target, name) for name in names)
            yield from (part for part in held if part is not None)
            return
    if isinstance(target, type):
        return
    if hasattr(target, "__wrapped__"):
        yield target.__wrapped__
        return
    calls = (vars(base).get("__call__") for base in type(target).__mro__)
    call = next((call for call in calls if call is not None), None)
    if isinstance(call, types.FunctionType):
        yield call


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
        fget, fset, fdel = (
            part and rewrap(part, wrap)
            for part in (target.fget, target.fset, target.fdel)
        )
        return type(target)(fget, fset, fdel, target.__doc__)
    if isinstance(target, functools.cached_property):
        cached = type(target)(rewrap(target.func, wrap))
        if target.attrname is not None:
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
