"""Alias of line_profiler for lineprof, which ../../check.py puts first on the path.

``import line_profiler.X`` gives `lineprof.X` itself, and ``python -m line_profiler``
runs lineprof's command. Names of a module that lineprof lacks can be imported but not
used, so that the rest of a test file runs.
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
    """Finder of lineprof's modules under line_profiler's names."""

    def __init__(self) -> None:
        """Start without modules."""
        self._specs: dict[str, ModuleSpec | None] = {}

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,  # noqa: ARG002  # as importlib calls it
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """Return the spec of a module; runpy needs the real file of ``__main__``."""
        if not fullname.startswith(THEIRS) or fullname.endswith(".__main__"):
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return lineprof's module, or a module of names that cannot be used."""
        name = ours(spec.name)
        if has(name):
            module = importlib.import_module(name)
            self._specs[spec.name] = module.__spec__
            return module
        return Private(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Execute nothing: lineprof's module has run under its own name."""
        if module.__spec__ is not None and module.__spec__.name in self._specs:
            module.__spec__ = self._specs[module.__spec__.name]


class Unusable:
    """Private name of line_profiler, which raises an error if it is used."""

    def __init__(self, name: str) -> None:
        """Set the name."""
        self._name = name

    def __call__(self, *_: object, **__: object) -> NoReturn:
        """Raise an error with the name."""
        raise NotImplementedError(f"{self._name} is private to line_profiler")

    def __getattr__(self, name: str) -> NoReturn:
        """Raise an error with the name."""
        raise NotImplementedError(f"{self._name}.{name} is private to line_profiler")


class Private(ModuleType):
    """Module of line_profiler without a counterpart in lineprof."""

    def __getattr__(self, name: str) -> Unusable:
        """Return an unusable object for any name but special ones."""
        if name.startswith("__"):
            raise AttributeError(name)
        return Unusable(f"{self.__name__}.{name}")


def has(name: str) -> bool:
    """Return whether lineprof has a module of that name."""
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False


def ours(name: str) -> str:
    """Return lineprof's name of a module of line_profiler."""
    return OURS + name[len(THEIRS) :]


sys.meta_path.insert(0, Alias())
sys.modules["line_profiler"] = lineprof
# ``from line_profiler import _line_profiler`` reads this attribute of lineprof.
lineprof._line_profiler = importlib.import_module("line_profiler._line_profiler")  # noqa: SLF001
