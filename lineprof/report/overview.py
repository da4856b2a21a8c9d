"""The first screen of a large profile: the view without a flag of a whole program.

The tables of a whole program are thousands of lines long. The first screen has at
most `MAX_LINES`: a bar of the run, the hottest lines, the functions with the most time
of their own, the calls from where they branch, the first advice, and the flags that
show more. Each share on it is one of the run.
"""

from __future__ import annotations

import os
from heapq import nlargest
from itertools import islice
from textwrap import wrap
from typing import TYPE_CHECKING

from lineprof.console.output import python_command, shell_word
from lineprof.console.terminal import PLAIN
from lineprof.model.call_graph import function_totals
from lineprof.model.folded_calls import folded_calls
from lineprof.model.names import short_names
from lineprof.model.records import RUNNABLE
from lineprof.model.run_parts import clock_ns, run_parts
from lineprof.report import markdown
from lineprof.report.advice import brief, first_findings
from lineprof.report.call_tree import Whole, branches, note_lines
from lineprof.report.columns import DATA, SOURCE_TITLE, Column
from lineprof.report.functions import columns_of_hot_lines, hottest_lines
from lineprof.report.line_table import WAITS_FOR
from lineprof.report.marks import Marks
from lineprof.report.memory_format import peak_words
from lineprof.report.notes import start_of_drill
from lineprof.report.options import MAX_CHOSEN
from lineprof.report.run_bar import bar_lines
from lineprof.report.text import render as render_tables
from lineprof.report.text_grid import (
    Context,
    counted,
    grid,
    in_words,
    percent,
    percent_of,
    table,
    time_unit_for,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.console.terminal import Terminal
    from lineprof.model.profile import Profile
    from lineprof.model.records import Process
    from lineprof.model.run_parts import RunParts
    from lineprof.report.functions import HotLine
    from lineprof.report.options import Options
    from lineprof.source import Sources

MAX_LINES = 60  # of the first screen

_MIN_TABLE_LINES = MAX_LINES  # of all tables; shorter ones are printed themselves

_LINES_OF_A_TABLE = 8  # at least: its heading, one row, a blank line

_ROWS, _FUNCTION_ROWS = 10, 8

_SAME = 1.02  # times the time on the clock

_MIN_SHARE = 0.001  # of the run, of a line or function

_MAX_WIDTH = 120  # columns of a terminal
_PIPE_WIDTH = 100  # if there is none

_MIN_WAIT_WIDTH = 100  # columns; on a narrower terminal, waits are shown without hits
_MIN_TAIL_WIDTH = 64  # and on one that is narrower still, neither

# Of a line's own time, for its wait to be shown. One for a processor is about the
# machine: it needs a larger part, and a share of the run.
_MIN_WAIT_SHARE, _MIN_READY_SHARE, _MIN_READY_OF_RUN = 0.1, 0.25, 0.01

_MEMORY = ("host_self_alloc_bytes", "host_self_peak_bytes")  # columns, if there is room

_RUN = "% Run"  # title of all shares

_WAITED_FOR = "Waited for"  # title of waits


def is_large(profile: Profile, sources: Sources, options: Options) -> bool:
    """Return whether the first screen stands for the tables of `profile`.

    It does for a program that was profiled whole, if its tables are long, and for more
    functions than somebody would choose one by one.
    """
    if not profile.is_whole:
        return is_program(profile)
    options = options._replace(terminal=PLAIN)
    if len(profile.functions) * _LINES_OF_A_TABLE >= _MIN_TABLE_LINES:
        return True
    lines = render_tables(profile, sources, options)
    return len(list(islice(lines, _MIN_TABLE_LINES))) == _MIN_TABLE_LINES


def is_program(profile: Profile) -> bool:
    """Return whether a profile is of a program and not of functions chosen in it."""
    is_long = len(profile.functions) > MAX_CHOSEN
    return profile.is_whole or (bool(profile.processes) and is_long)


def render(profile: Profile, sources: Sources, options: Options) -> Iterator[str]:
    """Yield the first screen of `profile`, whose file is `options.file`."""
    width = min(options.terminal.width or _PIPE_WIDTH, _MAX_WIDTH)
    terminal = options.terminal
    has_tables = False
    if isinstance(terminal, markdown.Document):
        has_tables = not is_large(profile, sources, options)
    else:
        terminal = terminal._replace(width=width)
    options = options._replace(terminal=terminal)
    parts = run_parts(profile, sources.line)
    run = Whole(title=_RUN, ns=parts.run_ns)
    yield from _run(profile, parts, terminal, width)
    if memory := peak_words(profile):
        yield from wrap(terminal.clean(f"Memory: {memory}"), width)
    if profile.why_empty:  # as a note says
        return
    for section in (
        _lines(profile, sources, options, width, run),
        _functions(profile, options, run),
        _calls(profile, sources, options, run),
        _advice(profile, sources, terminal),
        _tables(profile, sources, options) if has_tables else (),
        _more(profile, options, has_tables=has_tables),
    ):
        for number, line in enumerate(section):
            if not number:
                yield ""
            yield line


def _run(
    profile: Profile, parts: RunParts, terminal: Terminal, width: int
) -> Iterator[str]:
    """Yield the time of the run and how much was measured, and the bar of its parts."""
    text = terminal.clean(run_sentence(profile, parts))
    if isinstance(terminal, markdown.Document):
        yield markdown.title(text)
        yield markdown.fenced(bar_lines(parts, PLAIN, width))
        return
    yield from map(terminal.emphasized, wrap(text, width))
    yield from bar_lines(parts, terminal, width)


def run_sentence(profile: Profile, parts: RunParts) -> str:
    """Return which program ran, for how long, and how much of it was measured."""
    runs = profile.processes
    firsts = [one for one in runs if not one.parent_pid] or runs
    programs = [*dict.fromkeys(map(_program, firsts))]
    name = programs[0] if len(programs) == 1 else f"{len(programs)} programs"
    lines = sum(len(function.line_ns) for function in profile.functions)
    text = f"{name} ran {in_words(clock_ns(profile))}"
    functions = counted(len(profile.functions), "function")
    text += f": {counted(lines, 'line')} of {functions}"
    summed = summed_threads(profile, parts)
    if summed:
        text += f" (100 % is {in_words(parts.run_ns)}, the time of {summed})"
    return text


def summed_threads(profile: Profile, parts: RunParts) -> str:
    """Return the threads whose sum is 100 %; "" if that is the time on the clock."""
    runs = len(profile.processes)
    if not runs or parts.run_ns <= _SAME * clock_ns(profile):
        return ""
    return "all threads" if runs == 1 else f"all threads of {runs} processes"


def _program(run: Process) -> str:
    """Return the name of a program: its script, or its package after `-m`."""
    path = run.argv[0] if run.argv else ""
    folder, name = os.path.split(path)
    if name == "-c":
        name = "python -c"
    if name == "__main__.py":
        name = os.path.basename(folder)
    return name or "The program"


def _lines(
    profile: Profile, sources: Sources, options: Options, width: int, run: Whole
) -> Iterator[str]:
    """Yield the hottest lines with their source; behind it, hits and waits."""
    rows, _, totals = hottest_lines(profile, options._replace(lines=_ROWS))
    rows = [row for row in rows if row.ns >= _MIN_SHARE * run.ns]
    titles = {
        "self_ns": "Own",
        "self_share": run.title,
        "gpu_self_ns": "GPU",
        "gpu_share": "% GPU",
        "place": "Line",
        "source": SOURCE_TITLE,
    }
    every = columns_of_hot_lines(profile)
    if width >= _MIN_WAIT_WIDTH:
        titles |= {name: every[name].title for name in _MEMORY if name in every}
    totals = {**totals, "self_ns": run.ns}
    names = short_names(function.key for function in profile.functions)
    terminal = options.terminal
    heading = terminal.emphasized("Hottest lines, by their own time")

    def wait(row: HotLine) -> str:
        return f"{wait_of(row, run.ns)}{row.mark}".strip()

    if isinstance(terminal, markdown.Document):
        yield heading
        columns = {**every, "wait": Column(DATA, value=wait, optional=True)}
        titles |= {"hits": "Hits", "wait": _WAITED_FOR}
        context = Context(terminal=terminal, names=names, sources=sources)
        yield from table(columns, rows, context, titles=titles, totals=totals)
        return
    waits = [*map(wait, rows)]
    tail = [f"{hits:>7}" for hits in ("Hits", *(row.hits for row in rows))]
    if any(waits):
        has_room = width >= _MIN_WAIT_WIDTH
        both = zip(tail, (_WAITED_FOR, *waits))
        tail = [f"{hits}  {wait}" if has_room else wait for hits, wait in both]
    if width < _MIN_TAIL_WIDTH:
        tail = [""] * len(tail)
    body = terminal._replace(width=width - max(map(len, tail)) - 2, colour=False)
    context = Context(terminal=body, names=names, sources=sources)
    lines = [*table(every, rows, context, titles=titles, totals=totals)]
    wide = max(map(len, lines))
    lines = [f"{line.ljust(wide)}  {end}".rstrip() for line, end in zip(lines, tail)]
    yield heading
    yield terminal.emphasized(lines[0])
    start = lines[0].partition("Line")[0]
    for line, row in zip(lines[1:], rows):
        share = percent_of(row.self_ns, run.ns)
        if totals["gpu_self_ns"]:
            share = max(share, percent_of(row.gpu_self_ns or 0, totals["gpu_self_ns"]))
        numbers = line[: len(start)]
        yield terminal.heated(numbers, share, line[len(numbers) :])


def wait_of(row: HotLine, run_ns: int) -> str:
    """Return the cause and the time of a line's own wait, "" if it is short."""
    wait = row.wait
    if wait is None or not wait.cause:
        return ""
    least_ns = _MIN_WAIT_SHARE * row.self_ns
    if wait.cause == RUNNABLE:
        least_ns = max(_MIN_READY_SHARE * row.self_ns, _MIN_READY_OF_RUN * run_ns)
    if wait.max_ns < least_ns:
        return ""
    most = "" if wait.is_known else "up to "
    return f"{WAITS_FOR[wait.cause]} {most}{in_words(wait.max_ns)}"


def _functions(profile: Profile, options: Options, run: Whole) -> Iterator[str]:
    """Yield the functions with the most time of their own."""
    totals = function_totals(profile)
    shown = nlargest(_FUNCTION_ROWS, totals.items(), key=lambda item: item[1].self_ns)
    shown = [one for one in shown if one[1].self_ns >= _MIN_SHARE * run.ns]
    times = time_unit_for(numbers.total_ns for _, numbers in shown)
    names, marks = short_names(totals), Marks(profile)
    own, cumulative = times.titles("Own", "Total")
    titles = [own, run.title, cumulative, "Calls", "Function"]
    cells = [
        [
            times.text(numbers.self_ns),
            percent(numbers.self_ns, run.ns),
            times.text(numbers.total_ns),
            f"{numbers.calls}",
            names.called(key) + marks.after(key),
        ]
        for key, numbers in shown
    ]
    heat = [percent_of(numbers.self_ns, run.ns) for _, numbers in shown]
    yield options.terminal.emphasized("Functions with the most time of their own")
    yield from grid(titles, cells, options.terminal, heat=heat)


def _calls(
    profile: Profile, sources: Sources, options: Options, run: Whole
) -> Iterator[str]:
    """Yield the calls from where they branch, libraries folded."""
    if not profile.calls.nodes:
        return
    root, start, levels = folded_calls(profile)
    where = f", from where they branch, {levels} levels down" if levels else ""
    title = f"Calls{where}"
    yield options.terminal.emphasized(f"{title} (:12 is a call from line 12)")
    yield from note_lines(profile, options)
    yield from branches(profile, sources, options, (root, start), run)


def _advice(profile: Profile, sources: Sources, terminal: Terminal) -> Iterator[str]:
    """Yield the first finding about the program, and the first about its memory."""
    for number, found in enumerate(first_findings(profile, sources)):
        if not number:
            yield terminal.emphasized("First advice")
        yield from brief(found, profile, terminal)


def _tables(profile: Profile, sources: Sources, options: Options) -> Iterator[str]:
    """Yield the tables of all functions, which are short, for a document."""
    tables = render_tables(profile, sources, options)
    yield from markdown.details("Tables of the functions", tables)


def _more(profile: Profile, options: Options, *, has_tables: bool) -> Iterator[str]:
    """Yield the flags that show more."""
    start = start_of_drill(profile)
    word = shell_word(start)
    flags = {
        word: "its table; also for file.py, file.py:12, 'Class.*'",
        f"--drill {word}": "the same, with the calls of each line",
        "--hot 50": "more lines",
        "--functions": "all functions, as cProfile lists them",
        "--tree": "all calls",
        "--advice": "all advice",
        "--memory": "the memory at the peak and at the end, by line",
        "--html": "all of it as a page for a browser",
        "--all-functions": f"all {len(profile.functions):,} tables",
    }
    if not profile.calls.nodes:
        del flags["--tree"]
    if not profile.memory.sums:
        del flags["--memory"]
    if has_tables:
        del flags["--all-functions"]
    width = max(map(len, flags))
    command = f"{python_command()} -m lineprof view {options.file}"
    head = f"To see more, add one of these to: {command}"
    lines = [f"  {flag.ljust(width)}  {text}" for flag, text in flags.items()]
    if isinstance(options.terminal, markdown.Document):
        yield from markdown.details("More", [markdown.fenced([head, *lines])])
        return
    yield head
    for line in lines:
        yield options.terminal.clipped(line, 0)
