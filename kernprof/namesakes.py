"""Standard library modules that files in the script's folder shadow.

Plain python would import a ``random.py`` beside the script. Under kernprof the
program gets its own, too, and kernprof and lineprof keep the standard one.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

# Imported by python itself before a script's first line: nobody can shadow them.
_AT_START = frozenset(
    (
        *("_collections_abc", "_sitebuiltins", "abc", "codecs", "encodings"),
        *("genericpath", "io", "ntpath", "os", "posixpath", "site", "stat"),
        *("zipimport", *sys.builtin_module_names),
    )
)
_OUR_PACKAGES = ("kernprof", "lineprof", "lineprof.autoprofile", "lineprof.views")
_NOT_HERE = ("__main__", "ipython_extension")  # not for a program under kernprof
# Imported inside functions of ours, and so perhaps while the program runs.
_IN_FUNCTIONS = ("ast", "ctypes", "inspect", "sqlite3", "tempfile", "tokenize")


class ShadowedModules:
    """Standard modules that a program has modules of its own for.

    Within ``with`` they are those that `import` gives; the program must not run.
    """

    def __init__(self) -> None:
        """Know of none yet."""
        self._names: set[str] = set()
        self._standard: dict[str, ModuleType] = {}
        self._programs: dict[str, ModuleType] = {}

    def forget(self, folder: str, *, own_process: bool = True) -> None:
        """Have the program import what `folder` has, whatever is imported by now.

        All that we may yet import is imported before. Nothing is forgotten in a
        process that is not the program's own.
        """
        home = os.path.realpath(folder)
        names = sys.stdlib_module_names - _AT_START - self._names
        shadowed = names.intersection(_modules(home))
        if not shadowed:
            return
        if not self._names:
            import_all()
        if own_process:
            new = {n for n in shadowed if not _lies_in(sys.modules.get(n), home)}
            self._names |= new
            self._standard = {**_taken(new), **self._standard}

    def __enter__(self) -> None:
        """Put the program's modules aside."""
        self._programs = _taken(self._names)
        sys.modules.update(self._standard)

    def __exit__(self, *_: object) -> None:
        """Put them back."""
        self._standard = _taken(self._names)
        sys.modules.update(self._programs)


def import_all() -> None:
    """Import all that recording, writing and showing a profile may need."""
    from contextlib import suppress  # noqa: PLC0415
    from importlib import import_module  # noqa: PLC0415  # seldom needed
    from pkgutil import iter_modules  # noqa: PLC0415

    names = [*_IN_FUNCTIONS]
    for package in _OUR_PACKAGES:
        found = iter_modules(import_module(package).__path__, f"{package}.")
        modules = [one.name for one in found if not one.ispkg]
        names += [name for name in modules if not name.endswith(_NOT_HERE)]
    for name in names:
        with suppress(ImportError):  # python may be built without sqlite3 or ctypes
            import_module(name)


def _modules(folder: str) -> Iterator[str]:
    """Yield the names of the modules and packages in `folder`."""
    try:
        entries = os.listdir(folder)
    except OSError:  # a zip, or nothing
        return
    for entry in entries:
        init = os.path.join(folder, entry, "__init__.py")
        if entry.endswith((".py", ".so")) or os.path.exists(init):
            yield entry.partition(".")[0]


def _lies_in(module: ModuleType | None, folder: str) -> bool:
    file = getattr(module, "__file__", None)
    return file is not None and os.path.realpath(file).startswith(folder + os.sep)


def _taken(tops: set[str]) -> dict[str, ModuleType]:
    """Remove the modules `tops`, with all in them, from `sys.modules`."""
    names = [name for name in sys.modules if name.partition(".")[0] in tops]
    return {name: sys.modules.pop(name) for name in names}
