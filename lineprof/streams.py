"""Words on the standard streams, which are the program's, too, and may be gone."""

from __future__ import annotations

import os
import sys

# The program may have closed its streams, or put others there, which raise anything.
_NO_STREAM = Exception


def complain(line: str) -> None:
    """Print `line` on standard error, if there is one."""
    try:
        sys.stderr.write(f"{line}\n")
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
