"""`lineprof check`: compares a profile with budgets, or with a baseline, for CI.

Each file is one run, of the program and of the baseline; of several runs the means are
compared.
"""

from __future__ import annotations

import os
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from lineprof.cli.budget_file import read_budgets
from lineprof.cli.command import (
    Command,
    add_argument,
    add_source_root,
    print_markdown,
    write_report,
)
from lineprof.cli.diff import compared, percent_of, read_runs, runs_in
from lineprof.comparison.compare import SHARE
from lineprof.console.output import print_errors, print_lines
from lineprof.console.progress import Progress
from lineprof.errors import LineprofError
from lineprof.files import checked_name
from lineprof.report import diff_memory
from lineprof.report.budgets import (
    FORMATS,
    HOLDS,
    Checked,
    gpu_growths,
    growths,
    has_gpu,
    outcomes,
    slowdowns,
    summary,
)
from lineprof.report.diff import notes_of_comparison
from lineprof.report.gpu_memory import changed_peaks
from lineprof.source import sources_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from lineprof.model.profile import Profile
    from lineprof.report.budgets import Outcome
    from lineprof.report.diff import Difference

_MAX_SLOWDOWN, _MAX_GROWTH, _MIN_PERCENT = "10%", "10%", 1.0


def _add_flags(parser: argparse.ArgumentParser) -> None:
    add = partial(add_argument, parser)
    parser.epilog = (
        "Exit status: 0 all budgets hold, 1 one does not, 2 wrong flags or budgets."
    )
    add(
        "FILE",
        "profiles; each is one run, and of several the mean is compared:"
        " A.lprof,B.lprof or a quoted pattern, too",
    )
    add(
        "-b, --budget TOML",
        "file with the tables [program], [[function]] and [[line]], or the same"
        " below [tool.lineprof.budget] (default: the nearest lineprof.toml,"
        " line_profiler.toml or pyproject.toml, unless there is a --baseline)",
    )
    add(
        "--baseline FILE",
        "also compare with this profile of an earlier run; several runs, here and"
        " of FILE, tell smaller slowdowns: A.lprof,B.lprof or a quoted pattern",
        action="append",
        default=[],
    )
    add(
        "--max-slowdown SHARE",
        "by how much the CPU time and the waits of the program and of each function"
        " may be longer than those of the baseline, in %% (default:"
        f" {_MAX_SLOWDOWN.replace('%', '%%')})",
        _slowdown,
    )
    add(
        "--max-growth SHARE",
        "by how much the memory of the program and of each function, and the peak of"
        " each GPU, may be more than that of the baseline, if both have it, in %%"
        " (default:"
        f" {_MAX_GROWTH.replace('%', '%%')})",
        _slowdown,
    )
    add(
        "--min-percent SHARE",
        "let functions pass whose slowdown is a smaller share of the time of all"
        " lines, or whose growth is one of the memory of the program, in %% (default:"
        f" {_MIN_PERCENT:g})",
        percent_of,
    )
    add(
        "--format",
        "text: path:line: error: message; github: workflow commands, which is the"
        " default on GitHub Actions; gitlab: a Code Quality report; sarif: a log of"
        " SARIF 2.1.0 for code scanning and editors; json; markdown: a table for a"
        " comment",
        choices=[*FORMATS],
    )
    add("-o, --log-file FILE", "write the messages to this file", checked_name)
    add_source_root(parser)


def _slowdown(word: str) -> Fraction:
    """Return a share in %; LineprofError if it is none."""
    number = word.removesuffix("%").strip()
    whole, _, decimals = number.partition(".")
    is_number = (whole + decimals).isascii() and (whole + decimals).isdigit()
    if not is_number or len(number) > _MAX_DIGITS:
        raise LineprofError(f"{word!r} is no percentage", hint="give one like 10%")
    return Fraction(f"{whole or 0}.{decimals or 0}")


_MAX_DIGITS = 18


