"""Extension modules, as mypyc, Cython and C compilers make them: they have no lines."""

from __future__ import annotations

import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES

from lineprof.later import Later
from lineprof.patterns import listed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from lineprof.decorate import callables
else:
    callables = Later("lineprof.decorate.callables")

_MAX_NAMED = 5  # modules named in one warning; the others are counted
_OURS = "lineprof."
_SUFFIXES = tuple(EXTENSION_SUFFIXES)


def extension_file(module: str) -> str:
    """Return the file of an imported extension module, "" for any other module."""
    try:  # without code of the program
        names = object.__getattribute__(sys.modules.get(module), "__dict__")
    except AttributeError:
        return ""
    file = names.get("__file__") if type(names) is dict else None
    return file if type(file) is str and file.endswith(_SUFFIXES) else ""


def imported_extensions() -> dict[str, str]:
    """Return the extension modules imported by now, without ours, and their files."""
    found = {name: extension_file(name) for name in list(sys.modules)}
    return {
        name: file
        for name, file in found.items()
        if file and not name.startswith(_OURS)
    }


def in_extension(target: object) -> dict[str, str]:
    """Return the name of `target` and the file of the extension module it is from.

    Returns {} if it is from another module, or is no function or class.
    """
    if isinstance(target, type):  # whose metaclass may be the program's
        module, name = vars(target).get("__module__"), target.__qualname__
    elif callables.is_c_level_callable(target):
        owner = getattr(target, "__objclass__", target)
        module, name = owner.__module__, getattr(target, "__qualname__", "")
    else:
        return {}
    file = extension_file(module) if isinstance(module, str) else ""
    return {f"{module}.{name}": file} if file else {}


def extension_warnings(files: Mapping[str, str]) -> list[str]:
    """Return a warning on the modules or functions in `files`, by name, if any."""
    names = sorted(files)
    if not names:
        return []
    if len(names) == 1:
        file = os.path.basename(files[names[0]])
        what = f"{names[0]} is compiled ({file}): it has no lines; its time is"
        return [f"{what} in the line that calls it"]
    what = (
        f"{listed(names, ' and ', _MAX_NAMED)} are compiled: they have no lines; their"
    )
    return [f"{what} time is in the lines that call them"]
