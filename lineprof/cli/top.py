"""`lineprof top`: the hottest lines of a program that runs."""

from __future__ import annotations

import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING

from lineprof.cli.command import ArgumentType, Command
from lineprof.console.output import print_lines
from lineprof.console.terminal import terminal_of
from lineprof.flags import number, whole
from lineprof.live.layout import State, screen
from lineprof.live.monitor import Monitor
from lineprof.live.rates import Scope
from lineprof.live.reading import find_live_file
from lineprof.live.screen import show

if TYPE_CHECKING:
    import argparse


_SORTS = (
    "now",
    "all",
    "time",
    "rate",
    "hits",
    "each",
    "wait",
    "gpu",
    "kernels",
    "line",
)

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
    parser.add_argument(
        "files",
        nargs=1,
        metavar="PID|FILE.live",
        help="the id of a process that runs under kernprof -l, or its live file",
    )
    parser.add_argument(
        "-d",
        "--delay",
        type=ArgumentType(_interval),
        default=1.0,
        metavar="SECONDS",
        help="refresh after so many seconds (default: 1)",
    )
    parser.add_argument(
        "-n",
        "--count",
        type=ArgumentType(_count),
        metavar="COUNT",
        help="print so many screens as --batch does (default: until the program ends)",
    )
    parser.add_argument(
        "--sort",
        choices=_SORTS,
        default=_SORTS[0],
        help="sort by this column: the share of the last interval (now) or of the run"
        " (all), time, hits per second (rate), hits, time per hit (each), wait, GPU"
        " time (gpu), kernels, or file and line (line); default: now",
    )
    parser.add_argument(
        "--functions", action="store_true", help="show functions in place of lines"
    )
    parser.add_argument(
        "--with-callees",
        action="store_true",
        help="show times with those of profiled functions that a line called (default:"
        " own times)",
    )
    parser.add_argument(
        "--lines",
        type=ArgumentType(_count),
        metavar="N",
        help=f"show N rows (default: as many as fit; in batch mode {_LINES})",
    )
    parser.add_argument(
        "--batch",
        action="store_true",
        help="print plain text, one screen after the other (default: if standard input"
        " or output is no terminal)",
    )


def _top(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> None:
    """Show the program; LineprofError if there is no such program."""
    if len(parsed.files) > 1:
        parser.error("top takes one PID, or one live file")
    is_batch = parsed.batch or parsed.count or not _has_terminal()
    scope = Scope(by_function=parsed.functions, is_inclusive=parsed.with_callees)
    limit = parsed.lines or (_LINES if is_batch else None)
    state = State(interval=parsed.delay, sort=parsed.sort, scope=scope, limit=limit)
    with closing(Monitor(_live_file(parsed.files[0]))) as monitor:
        if is_batch:
            _print_screens(monitor, state, parsed.count)
            return

        show(monitor, state)


def _has_terminal() -> bool:
    ends = (sys.stdin, sys.stdout)  # one gives the keys
    return all(one is not None and terminal_of(one).is_terminal for one in ends)


def _live_file(word: str) -> str:
    """Return the live file that an argument means."""
    is_pid = word.isascii() and word.isdigit() and len(word) < len(str(1 << 63))
    return find_live_file(int(word)) if is_pid else word


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
