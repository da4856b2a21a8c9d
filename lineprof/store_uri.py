"""A file's name as SQLite takes it together with the way to open it."""

from __future__ import annotations

import os
from urllib.parse import quote


def uri(path: str, how: str) -> str:
    """Return the URI of the file at `path`, an absolute one, with the query `how`."""
    return f"file://{quote(os.fsencode(path))}?{how}"
