"""`lineprof top --batch`: programs that run, that sleep, and that end."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from as_python import run, viewer, write
from deadline import DEADLINE
from live_program import live_file_of, live_program, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

BUSY = """\
import pathlib
def hot(n):
    total = 0
    for i in range(n):
        total += sum(range(500))
    return total
def cold():
    return 1
def main():
    pathlib.Path("ready").touch()
    while not pathlib.Path("stop").exists():
        hot(1000)
        cold()
main()
"""

SLEEPING = """\
import pathlib, time
def slow():
    pathlib.Path("ready").touch()
    time.sleep(1000)
def main():
    slow()
main()
"""

WAITING = """\
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

ROW = re.compile(
    r"(?P<mark>[>| ]) +(?:(?P<now>[\d.]+) +)?(?P<all>[\d.]+) +(?P<time>[\d.]+ \w+) +"
    r"(?:(?P<rate>[\d.,]+[kM]?) +)?(?P<hits>[\d,]+)(?: +[\d.]+ [mun]?s)* +"
    r"(?P<place>[\w.]+:\d+)(?:  +(?P<source>.*))?"
)

UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


class Line(NamedTuple):
    mark: str
    now: float | None
    share: float
    seconds: float
    hits: int
    source: str


def screens(output: str) -> list[dict[str, Line]]:
    """Return the rows of each screen by their places, in order."""
    found: list[dict[str, Line]] = []
    for text in re.split(r"(?m)^lineprof top: ", output)[1:]:
        rows = {}
        for row in filter(None, map(ROW.fullmatch, text.splitlines())):
            number, unit = row["time"].split()
            rows[row["place"]] = Line(
                mark=row["mark"].strip(),
                now=float(row["now"]) if row["now"] else None,
                share=float(row["all"]),
                seconds=float(number) * UNITS[unit],
                hits=int(row["hits"].replace(",", "")),
                source=row["source"] or "",
            )
        found.append(rows)
    return found


def top(*words: object, folder: Path) -> list[dict[str, Line]]:
    done = viewer("top", *map(str, words), cwd=folder)
    assert (done.status, done.err) == (0, "")
    return screens(done.out)


