"""The command `lineprof`: picks the subcommand and turns errors into exit statuses."""

from __future__ import annotations

import os
import sys
from importlib import import_module

from lineprof.cli import run
from lineprof.console.output import drop_output, print_error
from lineprof.errors import LineprofError
from lineprof.later import Later
from lineprof.version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lineprof.cli import words
    from lineprof.cli.command import Command, Parser
else:
    words = Later("lineprof.cli.words")

# The commands but `run`, each with its help; its module is imported if it is asked for.
COMMANDS = {
    "view": "show one profile, or several added up",
    "serve": "show a profile, or those of a folder, in a browser, and follow their"
    " changes",
    "diff": "compare two profiles, or several runs before and after a change",
    "check": "compare profiles with budgets, or with a baseline; status 1 if they"
    " exceed them",
    "merge": "make one profile of many, such as those of all ranks",
    "export": "write a profile for other programs",
    "recover": "write the profiles of programs that were killed before they could",
    "attach": "profile a program that runs already, for a time",
    "top": "show the hottest lines of a program that runs, refreshed",
    "ctl": "tell a profiled program to start or stop counting, or to write its profile",
    "dump": "print the stack of every thread of a process, such as one that hangs",
    "completions": "print a script that completes command lines in a shell",
}

_GENERAL = ["--help", "-h", "--version", "-V"]  # flags before any command

_INTERRUPTED = 130  # as a shell reports a command that Ctrl-C ended


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with `argv` (default: the process's) and return its status.

    0: done; 1: a file cannot be read, the output cannot be written, or ``check`` found
    a budget that does not hold; 2: wrong flags. An error is one line on standard error.
    ``run`` ends with the program that it runs.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["help"] and not os.path.lexists("help"):
        arguments = [*arguments[1:2], "--help"]
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


def _run_command(typed: list[str]) -> int:
    """Parse the arguments `typed`, run their command and return its exit status."""
    begins = not typed or typed[0] in {*COMMANDS, *_GENERAL}
    name, *rest = (typed or _GENERAL[:1]) if begins else ["view", *typed]
    parser, parsers = parsers_of([name] if name in COMMANDS else [])
    try:
        is_word = not (begins or os.path.lexists(typed[0]))
        if is_word and (refusal := words.no_command(typed)):
            parser.error(refusal)
        if name in COMMANDS:
            rest = _prepared(name, rest, parsers[name], begins=begins)
        parsed, unknown = parser.parse_known_args([name, *rest])
        if any(word.startswith("-") for word in unknown):
            parsers[name].error(f"unrecognized arguments: {' '.join(unknown)}")
        if unknown:  # behind a flag: argparse takes one row of files
            parsed.files += unknown
        return command_of(name).run(parsers[name], parsed) or 0
    except SystemExit as done:
        return int(done.code or 0)
    except LineprofError as error:
        raise words.explained(error, rest, begins=begins) from None


def _prepared(name: str, rest: list[str], parser: Parser, *, begins: bool) -> list[str]:
    """Return the arguments of a command as its parser takes them."""
    try:
        arguments = list(command_of(name).prepare(rest))
    except LineprofError as error:
        parser.error(str(error))
    if unknown := parser.unknown_flags(arguments):
        if not (begins or set(arguments) - set(unknown)):
            parser.prog = "lineprof"  # there is nothing to view
        parser.error(words.unrecognized(unknown, parser, [] if begins else rest))
    return arguments


def command_of(name: str) -> Command:
    """Return the command with a name in `COMMANDS`."""
    command: Command = import_module(f"lineprof.cli.{name}").COMMAND
    return command


def parsers_of(
    names: Iterable[str],
) -> tuple[Parser, dict[str, Parser]]:
    """Return the parser of the whole command line, and those of commands by name.

    Only the commands `names` have their flags.
    """
    from lineprof.cli.command import Parser  # noqa: PLC0415  # `run` needs no argparse

    parser = Parser(
        prog="lineprof",
        description="Record where a Python program's time goes, line by line, and"
        " show it.",
        epilog="lineprof FILE... is short for lineprof view FILE...",
    )
    parser.add_argument("-V", "--version", action="version", version=VERSION)
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    parsers: dict[str, Parser] = {}
    subparsers.add_parser(run.NAME, help=run.HELP)  # listed here, parsed by kernprof
    for name, text in COMMANDS.items():
        parsers[name] = subparsers.add_parser(name, help=text, description=text)
        if name in names:
            command_of(name).add_flags(parsers[name])
    return parser, parsers
