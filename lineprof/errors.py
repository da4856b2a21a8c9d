"""Errors and warnings for users: cause and remedy in one printable line."""

from __future__ import annotations

import errno
import os
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PACKAGE = os.path.join(os.path.dirname(__file__), "")
_C0_END, _DELETE, _C1_END = 0x20, 0x7F, 0xA0

# Separators of lines and paragraphs, and marks that change the direction of text.
DIRECTION_MARKS = "".join(
    map(chr, (0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)))
)


# Characters that act on a terminal.
CONTROLS = DIRECTION_MARKS + "".join(
    map(chr, (*range(_C0_END), *range(_DELETE, _C1_END)))
)


# Escapes of a Python literal.
_ESCAPES = {ord(char): repr(char)[1:-1] for char in CONTROLS}


def printable(text: str, *, keep: str = "") -> str:
    r"""Return `text` with every control character as an escape (``\x1b``).

    `CONTROLS` are those of C0 and C1, DEL and `DIRECTION_MARKS`. Those in `keep`
    stay as they are.
    """
    if text.isprintable():  # the usual case, and fast
        return text
    if keep:
        kept = {ord(char) for char in keep}
        return text.translate({c: _ESCAPES[c] for c in _ESCAPES if c not in kept})
    return text.translate(_ESCAPES)


def without_surrogates(text: str) -> str:
    r"""Return `text` with lone surrogates as escapes (``\udc80``): UTF-8 has none."""
    return text.encode("utf-8", "backslashreplace").decode()


class LineprofError(Exception):
    """An error with a cause (`message`) and a remedy (`hint`).

    ``str()`` of it is one line with both, without control characters.
    """

    def __init__(self, message: str, *, hint: str = "") -> None:
        """Take the cause and the remedy."""
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        """Return the one line that a command prints."""
        return printable(f"{self.message}; {self.hint}" if self.hint else self.message)


def file_error(cause: Exception, message: str, *, hint: str) -> LineprofError:
    """Return an error about a file that can also be caught as its `cause`.

    ``except FileNotFoundError``, for example, catches it. It has the `errno`,
    `strerror` and `filename` of the cause.
    """
    if not isinstance(cause, OSError):
        return LineprofError(message, hint=hint)

    def reduce(self: LineprofError) -> tuple[object, ...]:
        return LineprofError, (self.message,), {**vars(self)}

    names = {"__module__": __name__, "__reduce__": reduce}
    both = type(LineprofError.__name__, (LineprofError, type(cause)), names)
    error: Any = both(message, hint=hint)
    error.errno, error.strerror = cause.errno, cause.strerror
    error.filename = cause.filename
    return error  # type: ignore[no-any-return]


def not_a_file(mode: int, name: str) -> OSError:
    """Return the error for `name`, which by its `mode` is a folder or a device."""
    if stat.S_ISDIR(mode):
        return IsADirectoryError(errno.EISDIR, "it is a folder", name)
    return OSError(0, "it is not a regular file")


def warn_at_caller(text: str) -> None:
    """Issue a UserWarning for the innermost line outside of this package."""
    import warnings  # noqa: PLC0415  # few programs get here

    level, frame = 1, sys._getframe(1)  # noqa: SLF001  # no public one
    while frame.f_code.co_filename.startswith(_PACKAGE) and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    warnings.warn(printable(text), stacklevel=level + 1)
