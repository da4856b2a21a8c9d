"""Import hook: functions that are called with a module once that is imported."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    Act = Callable[[ModuleType], object]


class ImportHook:
    """Hook on the import system for some modules, each of which is waited for once.

    An import of any other module pays one look-up in a dictionary.
    """

    def __init__(self, acts: Mapping[str, Act]) -> None:
        """Change nothing yet; `acts` are called with modules, by their names."""
        self._acts = {**acts}

    def install(self) -> None:
        """Call the functions of modules that are imported; then wait for the others."""
        for name in [name for name in self._acts if name in sys.modules]:
            self._acts.pop(name)(sys.modules[name])
        sys.meta_path.insert(0, self)

    def remove(self) -> None:
        """Leave the import system as it was."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module that is waited for; once loaded, its function is called."""
        if name not in self._acts:
            return None
        # This finder stays when there is nothing left to wait for: another thread that
        # is looking for a module would miss the finder after it.
        act = self._acts.pop(name)
        from importlib.machinery import PathFinder  # noqa: PLC0415

        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                act(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
