"""Runs of kernprof, each in a process forked from one that has imported it before.

A new Python needs most of its time to import kernprof again. Nothing else differs:
the forked process runs `python -m kernprof` as its main program, with its own
descriptors, folder and environment, and ends as Python does.

What a program sees of a process that has just started (its modules, its paths, the
start itself) needs a start: `as_python.kernprof` makes one.
"""

from __future__ import annotations

import atexit
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
    from collections.abc import Mapping, Sequence

SERVE = Path(__file__).with_name("kernprof_forks.py")
# Prints the modules that a run imports, up to those that write its profile.
IMPORTS = """\
import os, sys
from kernprof import main
main(["-lqo", os.devnull, "-c", "@profile\\ndef f(): pass\\nf()"])
print(*sys.modules, sep="\\n")
"""
# Prints the modules that a run imports before the program.
EARLY_IMPORTS = """\
from kernprof import main
main(["-lqo", "/dev/null", "-c", "import sys; print(*sys.modules, sep='\\\\n')"])
"""
# A process that is being started reads these.
AT_START = ("PYTHON", "COVERAGE", "LINE_PROFILE")


def at_start(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that only a start of Python reads."""
    return {k: v for k, v in environment.items() if k.startswith(AT_START)}


class Ended(NamedTuple):
    """Exit status, as subprocess has it, and output of a process."""

    status: int
    out: bytes
    err: bytes


class KernprofServer:
    """The process: it starts with the first run and ends with this one."""

    def __init__(self, imports: str = IMPORTS) -> None:
        """Have it import what this program prints; start nothing yet."""
        self._imports = imports
        self._door: socket.socket | None = None
        self._start: dict[str, str] = {}

    def can_run(self, environment: Mapping[str, str]) -> bool:
        """Whether a forked process has all that the environment asks for."""
        if self._door is None:
            self._begin()
        return at_start(environment) == self._start

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        text: bytes,
        environment: Mapping[str, str],
        timeout: float,
    ) -> Ended:
        """Run the command kernprof; its standard input is `text`."""
        assert self._door is not None
        if len(text) > 1 << 15:
            raise ValueError("the text is longer than a pipe is deep")
        request = pickle.dumps(([*argv], cwd, dict(environment)))
        pipes = [os.pipe() for _ in range(3)]
        (given, give), (out, to_out), (err, to_err) = pipes
        theirs = [given, to_out, to_err]
        if text:
            os.write(give, text)
        os.close(give)
        socket.send_fds(self._door, [request], theirs)
        for fd in theirs:
            os.close(fd)
        pid = self._answer()
        try:
            texts = _read([out, err], timeout)
            self._door.settimeout(timeout)  # for one that closed both, and goes on
            status = self._answer()
        except BaseException:
            os.kill(pid, signal.SIGKILL)
            self._door.settimeout(None)
            self._answer()
            raise
        self._door.settimeout(None)
        return Ended(os.waitstatus_to_exitcode(status), *texts)

    def _answer(self) -> int:
        assert self._door is not None
        return int(pickle.loads(self._door.recv(1 << 10)))  # noqa: S301 - of our process

    def _begin(self) -> None:
        environment = {**os.environ}
        done = subprocess.run(
            [sys.executable, "-c", self._imports],
            capture_output=True,
            text=True,
            check=True,
            cwd="/",
        )
        named = ("kernprof.", "lineprof.", "lineprof")
        preload = [name for name in done.stdout.split() if name.startswith(named)]
        self._start = at_start(environment)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            process = subprocess.Popen(
                [sys.executable, str(SERVE), str(theirs.fileno()), *preload],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                cwd="/",
                env=environment,
            )
        self._door = ours
        SERVERS.add(process.pid)

        def end() -> None:
            ours.close()
            process.wait()

        atexit.register(end)


def _read(fds: list[int], timeout: float) -> list[bytes]:
    """Return all that comes out of pipes until their ends."""
    found: dict[int, bytes] = dict.fromkeys(fds, b"")
    until = time.monotonic() + timeout
    with selectors.DefaultSelector() as selector:
        for fd in fds:
            selector.register(fd, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(until - time.monotonic())
            if not ready:
                raise subprocess.TimeoutExpired("kernprof", timeout)
            for key, _ in ready:
                data = os.read(key.fd, 1 << 16)
                found[key.fd] += data
                if not data:
                    selector.unregister(key.fd)
                    os.close(key.fd)
    return [*found.values()]
