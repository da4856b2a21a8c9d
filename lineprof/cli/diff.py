"""`lineprof diff`: compares the profiles before and after a change, line by line."""

from __future__ import annotations

import glob
import os
import sys
from functools import partial
from typing import TYPE_CHECKING

from lineprof.cli.command import (
    STANDARD_OUTPUT,
    Command,
    add_argument,
    add_source_root,
    chosen_form,
    each_once,
    find_profile,
    print_markdown,
    read_profiles,
    size_in_words,
    without_collection,
    write_report,
)
from lineprof.console.output import print_error, print_lines
from lineprof.console.pager import print_paged
from lineprof.console.progress import Progress
from lineprof.console.terminal import PLAIN, terminal_of
from lineprof.errors import LineprofError
from lineprof.files import checked_name
from lineprof.report import diff
from lineprof.report.diff import difference_of
from lineprof.report.markdown import MAX_CHARACTERS, marker
from lineprof.report.options import Options, parse_count, parse_percent

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

    from lineprof.model.profile import Profile
    from lineprof.report.diff import Difference

_DEFAULT_LIMIT = 20  # rows of each table

_EPILOG = """\
BEFORE and AFTER each are a profile, or several runs: names separated by commas, or a
quoted pattern such as 'before.*.lprof'. Or: --before FILE... --after FILE..."""


def _add_flags(parser: argparse.ArgumentParser) -> None:
    add = partial(add_argument, parser)
    parser.epilog = _EPILOG
    add("BEFORE AFTER", "the two sides to compare", nargs="*")
    for side in ("before", "after"):
        add(
            f"--{side} FILE",
            f"profiles of runs {side} the change; each is one run",
            nargs="+",
            action="extend",
            default=[],
        )
    add(
        "--limit N",
        "show the first N functions and lines; 0: all (default:"
        f" {_DEFAULT_LIMIT}, of --json all)",
        _limit,
    )
    add(
        "--min-percent SHARE",
        "leave out changes that are a smaller share of the time of all lines, in"
        " %% (default: 0)",
        percent_of,
    )
    add("--json", "print JSON", dest="as_json")
    add(
        "--markdown",
        "print Markdown for a comment or the summary of a CI job, at most"
        f" {MAX_CHARACTERS:,} characters; its first line, {marker('diff')}, is not"
        " shown, and a program finds its comment by it",
        dest="as_markdown",
    )
    add(
        "--html OUT.html",
        "write a page for browsers, in one file that needs no network",
        page_name,
    )
    add(
        "-o, --log-file FILE",
        "write the report to this file; its name may hold %%p, %%h, %%t and"
        " %%q{VAR}, as with view",
        checked_name,
    )
    add(
        "--no-pager",
        "print what does not fit on the terminal, without a pager",
        dest="pager",
        action="store_false",
    )
    add_source_root(parser)


def page_name(word: str) -> str:
    """Return the name of a page; LineprofError if it is one of a profile."""
    if word.endswith(".lprof"):
        raise LineprofError(
            f"{word} is the name of a profile",
            hint="name a page, as in --html diff.html",
        )
    return checked_name(word)


def _limit(word: str) -> int:
    """Return a number of rows, 0 for all; LineprofError for anything else."""
    is_zero = word.isascii() and word.isdigit() and not word.strip("0")
    return 0 if is_zero else parse_count(word)


def percent_of(word: str) -> float:
    """Return the number of a word such as "5" or "5%"; LineprofError if it is none."""
    return parse_percent(word.removesuffix("%").strip())


def runs_in(words: Iterable[str]) -> list[str]:
    """Return the profiles that `words` name: files, lists with commas, patterns.

    A file with such a name goes first. Each file is there once; LineprofError if a
    pattern fits none, or a name is empty.
    """
    return each_once(file for word in words for file in _files(word))


