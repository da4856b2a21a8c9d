"""Rounds of `lineprof attach` to programs that fork, that end, or that have threads.

Each round starts a program, and a client that attaches to it. No client may wait for a
program that has ended, nor give up one that runs, and no child of a program may get a
thread of lineprof's.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

from deadline import DEADLINE

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_COMMAND = (sys.executable, "-m", "lineprof", "attach")
_THREADS = """\
import sys, threading, time
def cpu():
    while True:
        sum(i * i for i in range(200))
def imports():
    while True:
        sys.modules.pop("colorsys", None)
        __import__("colorsys")
def work():
    return sum(range(100))
for target in (cpu, cpu, cpu, imports):
    threading.Thread(target=target, daemon=True).start()
"""
FORKING = f"""\
import os
{_THREADS}
print("ready", flush=True)
while True:
    work()
    child = os.fork()
    if not child:
        until = time.monotonic() + 0.02
        while time.monotonic() < until:
            os.getpid()  # a call that waits is made between two instructions
        os._exit(len(os.listdir("/proc/self/task")) - 1)
    if os.waitpid(child, 0)[1]:
        os.write(1, b"a child has another thread\\n")
"""
THREADED = f"""\
import signal
{_THREADS}
signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 0.003, 0.003)
print("ready", flush=True)
while True:
    work()
"""
DYING = """\
import os, signal, sys, time
def work():
    return sum(range(100))
how, seconds = sys.argv[1], float(sys.argv[2])
print("ready", flush=True)
until = time.monotonic() + seconds
while time.monotonic() < until:
    work()
if how == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
elif how == "left":
    os._exit(0)
"""
_ENDS = ("normal", "killed", "left")
_STEP_S = 0.017  # from one moment of an end to the next
_MOMENTS = 40


class Kind(NamedTuple):
    """A kind of program."""

    program: str
    ends: bool = False  # by itself, at another moment in each round


KINDS = {
    "forking": Kind(FORKING),
    "dying": Kind(DYING, ends=True),
    "threaded": Kind(THREADED),
}


def fault(name: str, number: int, folder: Path, *flags: str) -> str:
    """Return what went wrong in one round, "" if nothing did.

    The client gets `flags`, such as --memory.
    """
    kind = KINDS[name]
    argv = [_ENDS[number % len(_ENDS)], str(_STEP_S * (number % _MOMENTS))]
    program = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", kind.program, *argv],
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(folder)},
    )
    try:
        assert program.stdout
        assert program.stdout.readline() == b"ready\n"
        client = _client(program.pid, folder / "x.lprof", kind, flags)
        try:
            found = _fault_of_client(client, program, kind)
        finally:
            client.kill()
            client.communicate(timeout=DEADLINE)
    finally:
        program.kill()
        said, _ = program.communicate(timeout=DEADLINE)
    left = [one.name for one in folder.glob(f"lineprof-*/{program.pid}[!0-9]*")]
    allowed = {f"{program.pid}.sock"} if kind.ends else set()
    if not found and {one for one in left if not one.endswith(".live")} - allowed:
        found = f"left behind: {left}"
    return found or said.decode().strip()


def _client(
    pid: int, out: Path, kind: Kind, flags: Iterable[str]
) -> subprocess.Popen[str]:
    seconds = str(4 * DEADLINE) if kind.ends else "0.1"
    return subprocess.Popen(
        [*_COMMAND, str(pid), "-o", out, "--duration", seconds, *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _fault_of_client(
    client: subprocess.Popen[str], program: subprocess.Popen[bytes], kind: Kind
) -> str:
    if not kind.ends:
        out, _ = client.communicate(timeout=2 * DEADLINE)
        return "" if client.returncode == 0 else f"not attached: {out}"
    # The program is not waited for: it stays a zombie until the round is over.
    os.waitid(os.P_PID, program.pid, os.WEXITED | os.WNOWAIT)
    ended = time.monotonic()
    try:
        out, _ = client.communicate(timeout=DEADLINE)
    except subprocess.TimeoutExpired:
        return f"waits {time.monotonic() - ended:.0f} s for a program that has ended"
    expected = ("has ended", "there is no process", "Wrote profile results")
    if client.returncode not in {0, 1} or not any(text in out for text in expected):
        return f"status {client.returncode}: {out}"
    return ""
