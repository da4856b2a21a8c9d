"""What kernprof itself says, on streams that are the program's, too."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

# The program may have closed its streams, or put others there.
_NO_STREAM = (OSError, ValueError, AttributeError)
_name = "kernprof"


def speak_as(name: str) -> None:
    """Have `complain` begin its lines with the name of the command that was given."""
    global _name  # noqa: PLW0603  # a process has one command
    _name = name


def complain(what: object) -> None:
    """Print one line on standard error, if there is one."""
    try:
        sys.stderr.write(f"{_name}: {what}\n")
        sys.stderr.flush()
    except _NO_STREAM:
        return


def say(text: str, *, dying: bool = False) -> None:
    """Print `text` on standard output, if there is one that takes it.

    It goes past the stream's buffer, so that a reader that has gone is not
    noticed, and answered by python with a message, for our words' sake. A
    program that is `dying` of a signal does not get its buffer written.
    """
    if not text:
        return
    stream = sys.__stdout__ if dying else sys.stdout
    try:
        if stream is not sys.__stdout__ or stream is None:
            stream.write(text)  # type: ignore[union-attr]
            stream.flush()  # type: ignore[union-attr]
            return
        if not dying:
            stream.flush()
        data = text.encode(stream.encoding, "backslashreplace")
        while data:
            data = data[os.write(stream.fileno(), data) :]
    except _NO_STREAM:
        return


def flush() -> None:
    """Empty the buffers of the standard streams."""
    _flush(sys.stdout)
    _flush(sys.stderr)


def _flush(stream: TextIO) -> None:
    try:
        stream.flush()
    except _NO_STREAM:
        return
