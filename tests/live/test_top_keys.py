"""The screen of `lineprof top` on a terminal: keys, sizes, and how it ends."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest
from deadline import DEADLINE
from live_program import live_program

from lineprof.live.layout import State, pressed
from lineprof.live.rates import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytest.importorskip("curses")

PROGRAM = """\
import pathlib, sys
def work():
    for i in range(10):
        pass
def main():
    work()
    pathlib.Path("ready").touch()
    sys.stdin.read()
main()
"""

RESTORED = b"\x1b[?1049l"  # the terminal shows again what it showed before


class Screen:
    """A terminal with `lineprof top` in it."""

    def __init__(self, shown: subprocess.Popen[bytes], terminal: int) -> None:
        self.shown = shown
        self.terminal = terminal
        self.output = b""

    def type(self, keys: str) -> None:
        os.write(self.terminal, keys.encode())

    def resize(self, rows: int, columns: int) -> None:
        size = struct.pack("HHHH", rows, columns, 0, 0)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, size)
        self.shown.send_signal(signal.SIGWINCH)

    def wait_for(self, text: str) -> None:
        """Wait until a text appears after all that was waited for before."""
        end = time.monotonic() + DEADLINE
        wanted = text.encode()
        while wanted not in self.output:
            assert time.monotonic() < end, (text, self.output[:3000])
            assert self.read(), (text, self.output)
        self.output = self.output[self.output.index(wanted) + len(wanted) :]

    def read(self) -> bool:
        """Read for some time; return False at the end."""
        if select.select([self.terminal], [], [], 0.1)[0]:
            try:
                data = os.read(self.terminal, 1 << 16)
            except OSError:
                return False
            self.output += data
            return bool(data)
        return self.shown.poll() is None

    def end(self) -> int:
        """Return the exit status, after all output was read."""
        while self.read():
            pass
        return self.shown.wait(DEADLINE)


@contextmanager
def on_terminal(folder: Path, *words: str, **env: str) -> Iterator[Screen]:
    """Run `lineprof top` on a terminal of 30 rows and 100 columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    environment = {**os.environ, "TERM": "xterm", **env}
    environment.pop("COLUMNS", None)
    environment.pop("LINES", None)
    shown = subprocess.Popen(
        [sys.executable, "-m", "lineprof", "top", *words],
        cwd=folder,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield Screen(shown, ours)
    finally:
        with suppress(ProcessLookupError):
            shown.kill()
        shown.wait()
        os.close(ours)


def test_keys_change_the_screen_and_q_ends_it(tmp_path: Path) -> None:
    with (
        live_program(tmp_path, PROGRAM) as process,
        on_terminal(tmp_path, str(process.pid), "-d", "0.2") as screen,
    ):
        screen.wait_for("own time of lines since the program began, by %NOW")
        screen.wait_for("sys.stdin.read()")
        screen.type("f")
        screen.wait_for("FUNCTION")
        screen.type("l")
        screen.wait_for("SOURCE")
        screen.type("?")
        screen.wait_for("this help")
        screen.type("x")
        screen.wait_for("FILE:LINE")
        screen.type("p")
        screen.wait_for("paused")
        screen.type("\x1bOC")  # an arrow
        screen.wait_for("ALL")
        screen.type("/pass\r")
        screen.wait_for("with: ")
        screen.resize(20, 50)
        screen.wait_for("pass")
        screen.type("q")
        assert screen.end() == 0
        assert RESTORED in screen.output


def test_the_end_of_the_program_is_shown_until_q(tmp_path: Path) -> None:
    with (
        live_program(tmp_path, PROGRAM) as process,
        on_terminal(tmp_path, str(process.pid), "-d", "0.2") as screen,
    ):
        screen.wait_for("running")
        process.communicate(b"")
        screen.wait_for("ended; final counts after")
        assert screen.shown.poll() is None
        screen.type("q")
        assert screen.end() == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_restores_the_terminal(number: int, tmp_path: Path) -> None:
    with (
        live_program(tmp_path, PROGRAM) as process,
        on_terminal(tmp_path, str(process.pid)) as screen,
    ):
        screen.wait_for("running")
        screen.shown.send_signal(number)
        assert screen.end() == 128 + number
        assert RESTORED in screen.output
        assert b"Traceback" not in screen.output


@pytest.mark.parametrize("name", ["no-such-terminal", ""])
def test_a_terminal_that_curses_does_not_know_is_an_error(
    tmp_path: Path, name: str
) -> None:
    with (
        live_program(tmp_path, PROGRAM) as process,
        on_terminal(tmp_path, str(process.pid), TERM=name) as screen,
    ):
        assert screen.end() == 1
        message = f"curses does not know the terminal TERM={name}; use --batch"
        assert message.encode() in screen.output
        assert screen.output.count(b"\n") == 1


def test_hostile_source_does_not_reach_the_terminal(tmp_path: Path) -> None:
    text = PROGRAM.replace("pass", "x = '\x1b]0;名前\u202e'")
    with (
        live_program(tmp_path, text) as process,
        on_terminal(tmp_path, str(process.pid), LC_ALL="C.UTF-8") as screen,
    ):
        screen.wait_for("x = '\\x1b]0;名前\\u202e'")
        screen.type("q")
        assert screen.end() == 0


# Keys without a terminal.


def after(state: State, *keys: str, rows: int = 100, page: int = 20) -> State:
    for key in keys:
        changed = pressed(state, key, rows, page)
        assert changed is not None
        state = changed
    return state


def test_s_and_arrows_go_through_all_columns() -> None:
    assert [after(State(), *"s" * n).sort for n in range(len(COLUMNS))] == [*COLUMNS]
    assert after(State(), *"s" * len(COLUMNS)) == State()
    assert after(State(), "left").sort == COLUMNS[-1]
    assert after(State(), "right", "left") == State()


def test_the_interval_has_steps_and_bounds() -> None:
    assert [after(State(), *"-" * n).interval for n in range(5)] == [
        *(1.0, 0.5, 0.2, 0.1, 0.1),
    ]
    assert after(State(interval=0.7), "+").interval == 1.0
    assert after(State(), *"+" * 20).interval == 60.0


def test_scrolling_stays_within_the_rows() -> None:
    assert after(State(), "down", "down", "up").top == 1
    assert after(State(), "page_down", "page_down").top == 40
    assert after(State(), "end").top == 80
    assert after(State(), "end", "down", "home").top == 0
    assert after(State(), "down", rows=3).top == 0
    assert after(State(), "end", "s").top == 0


def test_the_filter_takes_keys_until_enter_or_escape() -> None:
    assert after(State(), "/", *"qp").text == "qp"
    assert after(State(), "/", *"qp", "backspace", "up", "enter") == State(text="q")
    assert after(State(), "/", *"qp", "escape") == State()


def test_q_quits_and_any_other_key_leaves_the_help() -> None:
    assert pressed(State(), "q", 1, 1) is None
    assert pressed(State(has_help=True), "q", 1, 1) is None
    assert after(State(), "h", "p") == State()
    assert after(State(), "p").is_paused
    assert after(State(), "unknown") == State()
