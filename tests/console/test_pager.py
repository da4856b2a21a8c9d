"""Output on a terminal: through the user's pager if it does not fit."""

from __future__ import annotations

import os
import pty
import struct
import subprocess
import sys
from fcntl import ioctl
from termios import TIOCSWINSZ
from typing import TYPE_CHECKING

import pytest
from as_python import viewer
from deadline import DEADLINE
from example_whole import example

from lineprof.storage import save

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS, LINES = 100, 24

PAGER = """\
import os, sys
with open("shown", "w", encoding="utf-8") as shown:
    print(os.environ.get("LESS"), file=shown)
    for number, line in enumerate(sys.stdin):
        if number == int(sys.argv[1]):
            os._exit(3)
        shown.write(line)
        shown.flush()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with a profile and a pager, which reads so many lines."""
    save(example(), tmp_path / "plan.lprof")
    (tmp_path / "pager.py").write_text(PAGER, encoding="utf-8")
    return tmp_path


def on_terminal(folder: Path, *flags: str, **environment: str | None) -> str:
    """Return what `lineprof view` of the profile prints on a terminal."""
    ours, theirs = pty.openpty()
    ioctl(theirs, TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    names = ("COLUMNS", "LINES", "LESS", "PAGER", "TERM", "NO_COLOR")
    env = {name: value for name, value in os.environ.items() if name not in names}
    env |= {name: value for name, value in environment.items() if value is not None}
    process = subprocess.Popen(
        [sys.executable, "-m", "lineprof", "view", *flags, "plan.lprof"],
        cwd=folder,
        env={"TERM": "xterm", "NO_COLOR": "1", **env},
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.PIPE,
    )
    os.close(theirs)
    printed = b""
    while True:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:  # Linux has no end of file here
            break
        if not part:
            break
        printed += part
    os.close(ours)
    _, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == 0, err
    assert b"Traceback" not in err
    return printed.decode().replace("\r\n", "\n")


def pager(lines: int) -> str:
    """Return the command of a pager that ends after so many lines."""
    return f"{sys.executable} pager.py {lines}"


def test_what_does_not_fit_goes_through_the_users_pager(folder: Path) -> None:
    printed = on_terminal(folder, PAGER=pager(10_000))
    assert printed == ""
    less, *shown = (folder / "shown").read_text(encoding="utf-8").splitlines()
    assert less == "RSX"
    plain = viewer("view", "plan.lprof", cwd=folder).out.splitlines()
    assert [line[:60] for line in shown if "To see more" not in line] == [
        line[:60] for line in plain if "To see more" not in line
    ]
    # A command is not cut; it is as long as the name of the interpreter.
    assert max(len(line) for line in shown if "To see more" not in line) <= COLUMNS


def test_what_fits_is_printed(folder: Path) -> None:
    printed = on_terminal(folder, "--hot", "3", PAGER=pager(10_000))
    assert printed.startswith("3 of 59 lines")
    assert not (folder / "shown").exists()


@pytest.mark.parametrize("name", ["COLUMNS", "LINES"])
def test_a_size_that_no_terminal_has_is_ignored(folder: Path, name: str) -> None:
    usual = on_terminal(folder, "--hot", "3", PAGER="")
    pages = {"PAGER": pager(10_000), name: "9" * 5000}
    assert on_terminal(folder, "--hot", "3", **pages) == usual


def test_a_pager_that_ends_early_is_no_error(folder: Path) -> None:
    assert on_terminal(folder, "--all-functions", PAGER=pager(5)) == ""
    shown = (folder / "shown").read_text(encoding="utf-8").splitlines()
    assert len(shown) == 6


@pytest.mark.parametrize(
    ("flags", "command"),
    [
        ((), "nosuchpager -x"),
        ((), "nosuchpager >&1"),
        ((), ""),
        (("--no-pager",), "nosuchpager"),
    ],
)
def test_without_a_pager_output_is_printed(
    folder: Path, flags: tuple[str, ...], command: str
) -> None:
    printed = on_terminal(folder, *flags, PAGER=command)
    assert printed.count("\n") > LINES
    assert "  --all-functions  all 30 tables\n" in printed


def test_a_pager_gets_no_output_that_goes_to_a_file(folder: Path) -> None:
    assert on_terminal(folder, "--log-file", "report", PAGER=pager(9)) == ""
    assert (folder / "report").exists()
    assert not (folder / "shown").exists()
    env = {"PAGER": pager(9), "TERM": "xterm"}
    done = subprocess.run(
        [sys.executable, "-m", "lineprof", "view", "plan.lprof"],
        cwd=folder,
        env={**os.environ, **env},
        capture_output=True,
        check=True,
    )
    assert done.stdout.count(b"\n") > LINES
    assert not (folder / "shown").exists()
