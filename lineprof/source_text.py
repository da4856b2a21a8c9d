"""The text of a source file, from wherever Python got it."""

from __future__ import annotations

import os
import stat
import sys

_MARK = b"\xef\xbb\xbf"  # some editors put it before UTF-8
_MOST_BYTES = 1 << 26  # of one source file; what is bigger is data


def text_of(file: str) -> str | None:
    """Return the text of `file`, a code object's file name; None if there is none.

    Looked for in this order: what was entered into `linecache` without a file
    (notebook cells, doctests), the disk, the loader of the module (zip files),
    and for a relative name the folders of `sys.path`. Never raises.
    """
    text = _entered_text(file)
    if text is None:
        text = disk_text(file)
    if text is None and not os.path.exists(file):  # linecache would wait for a FIFO
        from lineprof.source_rare import loaded_text  # noqa: PLC0415  # takes 4 ms

        text = loaded_text(file)
    return text


def file_state(file: str) -> tuple[int, ...] | None:
    """Return what tells a file's content from another; None where it is no file's.

    Of a name that a program entered into `linecache`, too.
    """
    if file in getattr(sys.modules.get("linecache"), "cache", {}):
        return None
    try:
        status = os.stat(file)
    except (OSError, ValueError):
        return None
    return (status.st_mtime_ns, status.st_size, status.st_ino, status.st_dev)


def disk_text(file: str) -> str | None:
    r"""Return the text of a regular file, in the encoding it declares, or None.

    Line ends are those of Python (``\n``). Bytes that are not of the
    encoding come as backslash escapes.
    """
    try:
        status = os.stat(file)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_BYTES:
            return None
        with open(file, "rb") as stream:
            return _decoded(stream.read())
    except (OSError, ValueError):  # ValueError: a name with a null character
        return None


def _decoded(data: bytes) -> str:
    """Return source `data` as text, in the encoding that it declares."""
    try:
        if any(b"coding" in line for line in data.split(b"\n", 2)[:2]):
            from lineprof.source_rare import declared  # noqa: PLC0415  # takes 4 ms

            text = data.decode(declared(data))
        else:
            text = data.removeprefix(_MARK).decode()
    except (SyntaxError, ValueError, LookupError):
        text = data.decode("utf-8", "backslashreplace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _entered_text(file: str) -> str | None:
    """Return what a program put into `linecache` for a name without a file."""
    entries = getattr(sys.modules.get("linecache"), "cache", {})  # or not yet imported
    entry = entries.get(file)
    if entry is None or len(entry) == 1 or entry[1] is not None:
        return None
    return "".join(entry[2])
