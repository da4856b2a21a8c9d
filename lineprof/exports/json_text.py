"""Texts and files as JSON has them, whatever characters they hold."""

from __future__ import annotations

import json
import os
from pathlib import PurePosixPath


def quoted(text: str) -> str:
    """Return a text in JSON; halves of surrogate pairs come as escapes.

    JSON could hold these, but few readers take them. Other characters stay as
    they are: Perfetto shows those that are written by their number as that.
    """
    plain = text.encode("utf-8", "backslashreplace").decode()
    return json.dumps(plain, ensure_ascii=False)


def url(file: str) -> str:
    """Return the address of a file; its name where that is no path."""
    if not os.path.isabs(file):
        return file
    return PurePosixPath(file).as_uri()
