"""Layout of the screen: lines of text from the state of the view and two samples.

No terminal is needed: `lineprof.live.screen` draws the lines, and batch mode prints
them. Texts of the program go through `Terminal.clean`, so that none acts on a terminal.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from lineprof.console.terminal import PLAIN
from lineprof.live.rates import COLUMNS, Row, Scope, ordered, rows_of
from lineprof.model.names import MODULE
from lineprof.model.units import NANOSECOND, format_seconds
from lineprof.report.text_grid import counted, grid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lineprof.console.terminal import Terminal
    from lineprof.live.devices import Device
    from lineprof.live.reading import Numbers, OpenLine, Place, Sample

INTERVALS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)  # s, of + and -

KEYS = (
    ("q", "quit"),
    ("s, Right, Left", "sort by the next column, or by the one before"),
    ("f, l", "functions, or lines"),
    ("o", "own time, or time with profiled callees"),
    ("t", "times and hits since the program began, or of the last interval"),
    ("p", "pause, or go on"),
    ("+, -", "refresh less often, or more often"),
    ("/", "show rows with a text; Enter ends it, Escape removes it"),
    ("Up, Down, PgUp, PgDn, Home, End", "scroll"),
    ("h, ?", "this help"),
)

_KEYS_IN_SHORT = "q quit  s sort  f/l functions/lines  o own  t total  / filter  h help"

_INNERMOST, _CALLER = ">", "|"  # marks of open lines

# Titles of the columns by the names in `COLUMNS`, and the width that each has at least:
# so the columns stay where they are as numbers grow.
TITLES = {
    "now": ("%NOW", 6),
    "all": ("%ALL", 6),
    "time": ("TIME", 8),
    "rate": ("HITS/S", 7),
    "hits": ("HITS", 9),
    "each": ("PER HIT", 8),
    "wait": ("WAIT", 8),
    "gpu": ("GPU", 8),
    "kernels": ("KERNELS", 8),
}

# Columns that are shown if a line has a value in them.
_OPTIONAL: dict[str, Callable[[Numbers], int]] = {
    "wait": lambda numbers: numbers.wait_ns,
    "gpu": lambda numbers: numbers.gpu_ns,
    "kernels": lambda numbers: numbers.kernels,
}

# Columns that a narrow terminal leaves out, the first ones first.
_SPARE = ("kernels", "wait", "each", "all", "rate", "hits")

_GB = 1e9

_MINUTE, _HOUR = 60, 3600  # s

_THOUSAND, _MILLION = 1e3, 1e6

_LONG_RATE = 100_000  # hits per second that are shown in thousands

_MAX_OPEN = 3  # threads whose open lines are named

_MIN_HEIGHT_FOR_KEYS = 12


@dataclass(frozen=True)
class State:
    """What the user chose."""

    interval: float = 1.0  # s
    sort: str = COLUMNS[0]
    scope: Scope = field(default_factory=Scope)
    text: str = ""  # rows without this text are left out
    is_typing: bool = False  # the keys are for `text`
    is_paused: bool = False
    has_help: bool = False
    top: int = 0  # rows that are scrolled away
    limit: int | None = None  # rows at most


class View(NamedTuple):
    """What there is to show."""

    command: str
    pid: int
    cwd: str
    sample: Sample
    before: Sample | None  # an interval earlier
    line: Callable[[Place], str]  # the source text of a place
    devices: Sequence[Device] = ()


class Text(NamedTuple):
    """One line of the screen."""

    text: str
    style: str = ""  # title, head, hot or keys


def screen(
    view: View, state: State, height: int | None = None, terminal: Terminal = PLAIN
) -> list[Text]:
    """Return the lines of the screen, no more than `height`, if it has one."""
    lines = [Text(_title(view, state), "title"), *map(Text, _head(view, state))]
    if state.has_help:
        lines += map(Text, _help())
    elif height is None:
        lines += _table(view, state, None, terminal)
    else:
        has_keys = height >= _MIN_HEIGHT_FOR_KEYS
        room = max(0, height - len(lines) - 1 - has_keys)
        lines += _table(view, state, room, terminal)
        if has_keys:
            lines += [Text("")] * (height - 1 - len(lines))
            lines.append(Text(_KEYS_IN_SHORT, "keys"))
    return [
        line._replace(text=terminal.clipped(line.text, 0)) for line in lines[:height]
    ]


# Above the table.


def _title(view: View, state: State) -> str:
    sample = view.sample
    if sample.ended is None:
        how = "running" if sample.is_seen else "of another machine or container"
        how = f"{how} {_duration(sample.ran_ns)}"
    else:
        how = "ended" + (f": {sample.ended}" if sample.ended else "")
        how += f"; final counts after {_duration(sample.ran_ns)}"
    words = [f"lineprof top: {view.command or '(has not begun)'}", f"pid {view.pid}"]
    words.append(how)
    if sample.ended is None:
        words += [counted(sample.threads, "thread"), f"every {state.interval:g} s"]
    if state.is_paused:
        words.append("paused")
    return "  ".join(words)


def _head(view: View, state: State) -> Iterator[str]:
    scope, sample = state.scope, view.sample
    what = "functions" if scope.by_function else "lines"
    time = "time with callees" if scope.is_inclusive else "own time"
    since = "since the program began" if scope.is_total else "in the last interval"
    sort = TITLES.get(state.sort, ("FILE:LINE", 0))[0]
    words = [f"{time} of {what} {since}", f"by {sort}"]
    if state.text or state.is_typing:
        words.append(f"with: {state.text}" + ("_" if state.is_typing else ""))
    yield ", ".join(words)
    if not sample.is_complete:
        yield "the live file has no more room: later functions may be missing"
    for device in view.devices:
        yield _device(device)
    if sample.open_lines:
        yield "now: " + _open_lines(view)
    yield ""


def _device(device: Device) -> str:
    busy = "?" if device.busy is None else f"{device.busy}"
    used, total = device.used_bytes / _GB, device.total_bytes / _GB
    return (
        f"GPU {device.number} {device.name}  {busy} % busy"
        f"  {used:.1f} of {total:.1f} GB used"
    )


def _open_lines(view: View) -> str:
    found = view.sample.open_lines
    words = [_open_line(view, one) for one in found[:_MAX_OPEN]]
    if len(found) > _MAX_OPEN:
        words.append(f"and {counted(len(found) - _MAX_OPEN, 'thread')} more")
    return ", ".join(words)


def _open_line(view: View, one: OpenLine) -> str:
    return f"{one.thread} on {_where(view, one.place)} for {_duration(one.open_ns)}"


def _duration(ns: float) -> str:
    """Return a time of a second or more: ``12.3 s``, ``4:05``, ``1:02:03``."""
    seconds = ns * NANOSECOND
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    hours, rest = divmod(int(seconds), _HOUR)
    minutes, rest = divmod(rest, _MINUTE)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _help() -> Iterator[str]:
    width = max(len(keys) for keys, _ in KEYS)
    for keys, text in KEYS:
        yield f"{keys:<{width}}  {text}"
    yield ""
    yield f"{_INNERMOST} a thread is on this line    {_CALLER} it called from this line"
    yield "%NOW is the share of the last interval, %ALL that of the run"


# The table.


def shown_rows(view: View, state: State) -> list[Row]:
    """Return the rows in their order, without those that the filter leaves out."""
    rows = ordered(rows_of(view.sample, view.before, state.scope), state.sort)
    if state.text:
        wanted = state.text.casefold()
        rows = [
            row
            for row in rows
            if wanted
            in f"{_where(view, row.place)} {_words(view, row, state)}".casefold()
        ]
    return rows


def _words(view: View, row: Row, state: State) -> str:
    """Return the name of a row's function, or the source of its line."""
    if state.scope.by_function:
        name = row.place[0][2]
        return "module" if name == MODULE else name
    return view.line(row.place).strip()


