"""Selects the members of classes and modules that are profiled."""

from __future__ import annotations

from types import ModuleType

from lineprof.scopes import scope
from lineprof.targets import parts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lineprof.scopes import Filter, Namespace

    Replace = Callable[[Namespace, dict[str, object]], object]


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

        Functions for which `is_wrapper` is true are left out. `replace` gets the
        members of each namespace that were registered, to put wrappers in their place.
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
        if self._replace is not None and to_wrap:
            self._replace(namespace, to_wrap)
        return count

    def _descend(self, outer: Namespace, inner: Namespace, path: str) -> bool:
        kind = "class" if isinstance(inner, type) else "module"
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


def _full_name(namespace: Namespace) -> str:
    if isinstance(namespace, ModuleType):
        return namespace.__name__
    return f"{namespace.__module__}.{namespace.__qualname__}"
