"""A file's name as SQLite takes it together with the way to open it."""

from __future__ import annotations


def uri(path: str, how: str) -> str:
    """Return the URI of the file at `path`, an absolute one, with the query `how`.

    What has a meaning in a URI is encoded: https://www.sqlite.org/uri.html
    """
    for character, code in (("%", "%25"), ("?", "%3f"), ("#", "%23")):
        path = path.replace(character, code)
    return f"file://{path}?{how}"
