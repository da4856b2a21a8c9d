"""The first screen of a large profile: the view without a flag of a whole program.

The tables of a whole program are thousands of lines long. The first screen has at
most `MAX_LINES`: a line on the run, the hottest lines, the functions with the most
time of their own, the calls from where they branch, and the flags that show more.
"""

from __future__ import annotations

from heapq import nlargest
from itertools import islice
from textwrap import wrap
from typing import TYPE_CHECKING

from lineprof.console.output import python_command, shell_word
from lineprof.model.call_graph import branch_point, call_path_tree, function_totals
from lineprof.model.names import short_names
from lineprof.report.call_tree import branches, note_lines
from lineprof.report.functions import hot
from lineprof.report.marks import Marks
from lineprof.report.notes import start_of_drill
from lineprof.report.text import render as render_tables
from lineprof.report.text_grid import grid, in_words, percent, percent_of, time_unit_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.model.call_graph import CallPath
    from lineprof.model.profile import Profile
    from lineprof.report.options import Options
    from lineprof.source import Sources

MAX_LINES = 60  # of the first screen

_MIN_TABLE_LINES = 200  # of all tables; shorter ones are printed themselves

_LINES_OF_A_TABLE = 8  # at least: its heading, one row, a blank line

_ROWS = 10  # of lines, and of functions

_TREE_ROWS = 13

_HOT_PERCENT = 20  # of the time of all functions


def is_large(profile: Profile, sources: Sources, options: Options) -> bool:
    """Return whether the first screen stands for the tables of `profile`.

    It does for a program that was profiled whole, if its tables are long.
    """
    if not profile.is_whole:
        return False
    if len(profile.functions) * _LINES_OF_A_TABLE >= _MIN_TABLE_LINES:
        return True
    lines = render_tables(profile, sources, options)
    return len(list(islice(lines, _MIN_TABLE_LINES))) == _MIN_TABLE_LINES


def render(profile: Profile, sources: Sources, options: Options) -> Iterator[str]:
    """Yield the first screen of `profile`, whose file is `options.file`."""
    root = call_path_tree(profile)
    yield from _run(profile, options)
    yield ""
    yield from _lines(profile, sources, options)
    yield ""
    yield from _functions(profile, options)
    if profile.calls.nodes:
        yield ""
        yield from _calls(profile, sources, options, root)
    yield ""
    yield from _more(profile, options)


def _run(profile: Profile, options: Options) -> Iterator[str]:
    """Yield one line on the run: its time, and how much was measured."""
    runs = profile.processes
    text = in_words(sum(one.wall_ns for one in runs))
    if len(runs) > 1:
        text += f" in {len(runs)} runs"
    if all(one.cpu_ns is not None for one in runs):
        text += f", CPU {in_words(sum(one.cpu_ns or 0 for one in runs))}"
    measuring_ns = sum(one.overhead_ns for one in runs)
    if measuring_ns:
        text += f", measuring about {in_words(measuring_ns)}"
    lines = sum(len(function.line_ns) for function in profile.functions)
    text += f": {lines:,} lines of {len(profile.functions):,} functions"
    yield from wrap(text, options.terminal.width or len(text))


def _lines(profile: Profile, sources: Sources, options: Options) -> Iterator[str]:
    rows = list(hot(profile, sources, options._replace(lines=_ROWS)))
    yield "Hottest lines, by their own time:"
    yield from rows[2:]


def _functions(profile: Profile, options: Options) -> Iterator[str]:
    """Yield the functions with the most time of their own."""
    totals = function_totals(profile)
    own_ns = sum(one.self_ns for one in totals.values())
    shown = nlargest(_ROWS, totals.items(), key=lambda item: item[1].self_ns)
    times = time_unit_for(numbers.total_ns for _, numbers in shown)
    names, marks = short_names(totals), Marks(profile)
    own, cumulative = times.titles("Own", "Total")
    titles = [own, "% Own", cumulative, "Calls", "Function"]
    cells = [
        [
            times.text(numbers.self_ns),
            percent(numbers.self_ns, own_ns),
            times.text(numbers.total_ns),
            f"{numbers.calls}",
            names.called(key) + marks.after(key),
        ]
        for key, numbers in shown
    ]
    is_hot = [percent_of(one.self_ns, own_ns) >= _HOT_PERCENT for _, one in shown]
    yield "Functions with the most time of their own:"
    yield from grid(titles, cells, options.terminal, hot=is_hot)


def _calls(
    profile: Profile, sources: Sources, options: Options, root: CallPath
) -> Iterator[str]:
    """Yield the calls from where they branch."""
    start, above = branch_point(root)
    levels = f", {above} levels down" if above > 1 else ""
    yield f"Calls, from where they branch{levels} (:LINE is where each is called):"
    yield from note_lines(profile, options)
    yield from branches(profile, sources, options, (root, start), _TREE_ROWS)


def _more(profile: Profile, options: Options) -> Iterator[str]:
    """Yield the flags that show more."""
    start = start_of_drill(profile)
    word = shell_word(start)
    flags = {
        word: "its table; or file.py, file.py:12, a glob",
        f"--drill {word}": "the same, with the calls of each line",
        "--hot 50": "more lines",
        "--functions": "all functions, as cProfile lists them",
        "--tree": "all calls",
        "--limit 5": "the five tables with the most own time",
        "--all-functions": f"all {len(profile.functions):,} tables",
    }
    if not profile.calls.nodes:
        del flags["--tree"]
    command = f"{python_command()} -m lineprof view WHAT {options.file}"
    yield f"To see more: {command}, with the WHAT"
    width = max(map(len, flags))
    for flag, text in flags.items():
        yield options.terminal.clipped(f"  {flag.ljust(width)}  {text}", 0)
