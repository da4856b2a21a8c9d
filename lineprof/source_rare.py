"""What few sources need: an encoding of their own, or the loader of their module."""

from __future__ import annotations

import io
import linecache
import sys
import tokenize


def declared(data: bytes) -> str:
    """Return the encoding that source `data` declares, or raise SyntaxError."""
    return tokenize.detect_encoding(io.BytesIO(data).readline)[0]


def loaded_text(file: str) -> str | None:
    """Return the text that the module's loader has, or that `sys.path` leads to."""
    try:
        spaces = [getattr(module, "__dict__", {}) for module in [*sys.modules.values()]]
        names = next((d for d in spaces if d.get("__file__") == file), None)
        return "".join(linecache.getlines(file, names)) or None
    except Exception:  # noqa: BLE001  # modules and loaders are anyone's code
        return None
