"""Modules as the program imports them: who waits for one is told of it."""

from __future__ import annotations

import sys
from types import FunctionType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

# A frame of this file is left out of tracebacks and of what `warnings` count,
# as are all those of the import system.
_IMPORT_SYSTEM = "<frozen importlib._bootstrap_external>"


class Arrivals:
    """Waits for modules to be imported, once each.

    While it waits for any it stands in `sys.meta_path`, and costs a look into
    a set for each module that is imported.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        """Call `tell` with the name of each module once it has been imported."""
        self._tell = tell
        self._awaited: set[str] = set()
        self._packages: tuple[str, ...] = ()  # with a dot each

    def expect(self, name: str) -> None:
        """Wait for the module `name`; one that is there already is told of at once."""
        if name in sys.modules:
            self._tell(name)
            return
        self._awaited.add(name)
        self._wait()

    def expect_all_in(self, package: str) -> None:
        """Wait for each module below `package`, until `stop`; as `expect` does."""
        below = f"{package}."
        if below in self._packages:
            return
        self._packages += (below,)
        self._wait()
        for name in [name for name in sys.modules if name.startswith(below)]:
            self._tell(name)

    def _wait(self) -> None:
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def stop(self) -> None:
        """Wait no more."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Let the others find a module; see it loaded if it is awaited."""
        if name not in self._awaited and not name.startswith(self._packages):
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
        if load is None or type(own) is not dict:  # a class: it loads no Python
            return

        def exec_module(module: ModuleType) -> None:
            own.pop("exec_module", None)
            load(module)
            self._arrived(spec.name)

        code = exec_module.__code__.replace(co_filename=_IMPORT_SYSTEM)
        hidden = FunctionType(
            code, globals(), "exec_module", None, exec_module.__closure__
        )
        own["exec_module"] = hidden

    def _arrived(self, name: str) -> None:
        self._awaited.discard(name)
        if not self._awaited and not self._packages:
            self.stop()
        self._tell(name)
