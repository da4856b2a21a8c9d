"""The screen on a terminal, with keys: the thin part that needs curses."""

from __future__ import annotations

import locale
import os
import signal
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from lineprof.console.terminal import Terminal, terminal_of
from lineprof.errors import LineprofError
from lineprof.live.layout import pressed, screen, shown_rows

if TYPE_CHECKING:
    import curses

    from lineprof.live.layout import State, View
    from lineprof.live.monitor import Monitor

_NO_CURSES = "use --batch, which prints plain text"

_HEAD = 6  # lines around the rows of a page

_ESCAPE_DELAY_MS = 50  # an Escape alone is none of a longer key after so long


def show(monitor: Monitor, state: State) -> None:
    """Show a program until the user quits; LineprofError if this terminal cannot."""
    try:
        import curses  # noqa: PLC0415  # some builds of Python have none
    except ImportError as error:
        raise LineprofError("this Python has no curses", hint=_NO_CURSES) from error
    locale.setlocale(locale.LC_CTYPE, "")
    try:
        curses.setupterm(fd=sys.stdout.fileno())
    except curses.error as error:
        name = os.environ.get("TERM", "")
        raise LineprofError(
            f"curses does not know the terminal TERM={name}", hint=_NO_CURSES
        ) from error
    before = signal.signal(signal.SIGTERM, _end)
    try:
        curses.wrapper(lambda window: _Screen(window, monitor, state, curses).run())
    finally:
        signal.signal(signal.SIGTERM, before)


def _end(number: int, _frame: object) -> NoReturn:
    """End the program after the terminal shows again what it showed before."""
    sys.exit(128 + number)


class _Screen:
    """The screen while it is shown."""

    def __init__(
        self,
        window: curses.window,
        monitor: Monitor,
        state: State,
        module: Any,  # noqa: ANN401  # curses
    ) -> None:
        self._curses = module
        self._window = window
        self._monitor = monitor
        self._state = state
        self._boxes = terminal_of(sys.stdout).boxes
        self._styles = {
            "title": module.A_BOLD,
            "head": module.A_REVERSE,
            "hot": module.A_BOLD,
            "keys": module.A_DIM,
        }
        self._names = {
            module.KEY_LEFT: "left",
            module.KEY_RIGHT: "right",
            module.KEY_UP: "up",
            module.KEY_DOWN: "down",
            module.KEY_PPAGE: "page_up",
            module.KEY_NPAGE: "page_down",
            module.KEY_HOME: "home",
            module.KEY_END: "end",
            module.KEY_ENTER: "enter",
            module.KEY_BACKSPACE: "backspace",
            "\n": "enter",
            "\r": "enter",
            "\x1b": "escape",
            "\x7f": "backspace",
            "\b": "backspace",
        }
        module.set_escdelay(_ESCAPE_DELAY_MS)
        with suppress(module.error):  # some terminals always show it
            module.curs_set(0)
        with suppress(module.error):
            module.use_default_colors()  # the user's, not white on black

    def run(self) -> None:
        """Show the screen until the user quits."""
        view = self._monitor.refresh()
        due = self._monitor.due(self._state.interval)
        while True:
            self._draw(view)
            is_fixed = self._state.is_paused or view.sample.ended is not None
            wait = -1.0 if is_fixed else max(0.0, due - time.monotonic())
            key = self._key(wait)
            if key:
                rows, page = len(shown_rows(view, self._state)), self._page()
                state = pressed(self._state, key, rows, page)
                if state is None:
                    return
                if state.interval != self._state.interval:
                    due = self._monitor.due(state.interval)
                self._state = state
            elif not is_fixed and time.monotonic() >= due:
                view = self._monitor.refresh()
                due = self._monitor.due(self._state.interval)

    def _page(self) -> int:
        """Return how many rows fit."""
        return max(1, self._window.getmaxyx()[0] - _HEAD)

    def _draw(self, view: View) -> None:
        height, width = self._window.getmaxyx()
        terminal = Terminal(is_terminal=True, width=width, boxes=self._boxes)
        self._window.erase()
        for number, line in enumerate(screen(view, self._state, height, terminal)):
            style = self._styles.get(line.style, 0)
            text = line.text.ljust(width) if line.style == "head" else line.text
            # The last column of the last line cannot be written.
            with suppress(self._curses.error):
                self._window.addnstr(number, 0, self._encodable(text), width, style)
        self._window.refresh()

    def _encodable(self, text: str) -> str:
        """Return a text with escapes for what the terminal's encoding lacks."""
        if text.isascii():
            return text
        encoding = self._window.encoding
        return text.encode(encoding, "backslashreplace").decode(encoding)

    def _key(self, wait: float) -> str:
        """Return the next key, "" if none comes in so many seconds (-1: for ever)."""
        self._window.timeout(-1 if wait < 0 else int(wait * 1000) + 1)
        try:
            key = self._window.get_wch()
        except self._curses.error:
            return ""
        if isinstance(key, int):
            return self._names.get(key, "")
        return self._names.get(key, key)
