"""A profile that a file has already, which a run that counted nothing does not replace.

A typing error in a name of -p would cost the profile of an earlier run otherwise.
"""

from __future__ import annotations

import os

from lineprof.errors import LineprofError
from lineprof.storage import load


def has_profile(path: str) -> bool:
    """Return whether the file at `path` has a profile that is not empty."""
    try:
        return os.path.isfile(path) and not load(path).is_empty
    except (LineprofError, OSError):  # it is something else
        return False


def how_kept(shown: str) -> str:
    """Return a line for users: the file `shown` was not replaced."""
    return (
        f"nothing was counted: {shown!r} keeps the profile that it had; delete it to"
        " have an empty one"
    )


def no_hits() -> LineprofError:
    """Return the error of a run that counted nothing, with --require-hits."""
    return LineprofError(
        "nothing was counted, which --require-hits makes a failure",
        hint="see that what is to be profiled has the right name, and is called",
    )
