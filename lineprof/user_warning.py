"""Warnings about what the program's author wrote, shown where that stands."""

from __future__ import annotations

import os
import sys

_HERE = os.path.join(os.path.dirname(__file__), "")


def warn(text: str) -> None:
    """Issue a UserWarning for the line outside of this package that led here."""
    import warnings  # noqa: PLC0415  # seldom

    level, frame = 1, sys._getframe(1)  # noqa: SLF001  # there is no other
    while frame.f_code.co_filename.startswith(_HERE) and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, stacklevel=level + 1)
