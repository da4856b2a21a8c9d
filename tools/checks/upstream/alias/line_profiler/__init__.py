"""Alias of line_profiler for lineprof, which ../../check.py puts first on the path.

``import line_profiler.X`` gives `lineprof.X` itself, and ``python -m line_profiler``
runs lineprof's command. A module that is line_profiler's own business gives names that
can be imported and not used, so that the rest of a test file runs.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, NoReturn

import lineprof

if TYPE_CHECKING:
    from collections.abc import Sequence

THEIRS, OURS = "line_profiler.", "lineprof."


class Alias(MetaPathFinder, Loader):
    """Finds lineprof's modules under line_profiler's names."""

    def __init__(self) -> None:
        """Know no module yet."""
        self._specs: dict[str, ModuleSpec | None] = {}

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,  # noqa: ARG002  # as importlib calls it
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """Find the module; runpy wants the real file of ``__main__``."""
        if not fullname.startswith(THEIRS) or fullname.endswith(".__main__"):
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Give lineprof's module, or one of names that cannot be used."""
        name = ours(spec.name)
        if has(name):
            module = importlib.import_module(name)
            self._specs[spec.name] = module.__spec__
            return module
        return Private(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Leave the module as it is: it was executed under its own name."""
        if module.__spec__ is not None and module.__spec__.name in self._specs:
            module.__spec__ = self._specs[module.__spec__.name]


class Unusable:
    """A name that line_profiler keeps to itself."""

    def __init__(self, name: str) -> None:
        """Remember what it is called."""
        self._name = name

    def __call__(self, *_: object, **__: object) -> NoReturn:
        """Say so."""
        raise NotImplementedError(f"{self._name} is private to line_profiler")

    def __getattr__(self, name: str) -> NoReturn:
        """Say so."""
        raise NotImplementedError(f"{self._name}.{name} is private to line_profiler")


class Private(ModuleType):
    """A module that lineprof has no counterpart of."""

    def __getattr__(self, name: str) -> Unusable:
        """Give any name but special ones."""
        if name.startswith("__"):
            raise AttributeError(name)
        return Unusable(f"{self.__name__}.{name}")


def has(name: str) -> bool:
    """Tell whether lineprof has a module of that name."""
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False


def ours(name: str) -> str:
    """Give lineprof's name of a module."""
    return OURS + name[len(THEIRS) :]


sys.meta_path.insert(0, Alias())
sys.modules["line_profiler"] = lineprof
# ``from line_profiler import _line_profiler`` asks the package, which is lineprof.
lineprof._line_profiler = importlib.import_module("line_profiler._line_profiler")  # noqa: SLF001