def _files(word: str) -> list[str]:
    if os.path.lexists(word):
        return [word]
    files = []
    for part in word.split(","):
        if not part:
            raise LineprofError(
                f"{word!r} has an empty name", hint="write A.lprof,B.lprof"
            )
        if glob.has_magic(part) and not os.path.lexists(part):
            matches = sorted(glob.glob(part, recursive=True))
            if not matches:
                raise LineprofError(
                    f"no file fits {part!r}", hint="name profiles, or quote the pattern"
                )
            files += matches
        else:
            files.append(find_profile(part))
    return files


def read_runs(files: list[str], progress: Progress, roots: list[str]) -> list[Profile]:
    """Return the profile of each file, a run each; LineprofError if one is invalid."""
    return [
        read_profiles([file], progress, roots)
        for file in progress.each(files, "reading profile", len(files))
    ]


def compared(before: Sequence[Profile], after: Sequence[Profile]) -> Difference:
    """Return the comparison of profiles before and after a change, a run each."""
    with without_collection():  # it takes a quarter of the time
        return difference_of(before, after)


def _sides(
    parser: argparse.ArgumentParser, parsed: argparse.Namespace
) -> tuple[list[str], list[str]]:
    """Return the files before and after; a usage error unless there are both."""
    before, after, files = [*parsed.before], [*parsed.after], [*parsed.files]
    if files and not before:
        before = [files.pop(0)]
    if files and not after:
        after = [files.pop(0)]
    if files:
        parser.error(
            f"{' '.join(files)}: there are two sides to compare; several runs are"
            " A1.lprof,A2.lprof or --before A1.lprof A2.lprof"
        )
    for side, names in (("before", before), ("after", after)):
        if not names:
            parser.error(f"there is no profile {side} the change: name two sides")
    return runs_in(before), runs_in(after)


def _diff(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> None:
    """Print the comparison, or write it to the file of --log-file."""
    forms = {
        "--html": parsed.html,
        "--json": parsed.as_json,
        "--markdown": parsed.as_markdown,
        "-o": parsed.log_file is not None and parsed.html,
    }
    chosen_form(parser, forms)
    for flag in ("limit", "min_percent") if parsed.html else ():
        if getattr(parsed, flag) is not None:
            parser.error(
                f"--html takes no --{flag.replace('_', '-')}: the page has every change"
            )
    before, after = _sides(parser, parsed)

    with Progress() as progress:
        runs = read_runs(before, progress, parsed.source_root)
        runs_after = read_runs(after, progress, parsed.source_root)
        progress.say(lambda: "comparing")
        difference = compared(runs, runs_after)
    if parsed.html:
        _write_page(difference, parsed.html, before, after)
        return
    to_file = parsed.log_file not in {None, STANDARD_OUTPUT}
    limit = parsed.limit
    if limit is None:
        limit = 0 if parsed.as_json else _DEFAULT_LIMIT
    options = Options(
        limit=limit,
        min_percent=parsed.min_percent,
        terminal=PLAIN if to_file else terminal_of(sys.stdout),
    )
    render = diff.as_json if parsed.as_json else diff.text
    if parsed.as_markdown:
        render = diff.as_markdown
    if to_file:
        files = [*before, *after]
        with Progress() as progress:
            lines = progress.each(render(difference, options), "writing line")
            write_report(lines, parsed.log_file, files, runs_after[0].processes)
    elif parsed.as_markdown:
        print_markdown(render(difference, options))
    elif parsed.pager:
        print_paged(lambda: render(difference, options))
    else:
        print_lines(render(difference, options))


def _write_page(
    difference: Difference, name: str, before: list[str], after: list[str]
) -> None:
    """Write the page of a comparison; LineprofError if that fails."""
    from lineprof.report.html.comparison import render  # noqa: PLC0415  # slow; rare

    page = render(difference, before, after)
    if name == STANDARD_OUTPUT:
        print_lines(page)
        return

    files = [*before, *after]
    written = write_report(page, name, files, difference.after[0].processes)
    print_error(f"wrote {written}{size_in_words(written)}")


COMMAND = Command(add_flags=_add_flags, run=_diff)
