"""The command `lineprof`: finds the command to run, and maps errors to exit codes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from lineprof.cli import export, run, view
from lineprof.console.output import drop_output, print_error
from lineprof.errors import LineprofError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from lineprof.cli.command import Command, Parser

_INTERRUPTED = 130  # as a shell says of a command that Ctrl-C ended


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with `argv` (default: the process's) and return its status.

    0: done; 1: a file cannot be read or the output not be written; 2: wrong
    flags. What went wrong is one line on standard error. ``run`` ends with the
    program that it runs.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    for command in COMMANDS:
        if command.take_over and words[:1] == [command.name]:
            return command.take_over(words[1:])
    try:
        return _main(words)
    except LineprofError as error:
        print_error(str(error))
        return getattr(error, "status", 1)
    except BrokenPipeError:  # the reader, `head` say, has had enough
        drop_output()
        return 0
    except KeyboardInterrupt:
        drop_output()
        return _INTERRUPTED


def _main(words: list[str]) -> int:
    by_name = {command.name: command for command in COMMANDS}
    if words and words[0] not in {*by_name, "-h", "--help", "-V", "--version"}:
        words = ["view", *words]  # files alone are to be viewed
    parser, of_command = _parsers()
    try:
        if words and words[0] in by_name:
            words[1:] = _prepared(by_name[words[0]], words[1:], of_command)
        parsed, unknown = parser.parse_known_args(words or ["--help"])
        if unknown:
            message = f"unrecognized arguments: {' '.join(unknown)}"
            of_command[parsed.command].error(message)  # whose help has the flags
        by_name[parsed.command].run(of_command[parsed.command], parsed)
    except SystemExit as done:
        return int(done.code or 0)
    return 0


def _prepared(
    command: Command, words: list[str], parsers: dict[str, argparse.ArgumentParser]
) -> Sequence[str]:
    """Return what follows a command as its parser takes it, or exit."""
    try:
        return command.prepare(words)
    except LineprofError as error:
        parsers[command.name].error(str(error))


def _parsers() -> tuple[Parser, dict[str, argparse.ArgumentParser]]:
    """Return the parser of all, and that of each command."""
    from lineprof.cli.command import Parser  # noqa: PLC0415  # not for `run`
    from lineprof.version import VERSION  # noqa: PLC0415

    parser = Parser(
        prog="lineprof",
        description="Record where a Python program's time goes, line by line, and"
        " show it.",
        epilog="lineprof FILE... is short for lineprof view FILE...",
    )
    parser.add_argument("-V", "--version", action="version", version=VERSION)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    of_command: dict[str, argparse.ArgumentParser] = {}
    for command in COMMANDS:
        one = commands.add_parser(
            command.name, help=command.help, description=command.help
        )
        command.add_flags(one)
        of_command[command.name] = one
    return parser, of_command


# The commands of `lineprof`, in the order in which its help lists them.
#
# Nothing here imports `argparse` or a view before it is asked to: ``run`` makes
# a program wait for all that is imported.


COMMANDS = (view.COMMAND, export.COMMAND, run.COMMAND)
