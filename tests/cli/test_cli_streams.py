"""Output of the command to pipes, terminals, full disks and closed streams."""

from __future__ import annotations

import errno
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from lineprof.cli.main import main
from lineprof.line_stats import LineStats
from lineprof.model.records import FunctionStats, SourceFile, ThreadLine
from lineprof.storage import save

GOLDEN = Path(__file__).parents[1] / "golden"
TABLE = (GOLDEN / "table.txt").read_text(encoding="utf-8")


def run(*arguments: str, **more: object) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    command = [sys.executable, "-m", "lineprof", *arguments]
    kinds = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    return subprocess.run(command, check=False, encoding="utf-8", **kinds)  # type: ignore[call-overload, no-any-return]


def shell(command: str) -> subprocess.CompletedProcess[str]:
    """Run a line of bash."""
    return subprocess.run(
        ["/bin/bash", "-c", command], capture_output=True, text=True, check=False
    )


def test_a_reader_that_stops_early_is_no_error(file: str) -> None:
    save(big(), file)
    command = (
        f"{sys.executable} -m lineprof {file} | head -n 1; echo ${{PIPESTATUS[0]}}"
    )
    done = shell(command)
    assert done.stdout == "Timer unit: 1e-06 s\n0\n"
    assert done.stderr == ""


def big() -> LineStats:
    """Return a profile with more text than a pipe holds."""
    text = "def f():\n" + "    x = 'a long line of source'\n" * 20_000
    function = FunctionStats("a.py", "f", 1, (ThreadLine(2, -1, 1, 1),))
    sources = {"a.py": SourceFile("a.py", text, "")}
    return LineStats.from_functions([function], sources=sources)


def test_a_full_disk_is_one_line(file: str) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = run(file, stdout=full)
    assert done.returncode == 1
    assert done.stderr == (
        "lineprof: cannot write to standard output: No space left on device;"
        " make room, or send it elsewhere\n"
    )


@pytest.mark.parametrize("redirection", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_are_no_traceback(file: str, redirection: str) -> None:
    command = f"{sys.executable} -m lineprof {file} {redirection}"
    done = shell(command)
    assert done.returncode == (1 if redirection.startswith(">") else 0)
    assert "Traceback" not in done.stderr


def test_an_interrupt_ends_the_command_quietly(
    file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("lineprof.console.pager.print_lines", interrupted)
    monkeypatch.setattr("lineprof.cli.main.drop_output", lambda: None)
    assert main([file]) == 130
    assert capsys.readouterr().err == ""


def test_output_in_a_narrow_encoding_is_escaped(file: str) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = run(file, env=environment)
    assert done.returncode == 0
    assert '"na\\xefve \\u2014 \\u640d\\u5931"' in done.stdout


def on_terminal(*arguments: str, columns: int, **environment: str) -> str:
    """Return the output of the command on a terminal of `columns`."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    unset = ("NO_COLOR", "COLUMNS")
    kept = {name: text for name, text in os.environ.items() if name not in unset}
    with subprocess.Popen(
        [sys.executable, "-m", "lineprof", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env={
            **kept,
            "TERM": "xterm",
            "PYTHONIOENCODING": "utf-8",
            "PAGER": "",
            **environment,
        },
    ) as process:
        os.close(theirs)
        data = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError as error:  # the end of the output on Linux
                assert error.errno == errno.EIO  # noqa: PT017
                break
            if not part:
                break
            data += part
    os.close(ours)
    assert process.returncode == 0
    return data.decode().replace("\r\n", "\n")


def test_on_a_terminal_source_is_cut_and_hot_lines_are_red(file: str) -> None:
    text = on_terminal(file, columns=62)
    lines = re.sub(r"\x1b\[[\d;]*m", "", text).split("\n")
    assert "     6         2        150.0     75.0      0.0      with ope…" in lines
    assert "\x1b[1;31m     7         2    1234567.9" in text
    assert max(map(len, lines)) == 62


def test_on_a_terminal_no_color_is_honoured(file: str) -> None:
    assert "\x1b" not in on_terminal(file, columns=62, NO_COLOR="1")
    assert "\x1b" not in on_terminal(file, columns=62, TERM="dumb")


def test_on_a_terminal_of_unknown_width_nothing_is_clipped(file: str) -> None:
    shown = on_terminal(file, columns=0, NO_COLOR="1")
    tabs = [line for line in TABLE.split("\n") if "\t" in line]
    assert len(tabs) == 1
    text = f"{TABLE}Note: 3 events were lost\n"
    whole = [line for line in text.split("\n") if line not in tabs]
    assert [line for line in shown.split("\n") if "損失" not in line] == whole


def test_escapes_in_a_profile_never_reach_the_terminal(file: str) -> None:
    evil = "\x1b]0;evil\x07\x9b2J"
    stats = LineStats.from_functions(
        [FunctionStats(evil, evil, 1, (ThreadLine(1, -1, 1, 1),))],
        sources={evil: SourceFile(evil, evil, "")},
        warnings=[evil],
    )
    save(stats, file)
    for text in (
        on_terminal("-m", file, columns=80, NO_COLOR="1"),
        on_terminal("--json", file, columns=80),
        run("-m", file).stdout,
        run("--json", file).stderr,
    ):
        assert "evil" in text
        assert not set("\x1b\x07\x9b") & set(text)
