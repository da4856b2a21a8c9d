"""Which members of a class or a module belong to it, in five degrees."""

from __future__ import annotations

from types import CodeType, ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Union

    Namespace = Union[type, ModuleType]
    Filter = Callable[[object], bool]


def scope(policy: str, namespace: Namespace, kind: str) -> Filter:
    """Return what tells whether a member of `namespace` is to be profiled.

    `kind` says of what kind the members are: "func", "class" or "module".
    `policy` is "exact" (functions that are defined in the namespace), "children"
    (classes and modules, too), "descendants" (at any depth), "siblings" (and what
    stands beside the namespace) or "none" (all). KeyError for another.
    """
    if kind == "module":
        if not isinstance(namespace, ModuleType):
            return _none
        return _modules(namespace.__name__)[policy]
    if isinstance(namespace, ModuleType):
        filters = _in_module(namespace.__name__)
    else:
        filters = _in_class(namespace)
    fits = filters[policy]
    if kind == "class":
        return _none if policy == "exact" else fits
    return lambda member: fits(member) and not is_late(member)


def is_late(member: object) -> bool:
    """Tell whether it is the function that Python 3.14 makes of annotations."""
    code = getattr(member, "__code__", None)
    return isinstance(code, CodeType) and (
        code.co_name == "__annotate__"
        and code.co_varnames[:1] in {("format",), (".format",)}
    )


def _all(_: object) -> bool:
    return True


def _none(_: object) -> bool:
    return False


def _text(member: object, name: str) -> str:
    value = getattr(member, name, None)
    return value if isinstance(value, str) else ""


def _within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def _in_class(cls: type) -> dict[str, Filter]:
    module, prefix = cls.__module__, cls.__qualname__ + "."

    def sibling(member: object) -> bool:
        return _text(member, "__module__") == module

    def descendant(member: object) -> bool:
        return sibling(member) and _text(member, "__qualname__").startswith(prefix)

    def child(member: object) -> bool:
        own = prefix + _text(member, "__name__")
        return sibling(member) and _text(member, "__qualname__") == own

    return {
        "exact": child,
        "children": child,
        "descendants": descendant,
        "siblings": sibling,
        "none": _all,
    }


def _in_module(module: str) -> dict[str, Filter]:
    parent = module.rpartition(".")[0]

    def child(member: object) -> bool:
        return _text(member, "__module__") == module

    def descendant(member: object) -> bool:
        return _within(_text(member, "__module__"), module)

    def sibling(member: object) -> bool:
        return _within(_text(member, "__module__"), parent or module)

    return {
        "exact": child,
        "children": child,
        "descendants": descendant,
        "siblings": sibling,
        "none": _all,
    }


def _modules(module: str) -> dict[str, Filter]:
    """Return the filters for modules that are found in a module."""
    parent = module.rpartition(".")[0]

    def child(member: object) -> bool:
        return _text(member, "__name__").rpartition(".")[0] == module

    def descendant(member: object) -> bool:
        return _text(member, "__name__").startswith(module + ".")

    def sibling(member: object) -> bool:
        return bool(parent) and _text(member, "__name__").startswith(parent + ".")

    return {
        "exact": _none,
        "children": child,
        "descendants": descendant,
        "siblings": sibling,
        "none": _all,
    }
