"""A source file as a profile keeps it: its text, and what tells it from others."""

from __future__ import annotations

import sys

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
    try:  # as `random` does: hashlib loads OpenSSL, which takes 4 ms
        if sys.version_info >= (3, 12):
            from _sha2 import sha256  # noqa: PLC0415
        else:
            from _sha256 import sha256  # type: ignore[import-not-found]  # noqa: PLC0415
    except ImportError:
        from hashlib import sha256  # noqa: PLC0415
    digest: str = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return digest