def _table(
    view: View, state: State, room: int | None, terminal: Terminal
) -> Iterator[Text]:
    rows = shown_rows(view, state)
    top = min(state.top, max(0, len(rows) - 1))
    rows = rows[top : None if room is None else top + room][: state.limit]
    if not rows:
        yield Text("no row has this text" if state.text else "no line has run yet")
        return
    names = _names(view.sample)
    last = "FUNCTION" if state.scope.by_function else "SOURCE"
    titles = ["", *("{:>{}}".format(*TITLES[name]) for name in names)]
    titles += ["FILE:LINE", last]
    cells = [_cells(view, row, state, names) for row in rows]
    spare = [1 + names.index(name) for name in _SPARE if name in names]
    plain = terminal._replace(colour=False)
    lines = grid(titles, cells, plain, words=2, spare=spare)
    for number, line in enumerate(lines):
        is_hot = number and (rows[number - 1].share or 0) >= _HOT
        yield Text(line, "hot" if is_hot else "" if number else "head")


_HOT = 0.2  # of the last interval


def _names(sample: Sample) -> list[str]:
    """Return the names of the columns that have something to show."""
    lines = sample.lines.values()
    return [
        name
        for name in TITLES
        if name not in _OPTIONAL or any(map(_OPTIONAL[name], lines))
    ]


