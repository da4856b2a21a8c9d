"""Text of source files, as Python reads it: from the disk, `linecache` or a loader.

Modules of the standard library that are slow to import are imported by the functions
that need them, because this module is on the way to the program's first line.
"""

from __future__ import annotations

import io
import os
import stat
import sys
from collections import namedtuple
from functools import lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # some editors put it before UTF-8
_MAX_BYTES = 1 << 26  # of one source file; what is bigger is data
_OF_KERNEL = ("/proc/", "/sys/")


# Text of a file.


def text_of(file: str) -> str | None:
    """Return the text of `file`, a code object's file name; None if there is none.

    Looked for in this order: texts that were entered into `linecache` without a
    file (notebook cells, doctests), the disk, the loader of the module (zip files),
    and for a relative name the folders of `sys.path`. Never raises.
    """
    text = linecache_text(file)
    if text is None:
        text = disk_text(file)
    if text is None and not os.path.exists(file):  # linecache would wait for a FIFO
        text = _loader_text(file)
    return text


def disk_text(file: str) -> str | None:
    r"""Return the text of a regular file, in the encoding it declares, or None.

    Line ends are those of Python (``\n``). Bytes that the encoding does not have
    become backslash escapes.
    """
    try:
        data = _data_of(file)
    except Exception:  # noqa: BLE001  # also what an audit hook raises
        return None
    return None if data is None else _decoded(data)


def _data_of(file: str) -> bytes | None:
    """Return the content of a regular file; None for any other one.

    Raises OSError, or ValueError for a name that no file can have. Files of the kernel
    in /proc and /sys are not read: their size is not that of their content, and reading
    some of them blocks or does something.
    """
    if not _is_readable(os.stat(file)):
        return None  # not even opened: that does something to some devices
    if os.path.realpath(file).startswith(_OF_KERNEL):
        return None
    # Another file may have that name by now: a pipe would block without O_NONBLOCK.
    handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    with open(handle, "rb") as stream:
        status = os.fstat(handle)
        if not _is_readable(status):
            return None
        data = stream.read(status.st_size + 1)
    return data if len(data) == status.st_size else None


def _is_readable(status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode) and status.st_size <= _MAX_BYTES


class FileContent(namedtuple("FileContent", "file state data")):
    """Content of a regular file at one time."""

    __slots__ = ()

    file: str
    state: tuple[int, ...]  # see `disk_state`
    data: bytes

    @property
    def changed_ns(self) -> int:
        """The time of the last change to the file, in ns since the epoch."""
        return self.state[0]

    @property
    def is_utf8(self) -> bool:
        """Whether it declares no encoding."""
        return not _may_declare_encoding(self.data)

    def text(self) -> str:
        """Return it as text: see `disk_text`."""
        return _decoded(self.data)


def content_of(file: str) -> FileContent | None:
    """Return the content of a regular file, or None."""
    state = disk_state(file)  # before it is read: a later change is seen as one
    if state is None:
        return None
    try:
        with open(file, "rb") as stream:
            return FileContent(file=file, state=state, data=stream.read())
    except Exception:  # noqa: BLE001  # also what an audit hook raises
        return None


def disk_state(file: str) -> tuple[int, ...] | None:
    """Return a value that changes when the content of a regular file does, or None."""
    try:
        status = os.stat(file)
    except (OSError, ValueError):  # ValueError: a name with a null character
        return None
    if not _is_readable(status):
        return None
    return (
        status.st_ctime_ns,  # a program can set the other time
        status.st_mtime_ns,
        status.st_size,
        status.st_ino,
        status.st_dev,
    )


def in_linecache(file: str) -> bool:
    """Return whether a program entered a text without a file into `linecache`."""
    return linecache_text(file) is not None


def _decoded(data: bytes) -> str:
    """Return source `data` as text, in the encoding that it declares."""
    try:
        if _may_declare_encoding(data):
            text = data.decode(_declared_encoding(data))
        else:
            text = data.removeprefix(_BYTE_ORDER_MARK).decode()
    except (SyntaxError, ValueError, LookupError, OSError, ImportError):
        text = data.decode("utf-8", "backslashreplace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _may_declare_encoding(data: bytes) -> bool:
    """Return whether the first two lines of source `data` have the word for it."""
    end = data.find(b"\n", data.find(b"\n") + 1)
    return b"coding" in (data[:end] if end > 0 else data)


def _declared_encoding(data: bytes) -> str:
    """Return the encoding that source `data` declares, or raise SyntaxError."""
    _, tokenize = standard_readers()
    return tokenize.detect_encoding(io.BytesIO(data).readline)[0]  # type: ignore[no-any-return]


@lru_cache(maxsize=1)
def standard_readers() -> tuple[ModuleType, ModuleType]:
    """Return linecache and tokenize; call it before a program shadows them."""
    import linecache  # noqa: PLC0415  # few sources need them
    import tokenize  # noqa: PLC0415

    return linecache, tokenize


def linecache_text(file: str) -> str | None:
    """Return the text that a program entered into `linecache` without a file."""
    entries = getattr(sys.modules.get("linecache"), "cache", {})  # or not yet imported
    try:
        entry = entries.get(file)
        if entry is None or len(entry) == 1 or entry[1] is not None:
            return None
        return "".join(entry[2])
    except Exception:  # noqa: BLE001  # the program may put anything there
        return None


def _loader_text(file: str) -> str | None:
    """Return the text that a module's loader has, or a file found by `sys.path`."""
    try:
        linecache, _ = standard_readers()
        spaces = [getattr(module, "__dict__", {}) for module in [*sys.modules.values()]]
        names = next((d for d in spaces if d.get("__file__") == file), None)
        return "".join(linecache.getlines(file, names)) or None
    except Exception:  # noqa: BLE001  # modules and loaders are anyone's code
        return None  # or no file descriptors are left for an import


def text_hash(text: str) -> str:
    """Return the SHA-256 of `text` in UTF-8, in hexadecimal."""
    import hashlib  # noqa: PLC0415  # only after the program

    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def lines_of(text: str) -> list[str]:
    """Return the lines of `text` as Python counts them, without their ends."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if not lines[-1] else lines