@pytest.fixture(scope="module")
def waiting(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[subprocess.Popen[bytes]]:
    """Give a program that waits, for tests that only look at it."""
    with live_program(tmp_path_factory.mktemp("waiting"), WAITING) as process:
        yield process


@pytest.mark.serial
def test_the_hot_line_of_a_running_program_is_on_top_and_its_hits_rise(
    tmp_path: Path,
) -> None:
    with live_program(tmp_path, BUSY) as process:
        first, *rest = top(process.pid, "-n", 3, "-d", 0.2, folder=tmp_path)
    assert first["program.py:5"].now is None  # there is no interval yet
    hits, seconds = 0, 0.0
    for rows in (first, *rest):
        hot = rows["program.py:5"]
        assert hot.hits > hits
        assert hot.seconds > seconds
        hits, seconds = hot.hits, hot.seconds
    for rows in rest:
        assert next(iter(rows)) == "program.py:5"
        assert (rows["program.py:5"].now or 0) > 50
        assert rows["program.py:5"].source == "total += sum(range(500))"
        assert rows["program.py:8"].hits < rows["program.py:5"].hits
        assert rows["program.py:14"].mark == "|"


@pytest.mark.serial
def test_the_open_line_of_a_sleeping_program_goes_on(tmp_path: Path) -> None:
    with live_program(tmp_path, SLEEPING) as process:
        done = viewer("top", str(process.pid), "-n3", "-d0.2", cwd=tmp_path)
    first, *rest = screens(done.out)
    for rows in rest:
        place, line = next(iter(rows.items()))
        assert (place, line.mark, line.hits) == ("program.py:4", ">", 1)
        assert 95 < (line.now or 0) < 105
        assert line.source == "time.sleep(1000)"
        assert rows["program.py:6"].mark == "|"
        assert rows["program.py:6"].now == 0.0  # its own time, without slow()
    assert rest[-1]["program.py:4"].seconds > first["program.py:4"].seconds + 0.3
    assert "now: MainThread on program.py:4 for " in done.out


@pytest.mark.serial
def test_times_with_callees_are_those_of_the_calling_line(tmp_path: Path) -> None:
    with live_program(tmp_path, SLEEPING) as process:
        words = (process.pid, "-n2", "-d0.2", "--with-callees")
        *_, rows = top(*words, folder=tmp_path)
        *_, functions = top(*words, "--functions", folder=tmp_path)
    assert 95 < (rows["program.py:6"].now or 0) < 105
    assert rows["program.py:6"].seconds >= rows["program.py:4"].seconds
    assert functions["program.py:2"].source == "slow"
    assert functions["program.py:2"].hits == 1
    assert 95 < (functions["program.py:5"].now or 0) < 105


@pytest.mark.smoke
def test_a_program_that_ends_is_shown_with_its_final_counts(tmp_path: Path) -> None:
    with live_program(tmp_path, WAITING) as process:
        command = ("-m", "lineprof", "top", str(process.pid), "-d", "0.2")
        shown = subprocess.Popen(
            [sys.executable, *command], cwd=tmp_path, stdout=subprocess.PIPE
        )
        assert shown.stdout is not None
        shown.stdout.readline()  # it has read the program once
        process.communicate(b"")
        out = shown.communicate(timeout=DEADLINE)[0].decode()
    assert shown.returncode == 0
    *_, last = out.split("lineprof top: ")
    assert "ended; final counts after" in last.splitlines()[0]
    *_, rows = screens(out)
    assert {place: line.hits for place, line in rows.items()} == {
        "program.py:1": 1,
        "program.py:2": 1,
        "program.py:3": 11,
        "program.py:4": 10,
        "program.py:5": 1,
        "program.py:6": 1,
        "program.py:7": 1,
        "program.py:8": 1,
        "program.py:9": 1,
    }
    assert not any(line.mark for line in rows.values())


@pytest.mark.smoke
def test_a_live_file_is_read_while_its_program_runs_and_after_it_was_killed(
    tmp_path: Path,
) -> None:
    with live_program(tmp_path, WAITING) as process:
        path = live_file_of(process)
        [rows] = top(path, "-n1", folder=tmp_path)
        assert rows["program.py:8"].mark == ">"
        process.kill()
        process.wait()
        done = viewer("top", path, cwd=tmp_path)
    assert "ended: it was killed" in done.out
    [rows] = screens(done.out)
    assert rows["program.py:4"].hits == 10
    assert rows["program.py:8"].mark == ""


def test_a_program_whose_live_files_are_elsewhere_is_found(
    waiting: subprocess.Popen[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEPROF_LIVE", str(tmp_path / "other"))
    [rows] = top(waiting.pid, "-n1", folder=tmp_path)
    assert rows["program.py:4"].hits == 10


def longest_of(process: subprocess.Popen[bytes]) -> str:
    """Return the line that takes longest per hit."""
    [rows] = top(process.pid, "-n1", "--sort", "each", folder=Path.cwd())
    return next(iter(rows))


@pytest.mark.parametrize("order", ["hits", "line", "each"])
def test_rows_are_sorted_and_limited(
    waiting: subprocess.Popen[bytes], tmp_path: Path, order: str
) -> None:
    words = (waiting.pid, "-n1", "--sort", order)
    wait_until(lambda: longest_of(waiting) == "program.py:8", "it waits for long")
    [rows] = top(*words, folder=tmp_path)
    [some] = top(*words, "--lines", "2", folder=tmp_path)
    assert [*some] == [*rows][:2]
    first = {"hits": "program.py:3", "line": "program.py:1", "each": "program.py:8"}
    assert next(iter(rows)) == first[order]


HOSTILE = """\
import pathlib, sys
def work():
    return "\x1b]0;title\x07\x1b[2J\u202e\x9b31m"  # \x1b[31m
work()
pathlib.Path("ready").touch()
sys.stdin.read()
"""


def test_source_and_names_do_not_act_on_the_terminal(tmp_path: Path) -> None:
    name = "a\x1b[2J\u202e.py"
    with live_program(tmp_path, HOSTILE, name=name) as process:
        done = viewer("top", str(process.pid), "-n1", cwd=tmp_path)
        functions = viewer("top", str(process.pid), "-n1", "--functions", cwd=tmp_path)
    assert '\\x1b]0;title\\x07\\x1b[2J\\u202e\\x9b31m"  # \\x1b[31m' in done.out
    assert "a\\x1b[2J\\u202e.py:3" in done.out
    for text in (done.out, functions.out):
        assert not set(text) & {"\x1b", "\x07", "\u202e", "\x9b"}


def test_source_that_has_changed_is_not_shown(tmp_path: Path) -> None:
    with live_program(tmp_path, WAITING) as process:
        write(tmp_path, "program.py", "# another text\n" * 9)
        [rows] = top(process.pid, "-n1", folder=tmp_path)
    assert {line.source for line in rows.values()} == {""}


# Errors.


def error_of(*words: object, folder: Path, status: int = 1) -> str:
    done = viewer("top", *map(str, words), cwd=folder)
    assert (done.status, done.out) == (status, "")
    assert done.err.count("\n") == 1
    return done.err


def test_errors_are_one_line_with_a_remedy(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    done = run(["-m", "lineprof", "top", str(ended.pid)], cwd=tmp_path)
    assert (done.status, done.out, done.err.count("\n")) == (1, "", 1)
    assert "there is no process" in done.err
    plain = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    other = error_of(plain.pid, folder=tmp_path)
    plain.communicate(b"\n")
    assert f"process {plain.pid} has no live file; start it with" in other
    assert "kernprof -l" in other
    missing = error_of("none.live", folder=tmp_path)
    assert "cannot read none.live: No such file or directory" in missing
    (tmp_path / "x.live").write_text("no live file" * 1000, encoding="utf-8")
    assert "x.live: not a live file" in error_of("x.live", folder=tmp_path)
    for words in (("-d", "0"), ("-d", "x"), ("-n", "0"), ("--lines", "-1")):
        assert "; see lineprof top --help" in error_of(
            "1", *words, folder=tmp_path, status=2
        )
    assert "takes one PID" in error_of("1", "2", folder=tmp_path, status=2)


def test_a_file_of_another_version_is_refused(
    waiting: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    shutil.copy(live_file_of(waiting), tmp_path / "old.live")
    data = bytearray((tmp_path / "old.live").read_bytes())
    data[64 + 8] ^= 1  # of the format, behind the head of the block and the magic
    (tmp_path / "old.live").write_bytes(data)
    error = error_of("old.live", folder=tmp_path)
    assert "another version of lineprof wrote this file; use the version" in error


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to make another user's file")
def test_a_file_and_a_process_of_another_user_are_refused(
    waiting: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    shutil.copy(live_file_of(waiting), tmp_path / "other.live")
    os.chown(tmp_path / "other.live", 12345, 12345)
    assert "it is another user's" in error_of("other.live", folder=tmp_path)
    other = subprocess.Popen(["/bin/sleep", "1000"], user=12345)
    try:
        assert "is another user's; run" in error_of(other.pid, folder=tmp_path)
    finally:
        other.kill()
        other.wait()


def test_a_reader_that_goes_ends_it_quietly(tmp_path: Path) -> None:
    with live_program(tmp_path, BUSY) as process:
        shown = subprocess.Popen(
            [sys.executable, "-m", "lineprof", "top", str(process.pid), "-d", "0.1"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert shown.stdout is not None
        assert shown.stderr is not None
        shown.stdout.readline()
        shown.stdout.close()
        wait_until(lambda: shown.poll() is not None, "top ends")
        assert (shown.returncode, shown.stderr.read()) == (0, b"")
        shown.stderr.close()


def test_ctrl_c_ends_it(tmp_path: Path) -> None:
    with live_program(tmp_path, BUSY) as process:
        shown = subprocess.Popen(
            [sys.executable, "-m", "lineprof", "top", str(process.pid), "-d", "0.1"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert shown.stdout is not None
        shown.stdout.readline()
        shown.send_signal(signal.SIGINT)
        err = shown.communicate(timeout=DEADLINE)[1]
    assert (shown.returncode, err) == (130, b"")