def _cells(view: View, row: Row, state: State, names: Sequence[str]) -> list[str]:
    share, total = (
        "" if share is None else f"{100 * share:.1f}"
        for share in (row.share, row.total_share)
    )
    texts = {
        "now": share,
        "all": total,
        "time": _time(row.time_ns),
        "rate": "" if row.rate is None else _rate(row.rate),
        "hits": f"{row.hits:,}",
        "each": _time(row.per_hit_ns) if row.hits else "",
        "wait": _time(row.wait_ns) if row.wait_ns else "",
        "gpu": _time(row.gpu_ns) if row.gpu_ns else "",
        "kernels": f"{row.kernels:,}" if row.kernels else "",
    }
    return [
        _mark(view.sample, row.place),
        *(f"{texts[name]:>{TITLES[name][1]}}" for name in names),
        _where(view, row.place),
        _words(view, row, state),
    ]


def _mark(sample: Sample, place: Place) -> str:
    if any(one.place == place for one in sample.open_lines):
        return _INNERMOST
    return _CALLER if place in sample.callers else ""


def _time(ns: float) -> str:
    return format_seconds(ns * NANOSECOND).rstrip()


def _rate(rate: float) -> str:
    """Return a number in seven characters at most."""
    if rate < _THOUSAND:
        return f"{rate:.1f}" if rate else "0"
    if rate < _LONG_RATE:
        return f"{rate:,.0f}"
    if rate < _MILLION:
        return f"{rate / _THOUSAND:.1f}k"
    return f"{rate / _MILLION:.1f}M"


def _where(view: View, place: Place) -> str:
    """Return the file, shortened, and the line."""
    (file, _, _), line = place
    if view.cwd and file.startswith(os.path.join(view.cwd, "")):
        return f"{os.path.relpath(file, view.cwd)}:{line}"
    return f"{os.sep.join(file.split(os.sep)[-2:])}:{line}"


# Keys.


def pressed(state: State, key: str, rows: int, page: int) -> State | None:
    """Return the state after a key; None to quit.

    A key is a character, or the name of one: `left`, `page_down`, `enter`. There are so
    many `rows`, and so many fit a `page`.
    """
    if state.is_typing:
        return _typed(state, key)
    if state.has_help:
        return None if key == "q" else replace(state, has_help=False)
    if key == "q":
        return None
    change = _CHANGES.get(key)
    if change is not None:
        return change(state)
    moves = {
        "up": -1,
        "down": 1,
        "page_up": -page,
        "page_down": page,
        "home": -rows,
        "end": rows,
    }
    top = state.top + moves.get(key, 0)
    return replace(state, top=max(0, min(top, rows - page)))


def _typed(state: State, key: str) -> State:
    """Return the state after a key for the text of the filter."""
    if key == "enter":
        return replace(state, is_typing=False)
    if key == "escape":
        return replace(state, is_typing=False, text="")
    if key == "backspace":
        return replace(state, text=state.text[:-1])
    if len(key) == 1 and key.isprintable():
        return replace(state, text=state.text + key, top=0)
    return state


def _sorted_by(state: State, step: int) -> State:
    at = COLUMNS.index(state.sort) + step
    return replace(state, sort=COLUMNS[at % len(COLUMNS)], top=0)


def _scoped(state: State, **changes: bool) -> State:
    return replace(state, scope=state.scope._replace(**changes), top=0)


def _refreshed(state: State, step: int) -> State:
    """Return the state with the next longer or shorter interval of `INTERVALS`."""
    if step > 0:
        longer = [one for one in INTERVALS if one > state.interval]
        return replace(state, interval=longer[0] if longer else state.interval)
    shorter = [one for one in INTERVALS if one < state.interval]
    return replace(state, interval=shorter[-1] if shorter else state.interval)


_CHANGES: dict[str, Callable[[State], State]] = {
    "s": lambda state: _sorted_by(state, 1),
    "right": lambda state: _sorted_by(state, 1),
    "left": lambda state: _sorted_by(state, -1),
    "f": lambda state: _scoped(state, by_function=True),
    "l": lambda state: _scoped(state, by_function=False),
    "o": lambda state: _scoped(state, is_inclusive=not state.scope.is_inclusive),
    "t": lambda state: _scoped(state, is_total=not state.scope.is_total),
    "p": lambda state: replace(state, is_paused=not state.is_paused),
    "+": lambda state: _refreshed(state, 1),
    "-": lambda state: _refreshed(state, -1),
    "/": lambda state: replace(state, is_typing=True),
    "h": lambda state: replace(state, has_help=True),
    "?": lambda state: replace(state, has_help=True),
}
