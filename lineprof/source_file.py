"""A source file as a profile keeps it: its text, and what tells it from others."""

from __future__ import annotations

import hashlib

from lineprof.records import SourceFile
from lineprof.source_text import text_of


def read_source(file: str) -> SourceFile:
    """Return `file`, a code object's file name, with its text: see `text_of`."""
    text = text_of(file)
    return SourceFile(
        file=file, text=text, sha256="" if text is None else text_hash(text)
    )


def text_hash(text: str) -> str:
    """Return the SHA-256 of `text` in UTF-8, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
