"""Output to the standard streams, which may be full, closed or missing.

Two kinds: the output of a command of lineprof, whose errors the user is told, and
messages at the end of a profiled program, which must not disturb it.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress

from lineprof.errors import LineprofError, printable, without_surrogates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# The program may have closed its streams, or put others there, which raise anything.
_BROKEN_STREAM = Exception


class Styled(str):
    """Text with escapes of lineprof itself, such as colours; all else in it is clean.

    Any other text is cleaned when it is written. Text made of this one is any other
    text, and has to be marked again.
    """

    __slots__ = ()


def clean_line(line: str) -> str:
    r"""Return `line` without characters that would act on a terminal, except tabs.

    They become escapes (``\x1b``), also in a pipe, because its other end is often a
    terminal.
    """
    return line if isinstance(line, Styled) else printable(line, keep="\t")


# Standard error.


def print_error(text: str, name: str = "lineprof") -> None:
    """Print one line to standard error, if there is one: see `print_stderr`."""
    print_stderr(f"{name}: {text}")


def print_errors(lines: Iterable[str]) -> None:
    """Print each of the lines as `print_error`."""
    for line in lines:
        print_error(line)


def print_stderr(line: str) -> None:
    """Print `line` on standard error, if there is one, with control characters escaped.

    All messages for standard error go through here.
    """
    with suppress(_BROKEN_STREAM):
        sys.stderr.write(f"{printable(line)}\n")
        sys.stderr.flush()


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
    with suppress(AttributeError, OSError, ValueError):  # it has no descriptor
        handle = os.open(os.devnull, os.O_WRONLY)
        os.dup2(handle, sys.stdout.fileno())
        os.close(handle)


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

    Its control characters become escapes, unless it is `Styled`. The stream's buffer
    is bypassed: if the reader has gone, python would report that at exit, though the
    program itself wrote nothing. If the program is `dying` of a signal, its own buffer
    is not flushed.
    """
    if not text:
        return
    if not isinstance(text, Styled):
        text = printable(text, keep="\n\t")
    stream = sys.__stdout__ if dying else sys.stdout
    with suppress(_BROKEN_STREAM):
        if stream is not sys.__stdout__ or stream is None:
            stream.write(text)  # type: ignore[union-attr]
            stream.flush()  # type: ignore[union-attr]
            return
        if not dying:
            stream.flush()
        data = text.encode(stream.encoding, "backslashreplace")
        while data:
            data = data[os.write(stream.fileno(), data) :]


_PYTHONS = ("python", "pypy", "graalpy")  # first parts of their files' names


def python_command() -> str:
    """Return the shortest command that starts this interpreter from a shell.

    It is "python" in a program that has an interpreter in it, such as a frozen one.
    """
    name = os.path.basename(sys.executable or "").lower()
    if getattr(sys, "frozen", False) or not name.startswith(_PYTHONS):
        return "python"
    from shutil import which  # noqa: PLC0415  # it is slow

    for name in ("python", "python3", os.path.basename(sys.executable)):
        if which(name) == sys.executable:
            return name
    return shell_word(sys.executable)


def shell_word(text: str) -> str:
    r"""Return `text` as one word for a shell, without control characters.

    A text that has any becomes ``$'a\033'``, as do bytes that no text has: bash, zsh
    and ksh take that for the text itself.
    """
    import shlex  # noqa: PLC0415  # at the end of a run alone

    plain = without_surrogates(printable(text))
    if plain == text:
        return shlex.quote(text)
    return "$'" + "".join(map(_shell_character, text)) + "'"


def shell_path(path: str) -> str:
    """Return a path as one word for a shell, which no command takes for a flag."""
    return shell_word(os.path.join(os.curdir, path) if path.startswith("-") else path)


def _shell_character(char: str) -> str:
    """Return one character for the inside of ``$''``."""
    if char in "'\\":
        return f"\\{char}"
    if printable(char) == char and not "\ud800" <= char <= "\udfff":
        return char
    # Three digits of octal end by themselves; digits of \x might go on.
    return "".join([f"\\{byte:03o}" for byte in _bytes_of(char)])


def _bytes_of(char: str) -> bytes:
    """Return the bytes of one character in the name of a file."""
    try:
        return os.fsencode(char)
    except UnicodeEncodeError:  # a surrogate that stands for no byte
        return char.encode("utf-8", "surrogatepass")
