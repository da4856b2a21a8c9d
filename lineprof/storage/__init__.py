"""A profile's file: one SQLite database, written whole or not at all."""

from __future__ import annotations

import sys

from lineprof.errors import LineprofError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os

    from lineprof.model.profile import Profile


def load(path: str | os.PathLike[str]) -> Profile:
    """Return the profile in the file at `path`, or raise LineprofError."""
    from lineprof.storage.reader import load_file as read  # noqa: PLC0415  # writing needs none

    return read(path)


def save(stats: Profile, path: str | os.PathLike[str]) -> None:
    """Write `stats` to a file at `path`, or raise LineprofError."""
    from lineprof.storage.writer import save as write  # noqa: PLC0415  # at the end

    write(stats, path)


def require_sqlite() -> None:
    """Raise LineprofError if this Python cannot write profiles.

    Call it before the program runs: a Python that was built without SQLite
    should say so at the start and not when the numbers are there.
    """
    try:
        _load_library("_sqlite3")  # sqlite3 itself can wait: it takes 5 ms
    except ImportError as error:
        message = f"this Python has no SQLite, which profiles are stored in ({error})"
        hint = "use a Python that was built with libsqlite3's headers installed"
        raise LineprofError(message, hint=hint) from error


def _load_library(name: str) -> None:
    """Load a module of C with all that it is linked to, or raise ImportError.

    It is not run, so that what it imports, and the time for it, can wait.
    """
    if name in sys.builtin_module_names:
        return
    from importlib.machinery import PathFinder  # noqa: PLC0415  # not for a viewer

    is_barred = sys.modules.get(name, "") is None
    spec = None if is_barred else PathFinder.find_spec(name)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    spec.loader.create_module(spec)
