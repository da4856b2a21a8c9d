"""`lineprof view`: shows a profile, by one of the views of `lineprof.report`.

Its flags are those of all views, and most may have defaults in a TOML file.
"""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from lineprof.cli.command import (
    STANDARD_OUTPUT,
    ArgumentType,
    Command,
    add_argument,
    add_source_root,
    chosen_form,
    find_profile,
    names_and_profiles,
    print_markdown,
    read_profiles,
    size_in_words,
    write_report,
)
from lineprof.config import (
    ConfigError,
    column_widths,
    configuration,
    matching,
    parse_bool,
)
from lineprof.console.output import print_error, print_errors, print_lines, shell_path
from lineprof.console.pager import print_paged
from lineprof.console.progress import Progress
from lineprof.console.terminal import PLAIN, terminal_of
from lineprof.errors import LineprofError
from lineprof.files import checked_name
from lineprof.flags import BOOLEAN, is_page, opposite_of
from lineprof.later import Later
from lineprof.patterns import FORMS
from lineprof.report import VIEWS, default_view
from lineprof.report.lookup import chosen
from lineprof.report.markdown import DOCUMENT, MAX_CHARACTERS, document
from lineprof.report.notes import next_steps, notes, view_with_notes
from lineprof.report.options import (
    ALL_FUNCTIONS,
    ALL_ORDERS,
    BY,
    BY_PROCESS,
    CSV,
    DEFAULT_HOT_LINES,
    DEFAULT_WORDS,
    OF_TABLES,
    PAGE,
    RICH,
    SARIF,
    TARGETS,
    Options,
)
from lineprof.source import sources_of
from lineprof.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from lineprof.config import ConfigSource
    from lineprof.flags import Flag
    from lineprof.model.profile import Profile
    from lineprof.report import rows
    from lineprof.report.options import View
    from lineprof.source import Sources
else:
    rows = Later("lineprof.report.rows")

_DEFAULT, *_OTHERS = VIEWS.values()

_JSON = VIEWS["json"]

_FLAGS = {flag.attribute: flag for view in VIEWS.values() for flag in view.options}

_BY_NAME = {flag.long: flag for flag in _FLAGS.values()}

_SWITCHES = [flag.long for flag in _FLAGS.values() if flag.kind == BOOLEAN]

_HTML, _MARKDOWN = "--html", "--markdown"

_FORMS = {CSV.attribute, SARIF.attribute}  # of views, that a configuration can choose

_COUNTS = {"--hot": DEFAULT_HOT_LINES, "--brief": DEFAULT_WORDS}  # if no number follows

_SORT, _SORT_BY, _ORDER = "--sort", "--sort-by", "sort_by"

_GENERAL = (
    "--help",
    "--version",
    "--config",
    "--no-config",
    "--log-file",
    "--no-pager",
    "--source-root",
    _MARKDOWN,
)

# The long flags of line_profiler's viewer: scripts may rely on their abbreviations.
_LINE_PROFILER_FLAGS = (
    *("--help", "--version", "--config", "--no-config", "--unit"),
    *("--rich", "--skip-zero", "--sort", "--summarize"),
)

_EPILOG = """\
A long flag without a value also accepts =yes and =no, and --no-NAME is its
opposite. Defaults are read from the file of --config, or the one that
LINE_PROFILER_RC names, or the nearest lineprof.toml, line_profiler.toml or
pyproject.toml in this folder or one above. A file that another user could have
written is ignored, unless you name it.

examples:
  lineprof view script.lprof              the tables of all functions
  lineprof view Model.fit script.lprof    the table of one function
  lineprof view --hot 20 script.lprof     the hottest lines of all files
  lineprof view --brief 60 script.lprof   the answer in at most 60 words
  lineprof view --tree script.lprof       the calls
  lineprof view --html script.lprof       a page for browsers: script.lprof.html"""


