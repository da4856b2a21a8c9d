"""A profile's file: one SQLite database, written whole or not at all."""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder

from lineprof.errors import LineprofError
from lineprof.held_signals import import_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from lineprof.model.profile import Profile


def load(path: str | os.PathLike[str]) -> Profile:
    """Return the profile in the file at `path`, or raise LineprofError."""
    from lineprof.storage.reader import load_file  # noqa: PLC0415  # not to write

    return load_file(path).reading_below()


def save(
    stats: Profile,
    path: str | os.PathLike[str],
    progress: Callable[[int], object] | None = None,
) -> None:
    """Write `stats` to a file at `path`, or raise LineprofError.

    `progress` is called with the number of rows that are written so far.
    """
    names = ["lineprof.storage.writer", "sqlite3"]
    if any(stats.gpu) or stats.traces or stats.ranks.runs:
        names.append("lineprof.storage.writer_gpu")
    import_whole(*names)
    from lineprof.storage.writer import save as write  # noqa: PLC0415  # at the end

    write(stats, path, progress)


def require_sqlite() -> None:
    """Raise LineprofError if this Python cannot write profiles.

    Call this function before the program runs, so that a Python without SQLite fails
    at the start and not after the measurement.
    """
    try:
        _load_library("_sqlite3")  # sqlite3 itself can wait: it takes 5 ms
    except ImportError as error:
        message = f"this Python has no SQLite, which profiles are stored in ({error})"
        hint = "use a Python that was built with libsqlite3's headers installed"
        raise LineprofError(message, hint=hint) from error


def _load_library(name: str) -> None:
    """Load an extension module and the libraries it needs, or raise ImportError.

    The module is not run: the time that its own imports take is spent later.
    """
    if name in sys.builtin_module_names or sys.modules.get(name):
        return
    is_barred = sys.modules.get(name, "") is None
    spec = None if is_barred else PathFinder.find_spec(name)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    spec.loader.create_module(spec)