def _check(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> int:
    """Print the budgets that do not hold; return 1 if there are any, else 0."""
    for flag in ("max_slowdown", "max_growth", "min_percent"):
        if getattr(parsed, flag) is not None and not parsed.baseline:
            name = f"--{flag.replace('_', '-')}"
            parser.error(f"{name} is for a --baseline, which is missing")
    has_budget = parsed.budget is not None or not parsed.baseline
    budgets = read_budgets(parsed.budget) if has_budget else None

    files = runs_in(parsed.files)
    with Progress() as progress:
        runs = read_runs(files, progress, parsed.source_root)
        _refuse_ranks(files, runs)
        profile = runs[0]
        if len(runs) > 1:
            profile = profile.from_stats_objects(*runs)
            profile = profile.reading_below(*parsed.source_root)
        found: list[Outcome] = []
        notes: list[str] = []
        if budgets is not None:
            found += outcomes(runs, profile, sources_of(profile), budgets)
        if parsed.baseline:
            more, notes = _slowdowns(runs, parsed, progress)
            found += more
    name = parsed.format or (
        "github" if os.environ.get("GITHUB_ACTIONS") == "true" else "text"
    )
    lines = FORMATS[name](Checked(found, profile, notes))
    if parsed.log_file is None:
        (print_markdown if name == "markdown" else print_lines)(lines)
    else:
        write_report(lines, parsed.log_file, files, profile.processes)
    print_errors([*profile.warnings, *notes, summary(found)])
    return int(any(one.status != HOLDS for one in found))


def _refuse_ranks(files: list[str], runs: list[Profile]) -> None:
    """Raise LineprofError if two files are of different ranks: they are no runs."""
    first = _ranks_of(runs[0])
    for file, run in zip(files, runs):
        ranks = _ranks_of(run)
        if first and ranks and first.isdisjoint(ranks):
            raise LineprofError(
                f"{files[0]} and {file} are of rank {min(first)} and rank {min(ranks)},"
                " but each file is a run",
                hint="merge the ranks of each run into one file with lineprof merge",
            )


def _ranks_of(profile: Profile) -> set[int]:
    return {one.rank for one in profile.processes if one.rank is not None}


def _slowdowns(
    runs: list[Profile], parsed: argparse.Namespace, progress: Progress
) -> tuple[list[Outcome], list[str]]:
    """Return the outcomes of the comparison with the baseline, and its notes."""
    files = runs_in(parsed.baseline)
    baseline = read_runs(files, progress, parsed.source_root)
    progress.say(lambda: "comparing with the baseline")
    max_percent = parsed.max_slowdown
    if max_percent is None:
        max_percent = _slowdown(_MAX_SLOWDOWN)
    max_growth = parsed.max_growth
    if max_growth is None:
        max_growth = _slowdown(_MAX_GROWTH)
    min_percent = parsed.min_percent
    if min_percent is None:
        min_percent = _MIN_PERCENT
    difference = compared(baseline, runs)
    comparison, file = difference.comparison, _script(runs[0]) or files[0]
    knows_gpu = all(map(has_gpu, baseline))
    found = [
        *slowdowns(comparison, max_percent, min_percent, file, knows_gpu=knows_gpu),
        *growths(comparison, max_growth, min_percent, file),
        *gpu_growths(changed_peaks(baseline, runs), max_growth, file),
    ]
    return found, [*_notes(difference, max_percent)]


def _notes(difference: Difference, max_percent: Fraction) -> Iterator[str]:
    """Yield what the comparison cannot tell."""
    least = round(100 * SHARE)
    if difference.comparison.is_one_run and max_percent < least:
        yield (
            f"with one run a side, a slowdown below {least} % passes: give three or"
            " more runs"
        )
    has_any = difference.comparison.has_gpu
    if has_any and not all(map(has_gpu, difference.before)):
        yield "the baseline did not record a GPU: GPU times are not compared"
    yield from diff_memory.notes(difference.before, difference.after)
    yield from notes_of_comparison(difference)


def _script(profile: Profile) -> str:
    """Return the path of the program's script; "" if it is unknown."""
    argv = profile.processes[0].argv if profile.processes else ()
    return os.path.join(profile.processes[0].cwd, argv[0]) if argv else ""


COMMAND = Command(add_flags=_add_flags, run=_check)
