"""lineprof view: shows what `kernprof` recorded."""

from __future__ import annotations

import argparse
import os
import sys
import time
from typing import TYPE_CHECKING

from lineprof.cli.command import (
    Command,
    checked,
    existing,
    keep,
    negated,
    read,
    spelled_out,
)
from lineprof.config import ConfigError, parse_bool
from lineprof.console.output import print_error, print_lines
from lineprof.errors import LineprofError
from lineprof.files import checked_name
from lineprof.report import VIEWS
from lineprof.report.options import ALL_ORDERS as ORDERS
from lineprof.report.options import USUAL_HOT
from lineprof.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lineprof.config import ConfigSource
    from lineprof.model.profile import Profile
    from lineprof.model.records import Process
    from lineprof.report.options import Option, View


def _add_flags(parser: argparse.ArgumentParser) -> None:

    add_flags(parser)


def _prepare(words: Sequence[str]) -> list[str]:

    return prepare(words)


def _view(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> None:
    from lineprof.config import column_widths, configuration  # noqa: PLC0415
    from lineprof.console.progress import Progress  # noqa: PLC0415
    from lineprof.console.terminal import PLAIN, terminal_of  # noqa: PLC0415
    from lineprof.report import VIEWS  # noqa: PLC0415
    from lineprof.report.notes import notes  # noqa: PLC0415
    from lineprof.report.options import Options  # noqa: PLC0415
    from lineprof.source import Sources  # noqa: PLC0415  # not for --help

    view: View = parsed.view
    settings = configuration(parsed.config or None, off=parsed.config is False)
    values = chosen_options(parser, parsed, settings)
    values["column_widths"] = column_widths(settings)
    files = [existing(file) for file in parsed.files]
    with Progress() as progress:
        stats = read(files, progress)
    sources = Sources(stats.sources)
    to_file = parsed.log_file is not None
    options = Options(
        **values,  # type: ignore[arg-type]
        # line_profiler's table stays as it is, byte for byte.
        waiting=view.name != "text",
        screen=PLAIN if to_file else terminal_of(sys.stdout),
    )
    lines = view.render(stats, sources, options)
    if to_file:
        _write(lines, parsed.log_file, files, stats)
    else:
        print_lines(lines)
    remarks = (*settings.remarks, *unknown_keys(settings))
    beside = notes(stats, sources, tables=view.has_tables)
    for note in (*remarks, *view.remarks(stats, options), *beside):
        print_error(note)
    if view is next(iter(VIEWS.values())):  # the tables, which may be many
        from lineprof.report.notes import next_steps  # noqa: PLC0415

        for step in next_steps(stats, files[0]) if len(files) == 1 else ():
            print_error(step)


def report_name(template: str, processes: Sequence[Process]) -> str:
    """Return the name of a report's file, placeholders replaced: see `name_of`.

    Process number and host are those of the first process that was measured, or
    our own if there is none.
    """
    from lineprof.files import name_of  # noqa: PLC0415

    pid, host = os.getpid(), os.uname().nodename
    if processes:
        pid, host = processes[0].pid, processes[0].host
    return name_of(template, pid=pid, host=host, now=time.time())


def _write(lines: Iterable[str], name: str, files: list[str], stats: Profile) -> None:
    """Write the view to a file; LineprofError if it cannot be, or is the profile."""
    from lineprof.console.progress import Progress  # noqa: PLC0415
    from lineprof.files import write_file  # noqa: PLC0415

    target = report_name(name, stats.processes)
    keep(files, target)
    with Progress() as progress:
        write_file(progress.each(lines, "writing line"), target)


COMMAND = Command(
    "view", "show one profile, or several added up", _add_flags, _view, _prepare
)


# The flags of `lineprof view`: of all views at once, with defaults from a file.


_DEFAULT, *_OTHERS = VIEWS.values()

_OPTIONS = {option.field: option for view in VIEWS.values() for option in view.options}

_BY_FLAG = {option.flags[-1]: option for option in _OPTIONS.values()}

_BOOLEANS = [flag for flag, option in _BY_FLAG.items() if option.parse is None]

_HOT = "--hot"

_SORT, _SORT_BY, _ORDER = "--sort", "--sort-by", "sort_by"

_GENERAL = ("--help", "--version", "--config", "--no-config", "--log-file")

# What line_profiler has, too: of these, the first letters will do.
_OLDER = (
    *("--help", "--version", "--config", "--no-config", "--unit"),
    *("--rich", "--skip-zero", "--sort", "--summarize"),
)


_EPILOG = """\
A long flag without a value may be followed by =yes or =no, or begin with --no-.
Defaults come from the file of --config, else from the one that LINE_PROFILER_RC
names, else from lineprof.toml, line_profiler.toml or pyproject.toml in this folder
or the nearest above."""


def prepare(words: Sequence[str]) -> list[str]:
    """Return `words` as the parser takes them; LineprofError.

    ``--sort`` with the name of an order is ``--sort-by``, and ``--hot`` has the
    number of lines that it is given, if any.
    """
    others = [*_GENERAL, *(f"--{view.name}" for view in _OTHERS), *_BY_FLAG]
    rest = spelled_out(list(map(_named, words)), _BOOLEANS, others, _OLDER)
    done: list[str] = []
    while rest and rest[0] != "--":
        word = rest.pop(0)
        follows = rest[0] if rest else ""
        if word == _SORT and follows in ORDERS:
            word = f"{_SORT_BY}={rest.pop(0)}"
        elif word == _HOT:
            word = f"{_HOT}={rest.pop(0) if _is_count(follows) else USUAL_HOT}"
        done.append(word)
    return done + rest


def _is_count(word: str) -> bool:
    """Tell a number, be it a wrong one, from the name of a file that is there."""
    try:
        float(word)
    except ValueError:
        return False
    return not os.path.lexists(word)


def _named(word: str) -> str:
    """Return ``--sort=ORDER`` as ``--sort-by=ORDER``, any other word as it is."""
    flag, equals, value = word.partition("=")
    if not (equals and value) or parse_bool(value) is not None:
        return word
    return f"{_SORT_BY}={value}" if flag in {"--so", "--sor", _SORT} else word


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add all flags to `parser`."""
    parser.epilog = _EPILOG
    parser.add_argument("files", nargs="+", metavar="FILE", help="written by kernprof")
    parser.add_argument("-V", "--version", action="version", version=VERSION)
    parser.add_argument(
        *("-c", "--config"),
        metavar="FILE",
        help="take defaults from the table [tool.line_profiler.cli] or"
        " [tool.lineprof.cli.main] of this TOML file",
    )
    parser.add_argument(
        "--no-config",
        dest="config",
        action="store_const",
        const=False,
        help="take them from no file",
    )
    parser.add_argument(
        "--log-file",
        type=checked(checked_name),
        metavar="FILE",
        help="write there: %%p is the process measured, %%h its host, %%t the time,"
        " %%q{VAR} a variable",
    )
    views = parser.add_mutually_exclusive_group()
    for view in _OTHERS:
        _add_view(views, view)
    for option in _OPTIONS.values():
        _add_option(parser, option)


def _add_view(views: argparse._MutuallyExclusiveGroup, view: View) -> None:
    """Add the flag that chooses a view, with the value that it takes, if any."""
    if view.value is None or view.value.parse is None:
        views.add_argument(
            f"--{view.name}",
            dest="view",
            action="store_const",
            const=view,
            default=_DEFAULT,
            help=view.help,
        )
        return
    views.add_argument(
        f"--{view.name}",
        dest="view",
        action=_Choose,
        const=view,
        type=checked(view.value.parse),
        default=_DEFAULT,
        metavar=view.value.metavar,
        help=view.help,
    )


class _Choose(argparse.Action):
    """Chooses a view and keeps what it is to show."""

    def __call__(
        self,
        _parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        value: object,
        _flag: str | None = None,
    ) -> None:
        """Take one value; of a view that has several they are kept in order."""
        view: View = self.const
        option = view.value
        if option is not None:
            namespace.view = view
            if isinstance(option.default, tuple):
                value = (*getattr(namespace, option.field, ()), value)
            setattr(namespace, option.field, value)


def _add_option(parser: argparse.ArgumentParser, option: Option) -> None:
    """Add a flag; where it is not given, the namespace has no such name."""
    if option.parse is not None:
        parser.add_argument(
            *option.flags,
            dest=option.field,
            type=checked(option.parse),
            default=argparse.SUPPRESS,
            metavar=option.metavar,
            help=option.help,
        )
        return
    for flags, action, text in (
        (option.flags, "store_true", option.help),
        ((negated(option.flags[-1]),), "store_false", argparse.SUPPRESS),
    ):
        parser.add_argument(
            *flags,
            dest=option.field,
            action=action,
            default=argparse.SUPPRESS,
            help=text,
        )


def chosen_options(
    parser: argparse.ArgumentParser, parsed: argparse.Namespace, source: ConfigSource
) -> dict[str, object]:
    """Return the options of the view that was chosen: as given, else from `source`.

    An option that the view does not take is a usage error if it was given.
    Raises ConfigError for a value of the file that is none.
    """
    view: View = parsed.view
    given = dict(vars(parsed))
    defaults = _defaults(source)
    values = {
        one.field: given.pop(one.field, defaults.get(one.field, one.default))
        for one in view.options
    }
    if view.value is not None:
        values[view.value.field] = given.pop(view.value.field, view.value.default)
    if values.get(_ORDER) and values[_ORDER] not in view.orders:
        if hasattr(parsed, _ORDER):
            known = ", ".join(dict.fromkeys(view.orders))
            where = "the table" if view is _DEFAULT else f"--{view.name}"
            parser.error(f"{where} has no order {values[_ORDER]!r}; known are: {known}")
        values[_ORDER] = ""  # the file's is for another view
    for field, option in _OPTIONS.items():
        if field in given:
            flag = option.flags[-1]
            if view is _DEFAULT:
                takers = " or ".join(f"--{one.name}" for one in _takers(option))
                parser.error(f"{flag} goes with {takers}")
            if flag == _SORT and view.orders:
                known = ", ".join(dict.fromkeys(view.orders))
                parser.error(f"{flag} of --{view.name} needs an order: {known}")
            parser.error(f"--{view.name} takes no {flag}")
    return values


def _takers(option: Option) -> list[View]:
    """Return the views that take `option`."""
    return [
        view
        for view in VIEWS.values()
        if option.field in {one.field for one in view.options}
    ]


def _defaults(source: ConfigSource) -> dict[str, object]:
    """Return the values of a file of configuration by the field that they set."""
    if not source.holds:
        return {}
    table = source.get_subconfig("cli")
    values = {}
    for key, value in {**table.conf_dict, **table.own}.items():
        option = _BY_FLAG.get(f"--{key.replace('_', '-')}")
        if option is not None:
            values[option.field] = _value(option, value, f"{source.file}: {key}")
    return values


def unknown_keys(source: ConfigSource) -> list[str]:
    """Return a line for each key of [tool.lineprof.cli.main] that is no flag."""
    return [
        f"{source.file}: [tool.lineprof.cli.main] knows no {key!r};"
        " lineprof view --help lists all flags"
        for key in source.get_subconfig("cli").own
        if f"--{key.replace('_', '-')}" not in _BY_FLAG
    ]


def _value(option: Option, value: object, where: str) -> object:
    """Return what the flag would be given for `value`; ConfigError if nothing."""
    if option.parse is None:
        if isinstance(value, bool):
            return value
        raise ConfigError(f"{where}: {value!r} is neither true nor false")
    if isinstance(value, bool):
        text = "on" if value else "off"
    elif isinstance(value, list):
        text = ",".join(map(str, value))
    else:
        text = str(value)
    try:
        return option.parse(text)
    except LineprofError as error:
        raise ConfigError(f"{where}: {error.message}", hint=error.hint) from None
