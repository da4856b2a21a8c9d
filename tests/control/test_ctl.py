"""`lineprof ctl`: requests to programs under ``kernprof --listen``, and others."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from as_python import Outcome, kernprof, viewer, write
from deadline import DEADLINE
from target_process import (
    COUNTING,
    Target,
    other_namespaces,
    python_below,
    why_not,
)

from lineprof import load_stats
from lineprof.control.place import namespace_pid, place_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

PROGRAM = """\
import sys

def work(n):
    return sum(range(n))

print("ready", flush=True)
for line in sys.stdin:
    for _ in range(int(line)):
        work(10)
    print("done", flush=True)
print("end")
"""
LISTENING = """\
import lineprof
lineprof.listen()
lineprof.profile.enable("out")
""" + PROGRAM.replace("def work", "@lineprof.profile\ndef work")


LINES = """\
import select, sys

def lines():
    while True:
        if select.select([sys.stdin], [], [], 0.01)[0]:
            line = sys.stdin.readline()
            if not line:
                return
            yield line

"""


class Program:
    """A program that works when it is told to, and listens."""

    def __init__(self, folder: Path, *argv: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *argv],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.pid = self.process.pid
        self.folder = folder
        self.expect("ready")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def expect(self, line: str) -> None:
        found = self.process.stdout.readline()
        assert found == f"{line}\n", found + self.end()

    def work(self, times: int) -> None:
        self.process.stdin.write(f"{times}\n")
        self.process.stdin.flush()
        self.expect("done")

    def ctl(self, *words: str) -> Outcome:
        return viewer("ctl", str(self.pid), *words, cwd=self.folder)

    def ask(self, *words: str) -> str:
        done = self.ctl(*words)
        assert (done.status, done.err) == (0, "")
        return done.out.removeprefix(f"process {self.pid}: ").rstrip("\n")

    def end(self) -> str:
        out, _ = self.process.communicate(timeout=DEADLINE)
        assert self.process.returncode == 0, out
        return out


def hits(path: Path) -> int:
    """Return how often `work` was called."""
    rows = [
        row
        for function in load_stats(path).functions
        if function.name == "work"
        for row in function.rows
    ]
    return rows[0].hits if rows else 0


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[Program]:
    write(tmp_path, "program.py", PROGRAM)
    argv = ("-m", "kernprof", "-lq", "--listen", "program.py")
    with Program(tmp_path, *argv) as program:
        yield program


def test_counting_stops_starts_and_is_reset(listening: Program, tmp_path: Path) -> None:
    assert listening.ask("status") == "counting"
    listening.work(1)
    assert listening.ask("stop") == "not counting until start"
    assert listening.ask("status") == "not counting until start"
    listening.work(10)
    assert listening.ask("start") == "counting"
    listening.work(100)
    assert listening.ask("write", "so_far.lprof") == f"wrote {tmp_path}/so_far.lprof"
    assert hits(tmp_path / "so_far.lprof") == 101
    assert listening.ask("reset") == "all counts are zero"
    listening.work(1000)
    listening.end()
    assert hits(tmp_path / "program.lprof") == 1000


def test_the_page_shows_what_the_commands_print(
    listening: Program, tmp_path: Path
) -> None:
    page = Path(__file__).parents[2] / "docs" / "ctl.md"
    text = page.read_text(encoding="utf-8")
    block = text[text.index("$ kernprof -l --listen") : text.index("```\n\n| Request")]
    _, *lines = block.splitlines()
    for command, shown in zip(lines[::2], lines[1::2], strict=True):
        assert command.startswith("$ lineprof ctl 4242 ")
        out = listening.ctl(*command.split()[4:]).out
        out = out.replace(str(listening.pid), "4242").replace(
            str(tmp_path), "/home/ann"
        )
        assert out == f"{shown}\n"


def test_without_a_name_the_profile_goes_where_the_run_writes(
    listening: Program, tmp_path: Path
) -> None:
    listening.work(3)
    assert listening.ask("write") == f"wrote {tmp_path}/program.lprof"
    assert hits(tmp_path / "program.lprof") == 3
    listening.work(4)
    listening.end()
    assert hits(tmp_path / "program.lprof") == 7


def test_nobody_else_can_open_the_socket_and_it_goes_with_the_program(
    listening: Program,
) -> None:
    place = place_of(listening.pid)
    path = Path(place.outside, place.socket)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert path.stat().st_uid == os.getuid()
    listening.end()
    assert not path.exists()
    done = listening.ctl("status")
    assert done.status == 1
    assert done.err == (
        f"lineprof: there is no process {listening.pid}; see ps or pgrep for its"
        " number\n"
    )


def test_the_program_behaves_as_without_listening(tmp_path: Path) -> None:
    program = """\
import os, sys, threading
print(threading.active_count())
child = os.fork()
if not child:
    os._exit(4)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
