"""Children that multiprocessing spawns: they know `profile`, and record nothing.

A spawned child imports the parent's script in an interpreter of its own, where
kernprof did not put `profile` among the builtins: ``@profile`` would be a
NameError. Of what the parent sends to the child, the first part is unpickled
before the script is imported, so a stand-in for `profile` travels in it.
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

_SPAWN = "multiprocessing.spawn"
_KEY = "kernprof"
_UNPICKLED = """
try:
    from kernprof.spawned import offer
except ImportError:
    pass
else:
    offer()
"""


class Bystander:
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
        """Give the rest of a profiler's methods, those of an idle one."""
        from lineprof.profiler import LineProfiler  # noqa: PLC0415  # seldom used

        self.__dict__["_idle"] = idle = self.__dict__.get("_idle") or LineProfiler()
        return getattr(idle, name)


def offer() -> None:
    """Make sure that there is a builtin `profile`; called in the child."""
    if not hasattr(builtins, "profile"):
        builtins.profile = Bystander()  # type: ignore[attr-defined]


class _Offer:
    """Calls `offer` where it is unpickled, if kernprof can be imported there."""

    def __reduce__(self) -> tuple[Callable[..., None], tuple[str, dict[str, object]]]:
        return exec, (_UNPICKLED, {})


class Children:
    """Sees to it that spawned children know `profile`.

    A program that does not use multiprocessing pays a string comparison per
    import for it.
    """

    def __init__(self) -> None:
        """Change nothing yet."""
        self._module: ModuleType | None = None
        self._original: Callable[[str], dict[str, object]] | None = None

    def install(self) -> None:
        """Prepare multiprocessing.spawn, now or when it is imported."""
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
        """Let the others find multiprocessing.spawn, to be patched once loaded."""
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
            data[_KEY] = _Offer()
            if name == "ignore":  # for a fork server, which unpickles none of this
                data.pop("init_main_from_path", None)
            return data

        module.get_preparation_data = get_preparation_data  # type: ignore[attr-defined]
