"""Warnings attributed to a line of the user's program, not of this package."""

from __future__ import annotations

import os
import sys

_PACKAGE = os.path.join(os.path.dirname(__file__), "")


def warn_at_caller(text: str) -> None:
    """Issue a UserWarning for the innermost line outside of this package."""
    import warnings  # noqa: PLC0415  # seldom

    level, frame = 1, sys._getframe(1)  # noqa: SLF001  # there is no other
    while frame.f_code.co_filename.startswith(_PACKAGE) and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, stacklevel=level + 1)