sys.exit(3)
"""
    write(tmp_path, "program.py", program)
    plain = kernprof("-lq", "program.py", cwd=tmp_path)
    listening = kernprof("-lq", "--listen", "program.py", cwd=tmp_path)
    assert listening == plain
    assert plain.status == 3


def test_a_program_can_listen_itself(tmp_path: Path) -> None:
    write(tmp_path, "program.py", LISTENING)
    with Program(tmp_path, "program.py") as program:
        program.work(5)
        assert program.ask("status") == "counting"
        assert program.ask("write", "a.lprof") == f"wrote {tmp_path}/a.lprof"
        assert hits(tmp_path / "a.lprof") == 5
        done = program.ctl("write")
        assert (done.status, done.err) == (
            1,
            "lineprof: no file is named; name the file to write\n",
        )
        program.end()


def test_a_program_that_listens_is_attached_to_without_privileges(
    tmp_path: Path,
) -> None:
    text = f"import lineprof\nlineprof.listen()\n{PROGRAM}"
    write(tmp_path, "program.py", text)
    with Program(tmp_path, "program.py") as program:
        assert program.ask("status") == "nothing is profiled"
        assert program.ctl("stop").err == (
            f"lineprof: nothing is profiled in process {program.pid}; attach to it:"
            " lineprof attach PID\n"
        )
        with subprocess.Popen(
            [
                sys.executable,
                "-m",
                "lineprof",
                "attach",
                str(program.pid),
                "-o",
                "a.lprof",
            ],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            text=True,
        ) as client:
            assert client.stdout.readline().startswith("Attached to process")
            assert program.ask("status") == "counting, attached"
            program.work(2)
            assert program.ask("reset") == "all counts are zero"
            program.work(7)
            assert program.ask("write", "so_far.lprof")
            client.terminate()
            assert client.wait(DEADLINE) == 0
        assert hits(tmp_path / "so_far.lprof") == 7
        assert hits(tmp_path / "a.lprof") == 7
        assert program.ask("status") == "nothing is profiled"
        program.work(1)
        program.end()


def test_kernprofs_program_that_does_not_listen_is_not_attached_to(
    tmp_path: Path,
) -> None:
    if reason := why_not():
        pytest.skip(reason)
    busy = PROGRAM.replace("for line in sys.stdin:", "for line in lines():", 1)
    write(tmp_path, "program.py", LINES + busy)
    with Program(tmp_path, "-m", "kernprof", "-lq", "program.py") as program:
        program.work(1)
        done = viewer("attach", str(program.pid), "-d", "0.1", cwd=tmp_path)
        assert done.status == 1
        assert f"process {program.pid} is profiled by kernprof -l already" in done.err
        program.work(1)
        program.end()
    assert hits(tmp_path / "program.lprof") == 2


def test_kernprofs_program_is_not_attached_to(
    listening: Program, tmp_path: Path
) -> None:
    done = viewer("attach", str(listening.pid), "-d", "0.1", cwd=tmp_path)
    assert done.status == 1
    assert done.err == (
        f"lineprof: kernprof profiles process {listening.pid} from its start; lineprof"
        " ctl PID write FILE gives what was counted so far\n"
    )
    listening.end()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("1", "dance"), "invalid choice: 'dance'"),
        (("1", "stop", "a.lprof"), "stop writes no file"),
        (("0", "stop"), "bad process number '0'"),
        (("999999999", "stop"), "there is no process 999999999"),
    ],
)
def test_bad_requests_are_one_line(
    words: tuple[str, ...], expected: str, tmp_path: Path
) -> None:
    done = viewer("ctl", *words, cwd=tmp_path)
    assert done.status != 0
    assert expected in done.err
    assert len(done.err.splitlines()) == 1


def test_a_process_that_does_not_listen_is_said(tmp_path: Path) -> None:
    with Target(COUNTING) as target:
        done = viewer("ctl", str(target.pid), "status", cwd=tmp_path)
    assert done.status == 1
    assert done.err == (
        f"lineprof: process {target.pid} does not listen; start it with kernprof -l"
        " --listen, or use lineprof attach\n"
    )


def test_listening_needs_line_profiling(tmp_path: Path) -> None:
    write(tmp_path, "program.py", "")
    done = kernprof("--listen", "program.py", cwd=tmp_path)
    assert done.status == 2
    assert "--listen needs -l" in done.err


def test_a_program_in_other_namespaces_is_found(tmp_path: Path) -> None:
    listening = "import lineprof\nlineprof.listen()\n" + COUNTING
    with Target(listening, before=other_namespaces()) as target:
        pid = python_below(target.pid)
        done = viewer("ctl", str(pid), "status", cwd=tmp_path)
        own = namespace_pid(pid)
        assert own != pid
        assert (done.status, done.err) == (0, "")
        assert done.out == f"process {pid}: nothing is profiled\n"
