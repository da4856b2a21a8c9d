"""Output to the standard streams, which may be full, closed or missing.

Two kinds: the output of a command of lineprof, whose errors the user is told, and
messages at the end of a profiled program, which must not disturb it.
"""

from __future__ import annotations

import io
import os
import sys

from lineprof.errors import LineprofError, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# The program may have closed its streams, or put others there, which raise anything.
_BROKEN_STREAM = Exception


def print_error(text: str, name: str = "lineprof") -> None:
    """Print one line to standard error, if there is one."""
    print_stderr(f"{name}: {printable(text)}")


def print_stderr(line: str) -> None:
    """Print `line` on standard error, if there is one."""
    try:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
    except _BROKEN_STREAM:
        return


# Output of a command.


def print_lines(lines: Iterable[str]) -> None:
    """Print `lines`; LineprofError if they cannot be written."""
    from lineprof.console.terminal import write_lines  # noqa: PLC0415  # not in programs

    _print(lambda: write_lines(lines, sys.stdout))


def print_bytes(chunks: Iterable[bytes]) -> None:
    """Print `chunks` unchanged; LineprofError if they cannot be written."""

    def write() -> None:
        sys.stdout.flush()
        sys.stdout.buffer.writelines(chunks)

    _print(write)


def _print(write: Callable[[], object]) -> None:
    """Call `write`, which writes to standard output; LineprofError if that fails."""
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
    except (AttributeError, OSError, ValueError):  # it has no descriptor
        return


# Output at the end of a program.


class StdoutBuffer(io.StringIO):
    """A buffer for text on its way to standard output: a terminal if that is one."""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The encoding of standard output."""
        return getattr(sys.stdout, "encoding", None) or "utf-8"

    def isatty(self) -> bool:
        """Return whether standard output is a terminal."""
        try:
            return sys.stdout.isatty()
        except _BROKEN_STREAM:
            return False

    def fileno(self) -> int:
        """Return the file descriptor of standard output."""
        return sys.stdout.fileno()


def print_message(text: str, *, dying: bool = False) -> None:
    """Print `text` on standard output, if that can be written to.

    The stream's buffer is bypassed: if the reader has gone, python would report
    that at exit, though the program itself wrote nothing. If the program is
    `dying` of a signal, its own buffer is not flushed.
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
    except _BROKEN_STREAM:
        return


def python_command() -> str:
    """Return the shortest command that starts this interpreter from a shell."""
    if not sys.executable:  # unknown to an embedded interpreter
        return "python"
    import shlex  # noqa: PLC0415  # at the end of a run alone
    from shutil import which  # noqa: PLC0415  # it is slow

    for name in ("python", "python3", os.path.basename(sys.executable)):
        if which(name) == sys.executable:
            return name
    return shlex.quote(sys.executable)
