"""What went wrong, and what to do about it, in one line that is safe to print."""

from __future__ import annotations

import errno
import os
import stat
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_C0_END, _DELETE, _C1_END = 0x20, 0x7F, 0xA0

# Separators of lines and paragraphs, and marks that turn the text's direction.
DIRECTION_MARKS = "".join(
    map(chr, (0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)))
)


def _escaped(char: str) -> str:
    """Return one character as it would stand in a Python literal."""
    code = ord(char)
    plain = f"\\u{code:04x}" if code >= _C1_END else f"\\x{code:02x}"
    return _NAMED.get(char, plain)


def _is_control(char: str) -> bool:
    code = ord(char)
    return code < _C0_END or _DELETE <= code < _C1_END or char in DIRECTION_MARKS


def printable(text: str, *, keep: str = "") -> str:
    r"""Return `text` with every control character as an escape (``\x1b``).

    Control characters are those of C0 and C1, DEL and `DIRECTION_MARKS`.
    Those in `keep` stay as they are.
    """
    if text.isprintable():  # the usual case, told by C code
        return text
    return "".join(
        _escaped(char) if _is_control(char) and char not in keep else char
        for char in text
    )


class LineprofError(Exception):
    """An error that its reader can do something about.

    `message` says what happened and `hint` what to do; ``str()`` of it is one
    line with both, without control characters, fit for a terminal.
    """

    def __init__(self, message: str, *, hint: str = "") -> None:
        """Say what happened (`message`) and what to do (`hint`)."""
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        """Return the one line that a command prints."""
        return printable(f"{self.message}; {self.hint}" if self.hint else self.message)


def file_error(cause: Exception, message: str, *, hint: str) -> LineprofError:
    """Return an error about a file, that can be caught as its `cause`, too.

    So who writes ``except FileNotFoundError`` is served. It has the numbers and
    names that an OSError has.
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
    """Return the error for `name`, which is a folder or a device by its `mode`."""
    if stat.S_ISDIR(mode):
        return IsADirectoryError(errno.EISDIR, "it is a folder", name)
    return OSError(0, "it is not a regular file")


# Warnings attributed to a line of the user's program, not of this package.


_PACKAGE = os.path.join(os.path.dirname(__file__), "")


def warn_at_caller(text: str) -> None:
    """Issue a UserWarning for the innermost line outside of this package."""
    import warnings  # noqa: PLC0415  # seldom

    level, frame = 1, sys._getframe(1)  # noqa: SLF001  # there is no other
    while frame.f_code.co_filename.startswith(_PACKAGE) and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, stacklevel=level + 1)
