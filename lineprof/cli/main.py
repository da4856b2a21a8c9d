"""The command `lineprof`: picks the subcommand and turns errors into exit statuses."""

from __future__ import annotations

import sys

from lineprof.cli import run
from lineprof.console.output import drop_output, print_error
from lineprof.errors import LineprofError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from lineprof.cli.command import Command, Parser

_INTERRUPTED = 130  # as a shell reports a command that Ctrl-C ended


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with `argv` (default: the process's) and return its status.

    0: done; 1: a file cannot be read, the output cannot be written, or ``check`` found
    a budget that does not hold; 2: wrong flags. An error is one line on standard error.
    ``run`` ends with the program that it runs.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == [run.NAME]:  # the program waits for everything imported here
        return run.run_program(arguments[1:])
    try:
        return _run_command(arguments)
    except LineprofError as error:
        print_error(str(error))
        return getattr(error, "status", 1)
    except BrokenPipeError:  # the reader, `head` for example, has had enough
        drop_output()
        return 0
    except KeyboardInterrupt:
        drop_output()
        return _INTERRUPTED


def _run_command(arguments: list[str]) -> int:
    """Parse `arguments`, run their command and return its exit status."""
    from lineprof.cli import view  # noqa: PLC0415  # not for `run`

    commands = all_commands()
    if arguments and arguments[0] not in {*commands, "-h", "--help", "-V", "--version"}:
        arguments = [view.COMMAND.name, *arguments]  # files alone are viewed
    parser, parsers = parsers_of(commands)
    try:
        if arguments and arguments[0] in commands:
            name, *rest = arguments
            arguments = [name, *_prepared(commands[name], rest, parsers[name])]
        parsed, unknown = parser.parse_known_args(arguments or ["--help"])
        if unknown and not any(word.startswith("-") for word in unknown):
            parsed.files += unknown  # behind a flag: argparse takes one row of files
        elif unknown:
            message = f"unrecognized arguments: {' '.join(unknown)}"
            parsers[parsed.command].error(message)  # whose help lists the flags
        return commands[parsed.command].run(parsers[parsed.command], parsed) or 0
    except SystemExit as done:
        return int(done.code or 0)


def all_commands() -> dict[str, Command]:
    """Return the commands by name; `run` is not one of them."""
    from lineprof.cli import (  # noqa: PLC0415  # not for `run`
        attach,
        check,
        completions,
        ctl,
        diff,
        dump,
        export,
        merge,
        recover,
        serve,
        top,
        view,
    )

    modules = (
        *(view, serve, diff, check, merge, export, recover),
        *(attach, top, ctl, dump),
        completions,
    )
    return {module.COMMAND.name: module.COMMAND for module in modules}


def _prepared(
    command: Command, arguments: list[str], parser: argparse.ArgumentParser
) -> Sequence[str]:
    """Return the arguments of a command as its parser takes them, or exit."""
    try:
        return command.prepare(arguments)
    except LineprofError as error:
        parser.error(str(error))


def parsers_of(
    commands: Mapping[str, Command],
) -> tuple[Parser, dict[str, argparse.ArgumentParser]]:
    """Return the parser of the whole command line, and that of each command."""
    from lineprof.cli.command import Parser  # noqa: PLC0415  # `run` needs no argparse
    from lineprof.version import VERSION  # noqa: PLC0415

    parser = Parser(
        prog="lineprof",
        description="Record where a Python program's time goes, line by line, and"
        " show it.",
        epilog="lineprof FILE... is short for lineprof view FILE...",
    )
    parser.add_argument("-V", "--version", action="version", version=VERSION)
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    parsers: dict[str, argparse.ArgumentParser] = {}
    for command in commands.values():
        one = subparsers.add_parser(
            command.name, help=command.help, description=command.help
        )
        command.add_flags(one)
        parsers[command.name] = one
    subparsers.add_parser(run.NAME, help=run.HELP)  # listed here, parsed by kernprof
    return parser, parsers
