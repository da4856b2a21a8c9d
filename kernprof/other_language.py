"""Commands that are no Python: said in a line, before python fails at them."""

from __future__ import annotations

import os

from kernprof.options import UsageError

_PYTHON = (b"python", b"pypy", b"uv")
_SHOWN = 40  # characters of a first line


def check_command(path: str, data: bytes) -> None:
    """Refuse (UsageError) what was found on PATH and is not Python by its start.

    Tools begin a script with ``#!/bin/sh`` where the way to its Python is too long
    for a first line; the second has that then.
    """
    first, second = (*data[:4096].split(b"\n", 2), b"")[:2]
    if first.startswith(b"#!"):
        if any(name in line for name in _PYTHON for line in (first, second)):
            return
        shown = first[:_SHOWN].decode(errors="replace").strip()
        why = f"it begins with {shown!r}"
    elif b"\0" in data[:4096] and data[2:4] != b"\r\n":  # no bytecode either
        why = "it is a binary"
    else:
        return
    raise UsageError(
        f"{path!r} is not Python: {why}",
        hint="if that starts a Python script, give the path of the script;"
        f" of a shim of pyenv, what `pyenv which {os.path.basename(path)}` says",
    )
