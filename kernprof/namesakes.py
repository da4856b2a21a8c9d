"""The program's own modules that are named like standard ones which we use.

Plain python would import a ``random.py`` beside the script; that kernprof
itself needs the standard library's must not change that, nor be changed.
"""

from __future__ import annotations

import os
import sys

from lineprof import later

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

# What python has imported by itself before a program's first line, and ourselves.
_AT_START = frozenset(
    """
    __main__ _abc _bootlocale _codecs _collections_abc _frozen_importlib
    _frozen_importlib_external _imp _io _locale _signal _sitebuiltins _stat _thread
    _warnings _weakref abc builtins codecs encodings genericpath io kernprof lineprof
    marshal os posix posixpath site stat sys time zipimport
    """.split()  # noqa: SIM905  # a list would be a page
)
# What is imported at the end: for lines, and for the table of calls.
_LATE = later.NAMES | {"copy", "dataclasses", "pstats", "typing"}


def make_room(folder: str, *, forget: bool) -> None:
    """Import from elsewhere what we need and `folder` has, too, before it is too late.

    With `forget`, the program will then import its own: those imported so far
    that `folder` has are forgotten.
    """
    try:
        entries = os.listdir(folder)
    except OSError:  # a zip, or nothing
        return
    home = os.path.realpath(folder)
    ours = ({_top(name) for name in sys.modules} | _LATE) - _AT_START
    own = {
        _top(entry)
        for entry in entries
        if _top(entry) in ours and _is_module(os.path.join(home, entry))
    }
    if not own.isdisjoint(_LATE):
        _import_all()
    if forget:
        for top in own & sys.modules.keys():
            if not _lies_in(sys.modules[top], home):
                _forget(top)


def _import_all() -> None:
    later.import_all()
    import kernprof.closing  # noqa: PLC0415
    import kernprof.texts  # noqa: PLC0415

    if "kernprof.calls" in sys.modules:
        import kernprof.call_table  # noqa: F401, PLC0415


def _top(name: str) -> str:
    return name.partition(".")[0]


def _is_module(path: str) -> bool:
    if os.path.isdir(path):
        return os.path.exists(os.path.join(path, "__init__.py"))
    return path.endswith((".py", ".so"))


def _lies_in(module: ModuleType, folder: str) -> bool:
    file = getattr(module, "__file__", None)
    return file is not None and os.path.realpath(file).startswith(folder + os.sep)


def _forget(top: str) -> None:
    for name in list(sys.modules):
        if name == top or name.startswith(top + "."):
            del sys.modules[name]
