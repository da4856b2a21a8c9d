"""What commands print, on streams that may be full, closed or missing."""

from __future__ import annotations

import io
import os
import shlex
import sys
from typing import TYPE_CHECKING

from lineprof.errors import LineprofError, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_NO_STDOUT = (AttributeError, OSError, ValueError)


def print_error(text: str, name: str = "lineprof") -> None:
    """Print one line to standard error, if there is one."""
    print_stderr(f"{name}: {printable(text)}")


def print_lines(lines: Iterable[str]) -> None:
    """Print `lines`; LineprofError where standard output does not take them."""
    from lineprof.console.terminal import write_lines  # noqa: PLC0415

    _print(lambda: write_lines(lines, sys.stdout))


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
    except _NO_STDOUT:
        return


# What is to be printed at a program's end, and the command that shows it again.


class StdoutBuffer(io.StringIO):
    """A text for standard output: it is a terminal if that is."""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """That of standard output."""
        return getattr(sys.stdout, "encoding", None) or "utf-8"

    def isatty(self) -> bool:
        """Tell whether standard output is a terminal."""
        try:
            return sys.stdout.isatty()
        except Exception:  # noqa: BLE001  # the program may have put anything there
            return False

    def fileno(self) -> int:
        """Return the number of standard output."""
        return sys.stdout.fileno()


def python_command() -> str:
    """Return how a shell calls this interpreter, as shortly as it can."""
    if not sys.executable:  # it does not know
        return "python"
    from shutil import which  # noqa: PLC0415  # it is slow

    for name in ("python", "python3", os.path.basename(sys.executable)):
        if which(name) == sys.executable:
            return name
    return shlex.quote(sys.executable)


# Words on the standard streams, which are the program's, too, and may be gone.


# The program may have closed its streams, or put others there, which raise anything.
_NO_STREAM = Exception


def print_stderr(line: str) -> None:
    """Print `line` on standard error, if there is one."""
    try:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
    except _NO_STREAM:
        return


def print_message(text: str, *, dying: bool = False) -> None:
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
