"""The command `lineprof`: shows what `kernprof` recorded."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress

from lineprof.errors import LineprofError, printable
from lineprof.log_file import checked_name, name_of, write_file
from lineprof.values import Value
from lineprof.version import VERSION
from lineprof.views import VIEWS, Option, Options, View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import NoReturn

_INTERRUPTED = 130  # as a shell says of a command that Ctrl-C ended
_DEFAULT_VIEW, *_OTHER_VIEWS = VIEWS.values()


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        """Print one line and exit with status 2."""
        _say(f"{message}; see {self.prog} --help", name=self.prog)
        self.exit(2)


class Command(Value):
    """One command: its name, its flags, and what it does."""

    name: str
    help: str
    add_flags: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.ArgumentParser, argparse.Namespace], None]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with `argv` (default: the process's) and return its status.

    0: done; 1: a file cannot be read or the output not be written; 2: wrong
    flags. What went wrong is one line on standard error.
    """
    try:
        return _main(list(sys.argv[1:] if argv is None else argv))
    except LineprofError as error:
        _say(str(error))
        return 1
    except BrokenPipeError:  # the reader, `head` say, has had enough
        _drop_output()
        return 0
    except KeyboardInterrupt:
        _drop_output()
        return _INTERRUPTED


def _main(arguments: list[str]) -> int:
    names = [command.name for command in COMMANDS]
    own = [*names, "-h", "--help", "-V", "--version"]
    if arguments and arguments[0] not in own:
        arguments = ["view", *arguments]  # files alone are to be viewed
    parser, of_command = _parsers()
    try:
        parsed = parser.parse_args(arguments or ["--help"])
    except SystemExit as done:
        return int(done.code or 0)
    command = next(one for one in COMMANDS if one.name == parsed.command)
    try:
        command.run(of_command[command.name], parsed)
    except SystemExit as done:  # of parser.error()
        return int(done.code or 0)
    return 0


def _parsers() -> tuple[_Parser, dict[str, argparse.ArgumentParser]]:
    """Return the parser of all, and that of each command."""
    parser = _Parser(
        prog="lineprof",
        description="Show what kernprof recorded, line by line.",
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


def _say(text: str, name: str = "lineprof") -> None:
    """Print one line to standard error, if there is one."""
    with suppress(AttributeError, OSError, ValueError):
        sys.stderr.write(f"{name}: {printable(text)}\n")
        sys.stderr.flush()


def _add_view_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="written by kernprof")
    parser.add_argument("-V", "--version", action="version", version=VERSION)
    parser.add_argument(
        "--log-file",
        type=_checked(checked_name),
        metavar="FILE",
        help="write there: %%p is the process measured, %%h its host, %%t the time,"
        " %%q{VAR} a variable",
    )
    views = parser.add_mutually_exclusive_group()
    for view in _OTHER_VIEWS:
        views.add_argument(
            f"--{view.name}",
            dest="view",
            action="store_const",
            const=view,
            default=_DEFAULT_VIEW,
            help=view.help,
        )
    options = {
        option.field: option for view in VIEWS.values() for option in view.options
    }
    for option in options.values():
        _add_option(parser, option)


def _add_option(parser: argparse.ArgumentParser, option: Option) -> None:
    """Add a flag; where it is not given, the namespace has no such name."""
    if option.parse is None:
        parser.add_argument(
            *option.flags,
            dest=option.field,
            action="store_true",
            default=argparse.SUPPRESS,
            help=option.help,
        )
        return
    parser.add_argument(
        *option.flags,
        dest=option.field,
        type=_checked(option.parse),
        default=argparse.SUPPRESS,
        metavar=option.metavar,
        help=option.help,
    )


def _checked(parse: Callable[[str], object]) -> Callable[[str], object]:
    """Return `parse` as argparse wants it."""

    def checked(text: str) -> object:
        try:
            return parse(text)
        except LineprofError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return checked


def _options(
    parser: argparse.ArgumentParser, parsed: argparse.Namespace, view: View
) -> dict[str, object]:
    """Return the options that `view` takes, as given; a usage error for others."""
    given = dict(vars(parsed))
    values = {one.field: given.pop(one.field, one.default) for one in view.options}
    for other in VIEWS.values():
        for option in other.options:
            if option.field in given:
                flag = option.flags[-1]
                if view is _DEFAULT_VIEW:
                    takers = " or ".join(f"--{one.name}" for one in _takers(option))
                    parser.error(f"{flag} goes with {takers}")
                parser.error(f"--{view.name} takes no {flag}")
    return values


def _takers(option: Option) -> list[View]:
    """Return the views that take `option`."""
    return [
        view
        for view in VIEWS.values()
        if option.field in {one.field for one in view.options}
    ]


def _view(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> None:
    from lineprof.source import Sources  # noqa: PLC0415  # not for --help
    from lineprof.stats import LineStats  # noqa: PLC0415
    from lineprof.views.notes import notes  # noqa: PLC0415
    from lineprof.views.screen import screen_of  # noqa: PLC0415

    view: View = parsed.view
    values = _options(parser, parsed, view)
    files = [_existing(file) for file in parsed.files]
    stats = LineStats.from_files(*files)
    sources = Sources(stats.sources)
    if parsed.log_file is None:
        options = Options(**values, screen=screen_of(sys.stdout))  # type: ignore[arg-type]
        _print(view.render(stats, sources, options))
    else:
        options = Options(**values)  # type: ignore[arg-type]
        target = name_of(parsed.log_file, stats.processes)
        _keep(files, target)
        write_file(view.render(stats, sources, options), target)
    for note in (*view.remarks(stats, options), *notes(stats, sources)):
        _say(note)


def _keep(files: list[str], target: str) -> None:
    """Raise LineprofError if a report to `target` replaced one of the profiles."""
    for file in files:
        if os.path.exists(target) and os.path.samefile(file, target):
            raise LineprofError(f"{target!r} is the profile", hint="name another file")


def _existing(file: str) -> str:
    """Return `file`, or, said so, what it is called by another version.

    kernprof of line_profiler calls the profile of x.py x.py.lprof, ours x.lprof.
    """
    if os.path.lexists(file) or not file.endswith(".lprof"):
        return file
    stem = file[: -len(".lprof")]
    other = stem[: -len(".py")] if stem.endswith(".py") else f"{stem}.py"
    if not os.path.exists(f"{other}.lprof"):
        return file
    _say(f"there is no {file}; reading {other}.lprof")
    return f"{other}.lprof"


def _print(lines: Iterable[str]) -> None:
    """Print `lines`; LineprofError where standard output does not take them."""
    from lineprof.views.screen import write  # noqa: PLC0415

    if sys.stdout is None:
        raise LineprofError("there is no standard output", hint="redirect it to a file")
    try:
        write(lines, sys.stdout)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        _drop_output()
        raise LineprofError(
            f"cannot write to standard output: {error.strerror}",
            hint="make room, or send it elsewhere",
        ) from error


def _drop_output() -> None:
    """Let Python's last flush of standard output, at exit, go nowhere."""
    with suppress(AttributeError, OSError, ValueError):
        handle = os.open(os.devnull, os.O_WRONLY)
        os.dup2(handle, sys.stdout.fileno())
        os.close(handle)


COMMANDS = (
    Command("view", "show one profile, or several added up", _add_view_flags, _view),
)
