"""Import hook: a function that is called with the name of each expected module."""

from __future__ import annotations

import sys
from _thread import _count as other_threads
from types import FunctionType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

# A frame of this file is left out of tracebacks and of the stack levels of warnings,
# as are all those of the import system.
_IMPORT_SYSTEM = "<frozen importlib._bootstrap_external>"


def _nothing(_name: str) -> None:
    """Do nothing with the name of a module."""


class ImportHook:
    """A finder in `sys.meta_path` that reports the import of expected modules.

    It costs one look-up in a set for each module that is imported. It stays while there
    is nothing left to expect: what goes through the list at that moment, to find
    another module, would miss the finder after it.
    """

    def __init__(self, imported: Callable[[str], object]) -> None:
        """Call `imported` with the name of each expected module after its import."""
        self._imported = imported
        self._expected: set[str] = set()
        self._packages: tuple[str, ...] = ()  # each with a dot at its end

    def expect(self, name: str) -> None:
        """Expect the module `name`; if it is imported already, report it at once."""
        if name in sys.modules:
            self._imported(name)
            return
        self._expected.add(name)
        self._install()

    def expect_all_in(self, package: str) -> None:
        """Expect each module below `package`, until `stop`."""
        below = f"{package}."
        if below in self._packages:
            return
        self._packages += (below,)
        self._install()
        for name in [name for name in sys.modules if name.startswith(below)]:
            self._imported(name)

    def _install(self) -> None:
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def stop(self) -> None:
        """Expect no modules any more, and leave the import system as it was.

        If another thread may be going through the list, a copy takes its place. Python
        keeps the first list, so that this finder may stay: it keeps nothing alive.
        """
        self._imported = _nothing
        self._expected, self._packages = set(), ()
        if self not in sys.meta_path:
            return
        if other_threads():
            sys.meta_path = sys.meta_path.copy()
        sys.meta_path.remove(self)

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find an expected module with the other finders, and follow its import."""
        if name not in self._expected and not name.startswith(self._packages):
            return None
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            if finder is self or find is None:
                continue
            spec: ModuleSpec | None = find(name, path, target)
            if spec is not None:
                self._follow(spec)
                return spec
        return None

    def _follow(self, spec: ModuleSpec) -> None:
        own = getattr(spec.loader, "__dict__", None)
        load = getattr(spec.loader, "exec_module", None)
        if load is None or type(own) is not dict:  # a class: it loads no Python code
            return

        def exec_module(module: ModuleType) -> None:
            own.pop("exec_module", None)
            load(module)
            self._loaded(spec.name)

        code = exec_module.__code__.replace(co_filename=_IMPORT_SYSTEM)
        own["exec_module"] = FunctionType(
            code, globals(), "exec_module", None, exec_module.__closure__
        )

    def _loaded(self, name: str) -> None:
        if name not in self._expected and not name.startswith(self._packages):
            return  # `stop` was called, or another import of it was the first
        self._expected.discard(name)
        self._imported(name)
