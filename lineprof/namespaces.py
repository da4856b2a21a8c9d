"""The members of classes and modules: which of them are profiled, and how many."""

from __future__ import annotations

from types import ModuleType

from lineprof.scopes import scope
from lineprof.targets import parts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Protocol

    from lineprof.scopes import Filter, Namespace

    class Profiler(Protocol):
        """Whose `add_callable` registers members."""

        def add_callable(
            self, obj: object, guard: Filter | None = ..., name: str | None = ...
        ) -> int:
            """Return 1 if a function was registered, else 0."""

        def _already_a_wrapper(self, func: object) -> bool: ...
        def _replace_members(
            self, namespace: Namespace, members: dict[str, object]
        ) -> object: ...


def members_of(cls: type, policy: str = "children") -> dict[str, object]:
    """Return the members of a class that are defined there, by name.

    They are callable or hold a callable: functions, properties, classes.
    """
    of_function, of_class = scope(policy, cls, "func"), scope(policy, cls, "class")
    members = {}
    for name, member in list(vars(cls).items()):
        try:
            parts = list(parts_of(member))
        except TypeError:  # no callable
            continue
        tests = [of_class if isinstance(part, type) else of_function for part in parts]
        if any(test(part) for test, part in zip(tests, parts)):
            members[name] = member
    return members


class Registrar:
    """Registers the members of a namespace, and of those in it, each once."""

    def __init__(
        self, profiler: Profiler, policies: Mapping[str, str], *, wrap: bool
    ) -> None:
        """Register with `profiler` what `policies` let through; see `scope`.

        With `wrap`, members are also replaced by what enables the profiler.
        """
        self._profiler = profiler
        self._policies = policies
        self._wrap = wrap
        self._seen: set[int] = set()

    def add(self, namespace: Namespace, name: str = "") -> int:
        """Return how many members of a class or a module were registered.

        A class or a module that is one counts as one, where any of its own was.
        """
        name = name or _full_name(namespace)
        count, to_wrap = 0, {}
        for attribute, value in list(vars(namespace).items()):
            if id(value) in self._seen:
                continue
            self._seen.add(id(value))
            path = f"{name}.{attribute}"
            if isinstance(value, (type, ModuleType)):
                count += self._descend(namespace, value, path)
            elif self._add_callable(namespace, value, path):
                count += 1
                to_wrap[attribute] = value
        if self._wrap and to_wrap:
            self._profiler._replace_members(namespace, to_wrap)  # noqa: SLF001
        return count

    def _descend(self, outer: Namespace, inner: Namespace, path: str) -> bool:
        kind = "class" if isinstance(inner, type) else "module"
        if not scope(self._policies[kind], outer, kind)(inner):
            return False
        return self.add(inner, path) > 0

    def _add_callable(self, namespace: Namespace, value: object, path: str) -> bool:
        fits = scope(self._policies["func"], namespace, "func")

        def guard(function: object) -> bool:
            ours = self._profiler._already_a_wrapper(function)  # noqa: SLF001
            return ours or not fits(function)

        try:
            return bool(self._profiler.add_callable(value, guard=guard, name=path))
        except TypeError:  # no callable
            return False


def _full_name(namespace: Namespace) -> str:
    if isinstance(namespace, ModuleType):
        return namespace.__name__
    return f"{namespace.__module__}.{namespace.__qualname__}"
