"""`lineprof top`: the hottest lines of a program that runs."""

from __future__ import annotations

import sys
import time
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

from lineprof.cli.command import Command, add_argument
from lineprof.console.output import print_lines
from lineprof.console.terminal import has_user, terminal_of
from lineprof.errors import LineprofError
from lineprof.files import SOURCE
from lineprof.flags import number, whole
from lineprof.live.layout import State, screen
from lineprof.live.monitor import Monitor
from lineprof.live.rates import COLUMNS, Scope
from lineprof.live.reading import find_live_file
from lineprof.live.screen import show

if TYPE_CHECKING:
    import argparse

_MIN_INTERVAL, _MAX_INTERVAL = 0.1, 3600.0  # s

_LINES = 20  # in batch mode

_LOOK = 0.2  # s, after which the end of the program is looked for again


_interval = number(
    "interval",
    f"give {_MIN_INTERVAL:g} to {_MAX_INTERVAL:g} seconds",
    _MIN_INTERVAL,
    _MAX_INTERVAL,
)

_count = whole("number", "give 1 or more", least=1)


def _add_flags(parser: argparse.ArgumentParser) -> None:
    add = partial(add_argument, parser)
    add(
        "PID|FILE.live",
        "the id of a process that runs under kernprof -l, or its live file",
        nargs=1,
    )
    add(
        "-d, --delay SECONDS",
        "refresh after this time (default: 1)",
        _interval,
        default=1.0,
    )
    add(
        "-n, --count COUNT",
        "print this many screens, as --batch does (default: until the program ends)",
        _count,
    )
    add(
        "--sort",
        "sort by this column: the share of the last interval (now) or of the run"
        " (all), time, hits per second (rate), hits, time per hit (each), wait, GPU"
        " time (gpu), kernels, or file and line (line); default: now",
        choices=COLUMNS,
        default=COLUMNS[0],
    )
    add("--functions", "show functions in place of lines")
    add(
        "--with-callees",
        "show times that include the profiled functions that a line called (default:"
        " own times)",
    )
    add(
        "--lines N",
        f"show N rows (default: as many as fit; in batch mode {_LINES})",
        _count,
    )
    add(
        "--batch",
        "print plain text, one screen after the other (default: if standard input"
        " or output is not a terminal)",
    )


def _top(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> None:
    """Show the program; LineprofError if there is no such program."""
    if len(parsed.files) > 1:
        parser.error("top takes one PID, or one live file")
    is_batch = parsed.batch or parsed.count or not has_user()
    scope = Scope(by_function=parsed.functions, is_inclusive=parsed.with_callees)
    limit = parsed.lines or (_LINES if is_batch else None)
    state = State(interval=parsed.delay, sort=parsed.sort, scope=scope, limit=limit)
    with closing(Monitor(_live_file(parsed.files[0]))) as monitor:
        if is_batch:
            _print_screens(monitor, state, parsed.count)
            return

        show(monitor, state)


def _live_file(word: str) -> str:
    """Return the live file that an argument means."""
    is_pid = word.isascii() and word.isdigit() and len(word) < len(str(1 << 63))
    if is_pid:
        return find_live_file(int(word))
    if word.endswith((*SOURCE, ".lprof")):
        raise LineprofError(
            f"{word} is no process",
            hint="give the PID of a program that runs under kernprof -l; lineprof view"
            " --hot shows the hottest lines of a profile",
        )
    return word


def _print_screens(monitor: Monitor, state: State, count: int | None) -> None:
    """Print `count` screens, or all until the program ends."""
    printed = 0
    terminal = terminal_of(sys.stdout)
    while True:
        view = monitor.refresh()
        lines = [line.text for line in screen(view, state, terminal=terminal)]
        print_lines([*([""] if printed else []), *lines])
        printed += 1
        if printed == count or view.sample.ended is not None:
            return
        due = monitor.due(state.interval)
        while (left := due - time.monotonic()) > 0 and not monitor.has_ended:
            time.sleep(min(_LOOK, left))


COMMAND = Command(add_flags=_add_flags, run=_top)