def _view(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> None:
    """Print the view that was chosen, or write it to the file of --log-file."""
    view = _chosen(parser, parsed)
    settings = configuration(
        parsed.config or None, off=parsed.config is False, program=os.curdir
    )
    defaults, unknown_keys = _of_file(settings)
    if any(_forms(parsed).values()):  # no other one is meant
        defaults = {name: defaults[name] for name in defaults.keys() - _FORMS}
    values = _option_values(parser, parsed, defaults)
    values["column_widths"] = column_widths(settings)
    names, files = _names_and_files(parser, view, parsed, values)
    of_ranks = view.of_ranks and values.get(BY.attribute) != BY_PROCESS
    with Progress() as progress:
        profile = read_profiles(files, progress, parsed.source_root, of_ranks=of_ranks)
    sources = sources_of(profile)
    if names and view.takes_names:
        profile = chosen(profile, names, sources)
    target = _target(parser, view, values, parsed, files)
    terminal = PLAIN if target else terminal_of(sys.stdout)
    options = Options(
        **values,  # type: ignore[arg-type]
        # The table of line_profiler, which profiles no whole program, stays as it is.
        waiting=view is not _DEFAULT or profile.is_whole,
        terminal=DOCUMENT if parsed.as_markdown else terminal,
        no_bodies=profile.is_whole
        and not (names or values.get(ALL_FUNCTIONS.attribute)),
        file=" ".join(map(shell_path, files)),
        named=bool(names and view.takes_names),
    )
    if view is _DEFAULT and not (names or _has_choice(parsed)):
        view = default_view(profile, sources, options)
    as_json: bool = parsed.as_json
    report = _Report(
        view=view, profile=profile, sources=sources, options=options, as_json=as_json
    )
    if target:
        with Progress() as progress:
            lines = progress.each(report.lines(), "writing line")
            written = write_report(lines, target, files, profile.processes)
        if view.is_file:
            print_error(f"wrote {written}{size_in_words(written)}")
    else:
        report.print(paged=parsed.pager)
    remarks = [*settings.refused, *settings.remarks, *unknown_keys]
    if len(files) > 1 and all(one.rank is None for one in profile.processes):
        remarks.append(
            f"these are sums of {len(files)} profiles; lineprof diff BEFORE AFTER"
            " compares two"
        )
    if not (view.is_file or (report.has_notes and not target)):
        remarks += report.remarks(options)
    if view is _DEFAULT and len(files) == 1 and not names:  # the tables may be many
        remarks += next_steps(profile, files[0])
    print_errors(remarks)


def _names_and_files(
    parser: argparse.ArgumentParser,
    view: View,
    parsed: argparse.Namespace,
    values: dict[str, object],
) -> tuple[list[str], list[str]]:
    """Return the names of functions to show, and the profiles that exist.

    Names that a view takes as targets are put into `values`.
    """
    targets = getattr(parsed, TARGETS.attribute, ())
    swapped = [word for word in targets if word.endswith(".lprof")]
    words = [*swapped, *parsed.files]
    if not words:
        parser.error(f"the following arguments are required: FILE{_newest()}")
    names, files = names_and_profiles(words)
    if targets:
        kept = [word for word in targets if word not in swapped]
        if not (kept or names):
            flag = f"--{view.name}"
            shown = " ".join(map(shell_path, files))
            hint = f"lineprof view {flag} NAME {shown}"
            parser.error(f"{flag} needs the name of a function; {hint}")
        values[TARGETS.attribute] = (*kept, *names)
    elif names and not view.takes_names:
        parser.error(f"--{view.name} takes no names: {' '.join(names)}")
    return names, [find_profile(file) for file in files]


def _newest() -> str:
    """Return the newest profile of this folder as a suggestion, "" if there is none."""
    with suppress(OSError):
        files = [one for one in os.scandir() if one.name.endswith(".lprof")]
        newest = max(files, key=lambda one: one.stat().st_mtime_ns, default=None)
        return f"; the newest here is {shell_path(newest.name)}" if newest else ""
    return ""


def _has_choice(parsed: argparse.Namespace) -> bool:
    """Return whether the user asks for something that the tables alone have."""
    fields = {option.attribute for option in _DEFAULT.options} - {RICH.attribute}
    return any(hasattr(parsed, field) for field in fields)


def _forms(parsed: argparse.Namespace) -> dict[str, bool]:
    """Return the flags for forms of a view, and whether the user asks for each."""
    return {
        f"--{_JSON.name}": parsed.as_json,
        _MARKDOWN: parsed.as_markdown,
        CSV.long: getattr(parsed, CSV.attribute, False),
        SARIF.long: getattr(parsed, SARIF.attribute, False),
    }


def _chosen(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> View:
    """Return the view to show; a usage error if it has no such form.

    --json is the view of that name, or a form of another one.
    """
    view: View = parsed.view
    if parsed.as_json and view is _DEFAULT:
        view = parsed.view = _JSON
    forms = _forms(parsed)
    is_csv = forms[CSV.long]
    form = chosen_form(parser, forms)
    is_form = form in {f"--{_JSON.name}", _MARKDOWN} and view not in (_DEFAULT, _JSON)
    if is_form and view.rows is None:
        parser.error(f"--{view.name} takes no {form}")
    for option in OF_TABLES if view.rows and (is_csv or parsed.as_json) else ():
        if hasattr(parsed, option.attribute):
            parser.error(f"--{view.name} {form} takes no {option.long}")
    return view


class _Report(NamedTuple):
    """A view of a profile."""

    view: View
    profile: Profile
    sources: Sources
    options: Options
    as_json: bool

    @property
    def has_notes(self) -> bool:
        """Whether notes are part of the output, which they are for people.

        The table of a profile that line_profiler wrote stays as line_profiler
        prints it.
        """
        is_data = self.as_json or self.options.csv or self.options.sarif
        is_apart = is_data or self.view.notes_apart
        has_own = bool(self.profile.processes) or self.options.terminal is DOCUMENT
        return has_own and not is_apart

    def lines(self) -> Iterable[str]:
        """Return the lines of the output."""
        lines = self._lines()
        return document(lines) if self.options.terminal is DOCUMENT else lines

    def print(self, *, paged: bool) -> None:
        """Print the output; LineprofError if it cannot be written."""
        if self.options.terminal is DOCUMENT:
            print_markdown(self.lines())
        elif paged and not self.view.is_file:
            print_paged(self.lines)
        else:
            print_lines(self.lines())

    def _lines(self) -> Iterable[str]:
        """Return the lines of the view, with notes unless other programs read it."""
        view, profile, sources, options, as_json = self
        if view.rows is not None and (as_json or options.csv):
            made = view.rows(profile, sources, options)
            if as_json:
                # As for CSV: a view's lines for people may have some of the notes.
                remarks = self.remarks(options._replace(csv=True))
                return rows.as_json(view.name, made, remarks)
            return rows.as_csv(made)
        if view.is_file or not self.has_notes:
            return view.render(profile, sources, options)
        return view_with_notes(view, profile, sources, options, self._notes())

    def remarks(self, options: Options) -> Iterator[str]:
        """Yield what the view with these `options` lacks, once its lines were made."""
        yield from self.view.notes(self.profile, options)
        yield from self._notes()

    def _notes(self) -> Iterable[str]:
        return notes(self.profile, self.sources, tables=self.view.has_tables)


def _target(
    parser: argparse.ArgumentParser,
    view: View,
    values: dict[str, object],
    parsed: argparse.Namespace,
    files: Sequence[str],
) -> str | None:
    """Return the name of the file to write; None for standard output.

    A page has the name of --html, or of -o, or the default.
    """
    target: str | None = parsed.log_file
    if view.is_file:
        page = str(values.pop(PAGE.attribute))
        if page and target is not None:
            parser.error(f"{_HTML} and -o both name a file")
        if page.endswith(".lprof"):
            parser.error(
                f"{page} is the name of a profile; {_HTML} takes that of a page"
            )
        target = checked_name(page) if page else target or f"{files[0]}.html"
    return None if target == STANDARD_OUTPUT else target


# Rewriting of the arguments for `argparse`.
#
# Switches may be given a value: ``--sort=no`` is ``--no-sort``. `argparse` has no
# such switches: if a value may follow, it takes the name of the file for the value.


def _prepare(arguments: Sequence[str]) -> list[str]:
    """Return `arguments` as the parser takes them; LineprofError for a wrong value.

    ``--sort`` with the name of an order becomes ``--sort-by``, ``--hot`` and
    ``--brief`` get the number that follows, or the default, and ``--html`` the name of
    a page.
    """
    others = [*_GENERAL, *(f"--{view.name}" for view in _OTHERS), *_BY_NAME]
    rest = expand_flags(
        [_named_order(argument) for argument in arguments],
        _SWITCHES,
        others,
        _LINE_PROFILER_FLAGS,
    )
    done: list[str] = []
    while rest and rest[0] != "--":
        argument = rest.pop(0)
        follows = rest[0] if rest else ""
        if argument == _SORT and follows in _OTHER_ORDERS:
            _refuse_order(follows)
        if argument == _SORT and follows in ALL_ORDERS:
            argument = f"{_SORT_BY}={rest.pop(0)}"
        elif argument in _COUNTS:
            count = rest.pop(0) if _is_count(follows) else _COUNTS[argument]
            argument = f"{argument}={count}"
        elif argument == _HTML:
            argument = f"{_HTML}={rest.pop(0) if is_page(follows) else ''}"
        done.append(argument)
    return done + rest


# Orders as other profilers call them.
_OTHER_ORDERS = {
    **dict.fromkeys(("own", "tottime", "exclusive"), "self"),
    **dict.fromkeys(("total", "cum", "cumtime", "inclusive"), "cumulative"),
    **dict.fromkeys(("ncalls", "pcalls"), "calls"),
    "percall": "per-call",
    "filename": "file",
}


def _refuse_order(order: str) -> None:
    """Raise LineprofError for an order of others, unless a file has this name."""
    if not os.path.lexists(order):
        raise LineprofError(
            f"there is no order {order!r}",
            hint=f"try --functions {_SORT} {_OTHER_ORDERS[order]}",
        )


# Flags whose first word means something else to most, and what shows that.
_MISLEADING = {
    "--top-kernels": "--hot N shows the hottest lines",
    "--graph-origin": "--tree shows the calls",
}


def _refuse_misleading(argument: str, flag: str) -> None:
    """Raise LineprofError if `argument` is no more than the first word of `flag`."""
    first = "-".join(flag.split("-")[:3])
    if flag in _MISLEADING and first.startswith(argument):
        raise LineprofError(
            f"{argument} is no flag",
            hint=f"{_MISLEADING[flag]}; {flag} is another flag, to be named in full",
        )


def _is_count(argument: str) -> bool:
    """Tell a number, even an invalid one, from the name of an existing file."""
    try:
        float(argument)
    except ValueError:
        return False
    return not os.path.lexists(argument)


def _named_order(argument: str) -> str:
    """Return ``--sort=ORDER`` as ``--sort-by=ORDER``, any other argument unchanged."""
    flag, equals, value = argument.partition("=")
    if not (equals and value) or parse_bool(value) is not None:
        return argument
    return f"{_SORT_BY}={value}" if flag in {"--so", "--sor", _SORT} else argument


def expand_flags(
    arguments: Sequence[str],
    switches: Collection[str],
    others: Collection[str],
    preferred: Collection[str] = (),
) -> list[str]:
    """Return `arguments` with long flags in full, and `switches` without values.

    `others` are all other long flags. If an abbreviation fits several flags, those
    in `preferred` alone count. Raises LineprofError for a switch's value that is
    neither yes nor no.
    """
    opposites = {opposite_of(flag): flag for flag in switches}
    names = {*switches, *opposites, *others}
    rest = list(arguments)
    done: list[str] = []
    while rest and rest[0] != "--":
        flag, equals, value = rest.pop(0).partition("=")
        if flag.startswith("--"):
            found = matching(flag, names, {*preferred, *map(opposite_of, preferred)})
            if len(found) == 1:
                _refuse_misleading(flag, found[0])
                flag = found[0]
        if flag in opposites or flag in switches:
            if not equals:
                follows = bool(rest) and parse_bool(rest[0]) is not None
                value = rest.pop(0) if follows else "yes"
            is_on = parse_bool(value)
            if is_on is None:
                raise LineprofError(f"{flag} takes yes or no, not {value!r}")
            switch = opposites.get(flag, flag)
            is_on = is_on is not (flag in opposites)
            done.append(switch if is_on else opposite_of(switch))
        else:
            done.append(flag + equals + value)
    return done + rest


# The flags for `argparse`.


def _add_flags(parser: argparse.ArgumentParser) -> None:
    """Add all flags to `parser`."""
    add = partial(add_argument, parser)
    parser.epilog = _EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add(
        "FILE",
        "profiles; names before or after them choose the functions whose tables are"
        f" printed: {FORMS}",
        nargs="*",
    )
    parser.add_argument("-V", "--version", action="version", version=VERSION)
    add(
        "-c, --config FILE",
        "take defaults from the table [tool.line_profiler.cli] or"
        " [tool.lineprof.cli] of this TOML file",
    )
    add(
        "--no-config",
        "ignore configuration files",
        dest="config",
        action="store_const",
        const=False,
    )
    add(
        "-o, --log-file FILE",
        "write the report to this file; its name may hold %%p, the id of the"
        " measured process, %%h, its host, %%t, the time, and %%q{VAR}, a variable",
        checked_name,
    )
    add(
        "--no-pager",
        "print what does not fit on the terminal, without the program that PAGER"
        " names (default: less)",
        dest="pager",
        action="store_false",
    )
    add_source_root(parser)
    add(f"--{_JSON.name}", _JSON.help, dest="as_json")
    add(
        _MARKDOWN,
        "Markdown for a comment, an issue or the summary of a CI job, also of the"
        f" views that --json has; at most {MAX_CHARACTERS:,} characters",
        dest="as_markdown",
    )
    views = parser.add_mutually_exclusive_group()
    for view in _OTHERS:
        if view is not _JSON:
            _add_view(views, view)
    for option in _FLAGS.values():
        _add_option(parser, option)


def _add_view(views: argparse._MutuallyExclusiveGroup, view: View) -> None:
    """Add the flag that chooses a view, with its value if it takes one."""
    choice: dict[str, object] = {"dest": "view", "const": view, "default": _DEFAULT}
    flag, value = f"--{view.name}", view.value
    if value is None:
        add_argument(views, flag, view.help, None, action="store_const", **choice)
    else:
        usage = f"{flag} {value.value}"
        add_argument(views, usage, view.help, value.read, action=_Choose, **choice)


class _Choose(argparse.Action):
    """The choice of a view by a flag with a value, which is kept for the view."""

    def __call__(
        self,
        _parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        value: object,
        _flag: str | None = None,
    ) -> None:
        """Take one value; a view of several values gets them in order."""
        view: View = self.const
        option = view.value
        if option is not None:
            namespace.view = view
            if isinstance(option.default, tuple):
                value = (*getattr(namespace, option.attribute, ()), value)
            setattr(namespace, option.attribute, value)


def _add_option(parser: argparse.ArgumentParser, flag: Flag) -> None:
    """Add a flag of a view; if it is not given, the namespace has no such attribute."""
    add = partial(add_argument, parser, dest=flag.attribute, default=argparse.SUPPRESS)
    if flag.kind == BOOLEAN:
        add(flag.usage, flag.text)
        add(flag.opposite, argparse.SUPPRESS, action="store_false")
    else:
        read = ArgumentType(flag.read, flag.words, flag.separator)
        add(flag.usage, flag.text, type=read)


# The values of the options: as given, else from a TOML file, else the defaults.


def _option_values(
    parser: argparse.ArgumentParser,
    parsed: argparse.Namespace,
    defaults: dict[str, object],
) -> dict[str, object]:
    """Return the values of the chosen view's options by field.

    A flag that the view does not take is a usage error.
    """
    view: View = parsed.view
    orders = ", ".join(dict.fromkeys(view.orders))
    given = dict(vars(parsed))
    values = {}
    for flag in (*view.options, *([view.value] if view.value else ())):
        default = defaults.get(flag.attribute, flag.default)
        values[flag.attribute] = given.pop(flag.attribute, default)
    if values.get(_ORDER) and values[_ORDER] not in view.orders:
        if hasattr(parsed, _ORDER):
            name = "the table" if view is _DEFAULT else f"--{view.name}"
            parser.error(f"{name} has no order {values[_ORDER]!r}; known are: {orders}")
        values[_ORDER] = ""  # the file's is for another view
    for field, other in _FLAGS.items():
        if field in given:
            name = other.long if field != _ORDER else f"{_SORT} ORDER"
            if view is _DEFAULT:
                takers = (
                    f"--{one.name}"
                    for one in VIEWS.values()
                    if any(flag.attribute == field for flag in one.options)
                )
                parser.error(f"{name} goes with {' or '.join(takers)}")
            if name == _SORT and orders:
                parser.error(f"{name} of --{view.name} needs an order: {orders}")
            parser.error(f"--{view.name} takes no {name}")
    return values


def _of_file(source: ConfigSource) -> tuple[dict[str, object], list[str]]:
    """Return the values of a TOML file by the field that they set, and remarks.

    There is a remark on each key that no flag has. Raises ConfigError for an invalid
    value.
    """
    values: dict[str, object] = {}
    remarks: list[str] = []
    table = source.get_subconfig("cli")
    for key, value in {**table.conf_dict, **table.own}.items() if source.holds else ():
        flag = _BY_NAME.get(f"--{key.replace('_', '-')}")
        if flag is None:
            remarks.append(
                f"{source.file}: [tool.lineprof.cli] knows no {key!r};"
                " lineprof view --help lists all flags"
            )
            continue
        try:
            values[flag.attribute] = flag.from_file(value)
        except LineprofError as error:
            where = f"{source.file}: {key}"
            raise ConfigError(f"{where}: {error.message}", hint=error.hint) from None
    return values, remarks


COMMAND = Command(add_flags=_add_flags, run=_view, prepare=_prepare)
