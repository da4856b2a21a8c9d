"""The user's pager, for output that does not fit on the terminal.

PAGER names it; without PAGER it is `less`. Where there is none, output is printed.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from io import TextIOWrapper
from itertools import chain, islice
from shutil import which
from typing import TYPE_CHECKING

from lineprof.console.output import print_lines
from lineprof.console.terminal import has_user, size_in, terminal_of, write_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_LESS = "RSX"  # colours, rows cut and not wrapped, text left on the screen

_SHELL_CHARACTERS = frozenset("|&;<>()$`\\\"'*?[#~=%\n")

_NOT_RUN = frozenset((126, 127))  # exit statuses of a shell

# Colours and links, which take no columns.
_ESCAPES = re.compile("\x1b[^m]*m|\x1b]8;[^\x07\x1b]*(?:\x07|\x1b\\\\)")


def print_paged(render: Callable[[], Iterable[str]]) -> None:
    """Print the lines of `render`, by a pager if they are too many or too wide.

    Raises LineprofError if they cannot be written.
    """
    command, (width, height) = _command(), _size()
    if not (command and height):
        print_lines(render())
        return
    lines = iter(render())
    first = list(islice(lines, height))
    columns = [len(_ESCAPES.sub("", line)) for line in first]
    fits = len(first) < height and max(columns, default=0) <= width
    if fits or not _show(command, chain(first, lines)):
        print_lines(first if fits else render())


def _command() -> list[str]:
    """Return the command of the pager; [] if there is none, or no user to use it."""
    if not has_user() or os.environ.get("TERM") == "dumb":
        return []
    pager = os.environ.get("PAGER", "less")
    if pager.strip() in {"", "cat"}:
        return []
    if not _SHELL_CHARACTERS.isdisjoint(pager):
        return ["/bin/sh", "-c", pager]
    words = shlex.split(pager)
    return words if which(words[0]) else []


def _size() -> tuple[int, int]:
    """Return the columns and lines of the terminal; 0 lines if they are unknown."""
    try:
        size = os.get_terminal_size(sys.stdout.fileno())
    except (AttributeError, OSError, ValueError):
        return 0, 0
    lines = size_in("LINES")
    height = size.lines if lines is None else lines
    return terminal_of(sys.stdout).width or size.columns, height


def _show(command: list[str], lines: Iterable[str]) -> bool:
    """Show `lines` by the pager; return False if it could not be run.

    The pager may end before it has read all lines. Ctrl-C is for the pager.
    """
    sys.stdout.flush()
    environment = {"LESS": _LESS, **os.environ}
    try:
        pager = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)
    except OSError:
        return False
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        _feed(pager, lines)
    finally:
        status = pager.wait()
        signal.signal(signal.SIGINT, before)
    return status not in _NOT_RUN


def _feed(pager: subprocess.Popen[bytes], lines: Iterable[str]) -> None:
    """Write `lines` to the standard input of `pager`, as far as it reads."""
    if pager.stdin is None:
        return
    try:
        with TextIOWrapper(
            pager.stdin, encoding=sys.stdout.encoding, errors="backslashreplace"
        ) as stream:
            write_lines(lines, stream)
    except BrokenPipeError:  # the reader has seen enough
        return
