"""Child processes that multiprocessing spawns: `profile` exists, nothing is recorded.

A spawned child imports the parent's script in an interpreter of its own, where
kernprof did not put `profile` among the builtins: ``@profile`` would be a
NameError. The first part of the data that the parent sends is unpickled before the
child imports the script; it carries a call that defines `profile`.
"""

from __future__ import annotations

import builtins
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Self, TypeVar

    T = TypeVar("T")


class NullProfiler:
    """A `profile` that leaves functions as they are."""

    def __call__(self, function: T) -> T:
        """Return `function` itself."""
        return function

    def __enter__(self) -> Self:
        """Measure nothing."""
        return self

    def __exit__(self, *_exception: object) -> None:
        """Measure nothing."""

    def __getattr__(self, name: str) -> object:
        """Return other attributes of a profiler from one that records nothing."""
        from lineprof.recording.profiler import LineProfiler  # noqa: PLC0415  # seldom used

        self.__dict__["_idle"] = idle = self.__dict__.get("_idle") or LineProfiler()
        return getattr(idle, name)


def define_profile() -> None:
    """Make sure that there is a builtin `profile`; called in the child."""
    if not hasattr(builtins, "profile"):
        builtins.profile = NullProfiler()  # type: ignore[attr-defined]


_SPAWN = "multiprocessing.spawn"
_KEY = "kernprof"  # in the data for the child
_UNPICKLED = """
try:
    from kernprof.children import define_profile
except ImportError:
    pass
else:
    define_profile()
"""


class _DefineProfile:
    """Calls `define_profile` where it is unpickled, if kernprof is installed there."""

    def __reduce__(self) -> tuple[Callable[..., None], tuple[str, dict[str, object]]]:
        return exec, (_UNPICKLED, {})


class SpawnHook:
    """Import hook that makes multiprocessing.spawn define `profile` in children.

    A program that does not use multiprocessing pays one string comparison per
    import.
    """

    def __init__(self) -> None:
        """Change nothing yet."""
        self._module: ModuleType | None = None
        self._original: Callable[[str], dict[str, object]] | None = None

    def install(self) -> None:
        """Patch multiprocessing.spawn, now or when the program imports it."""
        if _SPAWN in sys.modules:
            self._patch(sys.modules[_SPAWN])
        else:
            sys.meta_path.insert(0, self)

    def remove(self) -> None:
        """Leave multiprocessing.spawn and the import system as they were."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        if self._module is not None:
            self._module.get_preparation_data = self._original  # type: ignore[attr-defined]
            self._module = None

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find multiprocessing.spawn, to be patched once it is loaded."""
        if name != _SPAWN:
            return None
        sys.meta_path.remove(self)
        from importlib.machinery import PathFinder  # noqa: PLC0415

        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                self._patch(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

    def _patch(self, module: ModuleType) -> None:
        self._module = module
        self._original = original = module.get_preparation_data

        def get_preparation_data(name: str) -> dict[str, object]:
            data: dict[str, object] = original(name)
            data[_KEY] = _DefineProfile()
            if name == "ignore":  # a fork server's, which does not unpickle it
                data.pop("init_main_from_path", None)
            return data

        module.get_preparation_data = get_preparation_data  # type: ignore[attr-defined]
