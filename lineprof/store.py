"""A profile's file: one SQLite database, written whole or not at all."""

from __future__ import annotations

from lineprof.errors import LineprofError
from lineprof.store_read import load
from lineprof.store_write import save

__all__ = ["load", "require", "save"]


def require() -> None:
    """Raise LineprofError if this Python cannot write profiles.

    Call it before the program runs: a Python that was built without SQLite
    should say so at the start and not when the numbers are there.
    """
    try:
        import _sqlite3  # noqa: F401, PLC0415  # a third of the time that sqlite3 takes
    except ImportError as error:
        message = f"this Python has no SQLite, which profiles are stored in ({error})"
        hint = "use a Python that was built with libsqlite3's headers installed"
        raise LineprofError(message, hint=hint) from error
