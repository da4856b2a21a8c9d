"""Callables: their kinds, the functions in them, and the members of namespaces."""

from __future__ import annotations

import enum
import functools
import sys
import types
from _weakref import CallableProxyType, ProxyType  # `weakref` itself takes 0.7 ms
from types import CodeType, FunctionType, ModuleType

from lineprof.bytecode.code_flags import ASYNC_GENERATOR, COROUTINE, GENERATOR
from lineprof.decorate.code_copies import original

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Self, TypedDict, TypeGuard

    Namespace = type | ModuleType

    Replace = Callable[[Namespace, dict[str, object]], object]

    Filter = Callable[[object], bool]

    ScopingPolicyDict = TypedDict(
        "ScopingPolicyDict",
        {
            "func": str | "ScopingPolicy",
            "class": str | "ScopingPolicy",
            "module": str | "ScopingPolicy",
        },
    )
    Policies = Mapping[str, str]

    Part = FunctionType | type

# Kinds of callables.

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
    """Return whether a call of `func` returns a coroutine."""
    return _inspected("iscoroutinefunction", func)


def is_generator(func: object) -> bool:
    """Return whether a call of `func` returns a generator."""
    return _inspected("isgeneratorfunction", func)


def is_async_generator(func: object) -> bool:
    """Return whether a call of `func` returns an asynchronous generator."""
    return _inspected("isasyncgenfunction", func)


def _inspected(question: str, func: object) -> bool:
    import inspect  # noqa: PLC0415  # seldom asked

    return bool(getattr(inspect, question)(func))


def is_classmethod(f: object) -> bool:
    """Return whether `f` is a ``classmethod``."""
    return isinstance(f, classmethod)


def is_staticmethod(f: object) -> bool:
    """Return whether `f` is a ``staticmethod``."""
    return isinstance(f, staticmethod)


def is_boundmethod(f: object) -> bool:
    """Return whether `f` is a bound method."""
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


# Objects of the program that compute what others are: proxies and lazy objects. A
# search for callables must not evaluate them, nor fail as they fail.

_FUNCTION_WRAPPER = "_FunctionWrapperBase"  # of wrapt: it computes nothing
_MAX_DEPTH = 20  # of wrappers in wrappers; some objects wrap themselves


def attributes(value: object) -> dict[str, object]:
    """Return the ``__dict__`` of `value`, without running its code."""
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return own if type(own) is dict else {}


def is_lazy(value: object, depth: int = 0) -> bool:
    """Return whether code of the program answers for the class of `value`.

    Or for its attributes, or those of a callable that it holds. Of the attributes of
    `value`, only those are read that no such code computes.
    """
    kind = type(value)
    if kind in {ProxyType, CallableProxyType} or depth > _MAX_DEPTH:
        return True
    for base in kind.__mro__[:-1]:
        own = vars(base)
        if base.__name__ == _FUNCTION_WRAPPER:
            return False
        if "__class__" in own or type(own.get("__getattribute__")) is FunctionType:
            return True
    for kinds, names in HOLDERS:
        if issubclass(kind, kinds):
            return any(is_lazy(getattr(value, name), depth + 1) for name in names)
    inside = attributes(value).get("__wrapped__")
    return inside is not None and is_lazy(inside, depth + 1)


# Functions in a callable.

# Types of wrappers, and the attributes that hold the wrapped callables.
HOLDERS: tuple[tuple[tuple[type, ...], tuple[str, ...]], ...] = (
    ((classmethod, staticmethod, types.MethodType), ("__func__",)),
    (
        (functools.partial, functools.partialmethod, functools.cached_property),
        ("func",),
    ),
    ((property,), ("fget", "fset", "fdel")),
)


