"""Runs of Python, each in a process forked from one that has imported modules before.

A new Python needs most of its time to import lineprof and kernprof again. Nothing else
differs: a forked process has descriptors, a folder and an environment of its own, runs
its words as `python WORDS` would, as its main program, and ends as Python does.

What a program sees of a process that has just started (its modules, its paths, the
start itself) needs a start: `as_python.run` makes one.
"""

from __future__ import annotations

import atexit
import functools
import os
import pickle
import selectors
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fork_server import SERVERS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

MAIN = Path(__file__).with_name("forked_python_main.py")
# Variables that a new process alone reads.
AT_START = ("PYTHON", "COVERAGE", "LD_", "LINE_PROFILE", "LINEPROF_CLOCK")
MOST = 1 << 18  # bytes of a request
PIPE = 1 << 15  # bytes that a pipe holds in any case


class Ended(NamedTuple):
    """Exit status, as subprocess has it, and output of a process."""

    status: int
    out: bytes
    err: bytes


def at_start(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that only a start of Python reads."""
    return {k: v for k, v in environment.items() if k.startswith(AT_START)}


class ForkedPython:
    """The process: it starts with the first run and ends with this one.

    Variables that a new process alone reads are those of the first run, if that is not
    asked for by `can_run`; all others are those of each run.
    """

    def __init__(self, modules: Callable[[], Sequence[str]]) -> None:
        """Have it import modules; start nothing yet."""
        self._modules = modules
        self._door: socket.socket | None = None
        self._start: dict[str, str] = {}

    def can_run(self, environment: Mapping[str, str]) -> bool:
        """Whether a forked process has all that the environment asks for."""
        if self._door is None:
            self._begin(os.environ)
        return at_start(environment) == self._start

    def run(
        self,
        words: Sequence[str],
        *,
        folder: Path,
        environment: Mapping[str, str],
        deadline: float,
        text: bytes = b"",
    ) -> Ended:
        """Run Python with words; its standard input is `text`.

        An error if it is not over in `deadline` seconds.
        """
        if len(text) > PIPE:
            raise ValueError("the text is longer than a pipe is deep")
        door = self._door or self._begin(environment)
        request = pickle.dumps(([*words], str(folder), dict(environment)))
        pipes = [os.pipe() for _ in range(3)]
        (given, give), (out, to_out), (err, to_err) = pipes
        theirs = [given, to_out, to_err]
        if text:
            os.write(give, text)
        os.close(give)
        socket.send_fds(door, [request], theirs)
        for fd in theirs:
            os.close(fd)
        pid = answer(door)
        try:
            texts = read([out, err], deadline)
            door.settimeout(deadline)  # for one that closed both, and goes on
            status = answer(door)
        except BaseException:
            os.kill(pid, signal.SIGKILL)
            door.settimeout(None)
            answer(door)
            raise
        door.settimeout(None)
        return Ended(os.waitstatus_to_exitcode(status), *texts)

    def _begin(self, environment: Mapping[str, str]) -> socket.socket:
        self._start = at_start(environment)
        modules = self._modules()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            process = subprocess.Popen(
                [sys.executable, str(MAIN), str(theirs.fileno()), *modules],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                cwd="/",
                env={
                    name: value
                    for name, value in environment.items()
                    if name in self._start or os.environ.get(name) == value
                },
            )
        self._door = ours
        SERVERS.add(process.pid)

        def end() -> None:
            ours.close()
            process.wait()

        atexit.register(end)
        return ours


def answer(door: socket.socket) -> int:
    """Return the next number that the process sends."""
    return int(pickle.loads(door.recv(1 << 10)))  # noqa: S301 - of our process


def read(fds: list[int], deadline: float) -> list[bytes]:
    """Return all that comes out of pipes until their ends."""
    found: dict[int, bytes] = dict.fromkeys(fds, b"")
    until = time.monotonic() + deadline
    with selectors.DefaultSelector() as selector:
        for fd in fds:
            selector.register(fd, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(until - time.monotonic())
            if not ready:
                raise subprocess.TimeoutExpired("python", deadline)
            for key, _ in ready:
                data = os.read(key.fd, 1 << 16)
                found[key.fd] += data
                if not data:
                    selector.unregister(key.fd)
                    os.close(key.fd)
    return [*found.values()]


@functools.cache
def modules_after(program: str) -> list[str]:
    """Return lineprof's modules that a program has imported, which prints all."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd="/",
    )
    named = ("kernprof.", "lineprof.", "lineprof")
    return [name for name in done.stdout.split() if name.startswith(named)]
