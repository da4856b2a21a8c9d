"""The Python functions of modules, classes and all that can be called.

What is looked at belongs to the program: nothing of it is called, no attribute
is asked for that code of the program could compute. So ``type(x)`` it is below:
`isinstance` would ask for ``__class__``.
"""

from __future__ import annotations

import functools
from types import FunctionType, MappingProxyType, MethodType, ModuleType

from lineprof.scopes import is_late

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from typing_extensions import TypeGuard

    Near = Callable[[str], bool]  # whether what is from that module belongs to it

_HOLDERS: tuple[tuple[tuple[type, ...], tuple[str, ...]], ...] = (
    ((classmethod, staticmethod, MethodType), ("__func__",)),
    ((functools.partial, functools.partialmethod), ("func",)),
    ((functools.cached_property,), ("func",)),
    ((property,), ("fget", "fset", "fdel")),
)
_DEPTH = 20  # of wrappers in wrappers; some objects wrap themselves


def functions_of(item: object) -> Iterator[FunctionType]:
    """Yield the functions of a module, of a class, or of something callable.

    A module has those that are from it, from what is below it, and from the
    package that it is in; classes likewise, with theirs. A class has those of
    its own module. Modules in a module count for themselves.
    """
    if _is_module(item):
        yield from _functions_in(item, _near_module(item), {id(item)})
    elif _is_class(item):
        yield from _functions_in(item, _near_class(item), {id(item)})
    else:
        yield from _called(item)


def _functions_in(
    owner: ModuleType | type, near: Near, seen: set[int]
) -> Iterator[FunctionType]:
    for value in list(vars(owner).values()):
        if id(value) in seen or _is_module(value):
            continue
        seen.add(id(value))
        if not _is_class(value):
            found = [each for each in _called(value, near) if near(_home(each))]
            yield from filter(_is_written, found)
        elif near(_home(value)):
            yield from _functions_in(value, _near_class(value), seen)


def _near_module(module: ModuleType) -> Near:
    name = str(vars(module).get("__name__", ""))
    parent = name.rpartition(".")[0]
    roots = [root for root in (name, parent) if root]
    below = tuple(f"{root}." for root in roots)

    return lambda home: home in roots or home.startswith(below)


def _near_class(cls: type) -> Near:
    home = _home(cls)
    return lambda other: other == home


def _home(part: object) -> str:
    """Return the name of the module that a function or a class is from."""
    own = vars(part) if _is_class(part) else {}
    home = own.get("__module__") or getattr(part, "__module__", None)
    return home if isinstance(home, str) else ""


def _is_module(value: object) -> TypeGuard[ModuleType]:
    return issubclass(type(value), ModuleType)


def _is_class(value: object) -> TypeGuard[type]:
    return issubclass(type(value), type)


def _is_written(function: FunctionType) -> bool:
    """Tell whether somebody wrote it: not what `dataclasses` makes, or annotations."""
    if is_late(function):
        return False
    file = function.__code__.co_filename
    return not file.startswith("<") or file.startswith("<frozen ")


def _called(
    value: object, near: Near | None = None, depth: int = 0
) -> Iterator[FunctionType]:
    """Yield the functions that a call of `value`, or its use, runs.

    A wrapper is one of them only if it is written near, or where there is no
    telling, in the file of what it wraps.
    """
    if depth > _DEPTH or _is_module(value) or _is_class(value):
        return
    held = list(_held(value))
    inner = [each for part in held for each in _called(part, near, depth + 1)]
    if type(value) is FunctionType:
        files = {each.__code__.co_filename for each in inner}
        home = str(value.__globals__.get("__name__"))
        if (
            not inner
            or (near and near(home))
            or (near is None and value.__code__.co_filename in files)
        ):
            yield value
    yield from inner


def _held(value: object) -> Iterator[object]:
    """Yield what `value` calls, as far as that can be seen."""
    for kinds, names in _HOLDERS:
        if issubclass(type(value), kinds):
            yield from (getattr(value, name) for name in names)
            return
    own = attributes(value)
    if "__wrapped__" in own:
        yield own["__wrapped__"]
    elif type(value) is functools.singledispatchmethod:
        yield value.func
        yield from value.dispatcher.registry.values()
    elif type(value) is not FunctionType:
        calls = (vars(base).get("__call__") for base in type(value).__mro__)
        call = next((call for call in calls if call is not None), None)
        if type(call) is FunctionType:
            yield call
    registry = own.get("registry")
    if type(registry) is MappingProxyType and "dispatch" in own:  # singledispatch
        yield from registry.values()


def attributes(value: object) -> dict[str, object]:
    """Return what `value` itself holds, without asking it."""
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return own if type(own) is dict else {}
