"""What commands print, on streams that may be full, closed or missing."""

from __future__ import annotations

import os
import sys

from lineprof.errors import LineprofError, printable
from lineprof.streams import complain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_NO_STREAM = (AttributeError, OSError, ValueError)


def say(text: str, name: str = "lineprof") -> None:
    """Print one line to standard error, if there is one."""
    complain(f"{name}: {printable(text)}")


def print_lines(lines: Iterable[str]) -> None:
    """Print `lines`; LineprofError where standard output does not take them."""
    from lineprof.views.screen import write  # noqa: PLC0415

    _print(lambda: write(lines, sys.stdout))


def print_bytes(chunks: Iterable[bytes]) -> None:
    """Print `chunks` as they are; LineprofError as of `print_lines`."""

    def write() -> None:
        sys.stdout.flush()
        sys.stdout.buffer.writelines(chunks)

    _print(write)


def _print(write: Callable[[], object]) -> None:
    """Have `write` write to standard output; LineprofError where that fails."""
    if sys.stdout is None:
        raise LineprofError("there is no standard output", hint="redirect it to a file")
    try:
        write()
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        drop_output()
        raise LineprofError(
            f"cannot write to standard output: {error.strerror}",
            hint="make room, or send it elsewhere",
        ) from error


def drop_output() -> None:
    """Let Python's last flush of standard output, at exit, go nowhere."""
    try:
        handle = os.open(os.devnull, os.O_WRONLY)
        os.dup2(handle, sys.stdout.fileno())
        os.close(handle)
    except _NO_STREAM:
        return