def functions_of(target: object) -> list[FunctionType]:
    """Return the Python functions of a callable, a property, a method or a class.

    Those of a class are defined in it, or in the classes in it. Raises TypeError if
    `target` is neither callable nor holds a callable.
    """
    seen: set[int] = set()  # ids
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
    """Yield the functions and the classes that `target` calls.

    Raises TypeError if it is neither callable nor holds a callable.
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
    for _, _, parts in _callable_members(cls):
        for part in parts:
            if not isinstance(part, type):
                yield from _unseen(part, seen) if own_function(part) else ()
            elif own_class(part):
                yield from _functions_of_class(part, seen)


def _callable_members(cls: type) -> Iterator[tuple[str, object, list[Part]]]:
    """Yield the members of a class that call something, by name, and what they call."""
    for name, member in list(vars(cls).items()):
        if is_lazy(member):
            continue
        try:
            parts = list(parts_of(member))
        except TypeError:  # no callable
            continue
        yield name, member, parts


def held_in(target: object) -> list[object]:
    """Return the callables that `target` is known to call.

    Raises TypeError if it is neither callable nor holds a callable.
    """
    for kinds, names in HOLDERS:
        if isinstance(target, kinds):
            held = [getattr(target, name) for name in names]
            return [part for part in held if part is not None]
    if not callable(target):
        msg = f"{target!r} is neither callable nor holds a callable"
        raise TypeError(msg)
    for name in (
        "__wrapped__",
        "py_func",
    ):  # as of a cache; of a function that Numba compiled
        if _has(target, name):
            wrapped = getattr(target, name)
            return [wrapped] if callable(wrapped) else []
    calls = (vars(base).get("__call__") for base in type(target).__mro__)
    call = next((one for one in calls if one is not None), None)
    return [call] if isinstance(call, FunctionType) else []


def _has(target: object, name: str) -> bool:
    """Return whether `target` has an attribute without calling ``__getattr__``."""
    own = getattr(target, "__dict__", None)
    if isinstance(own, dict) and name in own:
        return True
    return any(name in vars(base) for base in type(target).__mro__)


def innermost(function: FunctionType) -> FunctionType:
    """Return the function inside all decorators' wrappers.

    A wrapper that is just being defined, by a decorator that runs now, is returned
    itself: ``@profile`` above ``@functools.wraps(f)`` is about its own lines.
    """
    seen = set()
    while True:
        function = original(function)
        seen.add(id(function))
        if "__wrapped__" not in function.__dict__ or _being_defined(function.__code__):
            return function
        inside = function.__dict__["__wrapped__"]
        try:
            parts = list(parts_of(inside))
        except TypeError:
            return function
        if len(parts) != 1 or isinstance(parts[0], type) or id(parts[0]) in seen:
            return function
        function = parts[0]


def _being_defined(code: CodeType) -> bool:
    """Return whether a function that runs on this thread contains `code`."""
    frame = sys._getframe(1)  # noqa: SLF001  # there is no public function
    while frame is not None:
        if any(constant is code for constant in frame.f_code.co_consts):
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


# Members of classes and modules, and the policies by which they are selected.

KINDS = ("func", "class", "module")

DEFAULT_SCOPING_POLICIES = {"func": "siblings", "class": "siblings", "module": "exact"}


class StringEnum(enum.StrEnum):
    """Enumeration of strings; a member is found by its name or value in any case."""

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        if not isinstance(value, str):
            return None
        wanted = value.casefold()
        members = cls.__members__.items()
        return next((one for name, one in members if name.casefold() == wanted), None)


class ScopingPolicy(StringEnum):
    """Scope of the members of a class or a module, by where they are defined.

    EXACT: functions that are defined in it, but no members of classes or modules in it.
    CHILDREN: functions and classes that are defined in it, its direct submodules.
    DESCENDANTS: these, and whatever is defined in them, at any depth.
    SIBLINGS: these, and whatever is defined in the same module or package.
    NONE: all members, wherever they are defined.
    """

    EXACT = "exact"
    CHILDREN = "children"
    DESCENDANTS = "descendants"
    SIBLINGS = "siblings"
    NONE = "none"

    def get_filter(
        self, namespace: type | ModuleType, obj_type: str
    ) -> Callable[[object], bool]:
        """Return a function that tells whether a member of `namespace` is in scope.

        `obj_type` is the kind of the members: "func", "class" or "module".
        """
        return scope(self.value, namespace, obj_type)

    @classmethod
    def to_policies(
        cls, policies: str | Policies | None = None
    ) -> dict[str, ScopingPolicy]:
        """Return the policy for each of "func", "class" and "module".

        `policies` is one for all, or a mapping with one for each; None stands for
        `DEFAULT_SCOPING_POLICIES`. Raises ValueError for an unknown policy, KeyError
        if a mapping lacks a kind.
        """
        if policies is None:
            policies = DEFAULT_SCOPING_POLICIES
        if isinstance(policies, str):
            return dict.fromkeys(KINDS, cls(policies))
        return {kind: cls(policies[kind]) for kind in KINDS}


def members_of(cls: type) -> dict[str, object]:
    """Return the members of a class that are defined in it, by name.

    These are callable or hold a callable: functions, properties, classes.
    """
    of_function = scope("children", cls, "func")
    of_class = scope("children", cls, "class")
    members = {}
    for name, member, parts in _callable_members(cls):
        tests = [of_class if isinstance(part, type) else of_function for part in parts]
        if any(test(part) for test, part in zip(tests, parts)):
            members[name] = member
    return members


class Registrar:
    """Registers the members of a namespace, and of namespaces in it, each once."""

    def __init__(
        self,
        add_callable: Callable[..., int],
        is_wrapper: Filter,
        policies: Mapping[str, str],
        *,
        replace: Replace | None = None,
    ) -> None:
        """Register by `add_callable` the members that `policies` select; see `scope`.

        Functions for which `is_wrapper` is true are left out, and so are lazy objects:
        see `is_lazy`. `replace` gets the members of each namespace that were
        registered, to put wrappers in their place.
        """
        self._add = add_callable
        self._is_wrapper = is_wrapper
        self._policies = policies
        self._replace = replace
        self._seen: set[int] = set()

    def add(self, namespace: Namespace, name: str = "") -> int:
        """Return how many members of a class or a module were registered.

        A member that is itself a class or a module counts as one, if any of its own
        members was registered.
        """
        name = name or _full_name(namespace)
        count, to_wrap = 0, {}
        is_class = issubclass(type(namespace), type)
        own = vars(namespace) if is_class else attributes(namespace)
        for attribute, value in list(own.items()):
            if id(value) in self._seen:
                continue
            self._seen.add(id(value))
            path = f"{name}.{attribute}"
            if is_namespace(value):
                count += self._descend(namespace, value, path)
            elif is_lazy(value):
                continue
            elif self._add_callable(namespace, value, path):
                count += 1
                if attribute != "__class__":  # which a class cannot be given
                    to_wrap[attribute] = value
        if self._replace is not None and to_wrap:
            self._replace(namespace, to_wrap)
        return count

    def _descend(self, outer: Namespace, inner: Namespace, path: str) -> bool:
        kind = "class" if issubclass(type(inner), type) else "module"
        if not scope(self._policies[kind], outer, kind)(inner):
            return False
        return self.add(inner, path) > 0

    def _add_callable(self, namespace: Namespace, value: object, path: str) -> bool:
        fits = scope(self._policies["func"], namespace, "func")

        def guard(function: object) -> bool:
            return self._is_wrapper(function) or not fits(function)

        try:
            return bool(self._add(value, guard=guard, name=path))
        except TypeError:  # no callable
            return False


def is_namespace(value: object) -> TypeGuard[Namespace]:
    """Return whether `value` is a class or a module, without running its code."""
    return issubclass(type(value), (type, ModuleType))


def _full_name(namespace: Namespace) -> str:
    if isinstance(namespace, ModuleType):
        return namespace.__name__
    return f"{namespace.__module__}.{namespace.__qualname__}"


def scope(policy: str, namespace: Namespace, kind: str) -> Filter:
    """Return a function that tells whether a member of `namespace` is in scope.

    `kind` is the kind of the members: "func", "class" or "module". `policy` is the
    value of a `ScopingPolicy`. Raises KeyError for an unknown policy.
    """
    if kind == "module":
        if not isinstance(namespace, ModuleType):
            return _none
        return _modules(_module_name(namespace))[policy]
    if isinstance(namespace, ModuleType):
        filters = _in_module(_module_name(namespace))
    else:
        filters = _in_class(namespace)
    fits = filters[policy]
    if kind == "class":
        return _none if policy == "exact" else fits
    return lambda member: fits(member) and not is_annotate_function(member)


def is_annotate_function(member: object) -> bool:
    """Return whether `member` is the function that Python 3.14 makes of annotations."""
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


def _module_name(module: object) -> str:
    """Return the name of a module, which may be one that is loaded when it is used."""
    name = attributes(module).get("__name__")
    return name if isinstance(name, str) else ""


def _within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def _filters(
    *, children: Filter, descendants: Filter, siblings: Filter
) -> dict[str, Filter]:
    """Return the filters by the values of `ScopingPolicy`."""
    return {
        "exact": children,
        "children": children,
        "descendants": descendants,
        "siblings": siblings,
        "none": _all,
    }


def _in_class(cls: type) -> dict[str, Filter]:
    module, prefix = cls.__module__, cls.__qualname__ + "."

    def sibling(member: object) -> bool:
        return _text(member, "__module__") == module

    def descendant(member: object) -> bool:
        return sibling(member) and _text(member, "__qualname__").startswith(prefix)

    def child(member: object) -> bool:
        own = prefix + _text(member, "__name__")
        return sibling(member) and _text(member, "__qualname__") == own

    return _filters(children=child, descendants=descendant, siblings=sibling)


def _in_module(module: str) -> dict[str, Filter]:
    parent = module.rpartition(".")[0]

    def child(member: object) -> bool:
        return _text(member, "__module__") == module

    def descendant(member: object) -> bool:
        return _within(_text(member, "__module__"), module)

    def sibling(member: object) -> bool:
        return _within(_text(member, "__module__"), parent or module)

    return _filters(children=child, descendants=descendant, siblings=sibling)


def _modules(module: str) -> dict[str, Filter]:
    """Return the filters for modules that are members of a module."""
    parent = module.rpartition(".")[0]

    def child(member: object) -> bool:
        return _module_name(member).rpartition(".")[0] == module

    def descendant(member: object) -> bool:
        return _module_name(member).startswith(module + ".")

    def sibling(member: object) -> bool:
        return bool(parent) and _module_name(member).startswith(parent + ".")

    filters = _filters(children=child, descendants=descendant, siblings=sibling)
    return {**filters, "exact": _none}


def __getattr__(name: str) -> object:
    """Create the type of mappings of policies at its first use."""
    if name != "ScopingPolicyDict":
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    from typing import TypedDict  # noqa: PLC0415  # seldom needed

    policy = str | ScopingPolicy
    return TypedDict("ScopingPolicyDict", dict.fromkeys(KINDS, policy))  # type: ignore[operator]
