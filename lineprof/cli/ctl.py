"""`lineprof ctl`: requests to a program that is being profiled."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from lineprof.cli.command import Command, add_pid, add_timeout
from lineprof.console.output import print_error, print_lines
from lineprof.control.client import Connection
from lineprof.control.place import place_of
from lineprof.control.watch import Patience
from lineprof.errors import LineprofError
from lineprof.files import absolute_path

if TYPE_CHECKING:
    import argparse

_WAITING = "it has not answered yet"
_ACTIONS = ("start", "stop", "reset", "write", "status")


def _add_flags(parser: argparse.ArgumentParser) -> None:
    add_pid(
        parser,
        "the number of a process that runs under kernprof --listen, calls"
        " lineprof.listen(), or has lineprof attach attached",
    )
    parser.add_argument(
        "action",
        choices=_ACTIONS,
        help="start or stop counting, reset all counts to zero, write the profile so"
        " far, or show the status",
    )
    parser.add_argument(
        "outfile",
        nargs="?",
        metavar="FILE",
        help="the file to write (default: the profile of the run)",
    )
    add_timeout(parser)


def _ctl(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> None:
    """Send one request and print the answer; LineprofError."""
    pid, action, out = parsed.pid, parsed.action, parsed.outfile
    if out and action != "write":
        parser.error(f"{action} writes no file")
    values = {"path": absolute_path(out)} if out else {}
    place = place_of(pid)
    patience = Patience(pid, print_error, lambda: _WAITING, parsed.timeout)
    with suppress(FileNotFoundError, ConnectionRefusedError):
        with Connection(pid, place) as connection:
            reply = connection.ask(action, patience, **values)
        print_lines([f"process {pid}: {reply.get('text')}"])
        return
    raise LineprofError(
        f"process {pid} does not listen",
        hint="start it with kernprof -l --listen, or use lineprof attach",
    )


COMMAND = Command(add_flags=_add_flags, run=_ctl)
