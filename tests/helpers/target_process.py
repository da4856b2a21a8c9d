"""Programs that another process joins: started as plain ``python``, read by line."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

import pytest
from deadline import DEADLINE

import lineprof
from lineprof.attach import injection, refusal, task_state
from lineprof.control.place import read_status
from lineprof.errors import LineprofError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType
    from typing import Self

_POLL = 0.005  # s
_ENDS = (os.CLD_EXITED, os.CLD_KILLED, os.CLD_DUMPED)
FOLDERS = ("/tmp", "/var/tmp")  # noqa: S108
COUNTING = """\
n = 0
print("ready", flush=True)
while True:
    n += 1
    if not n % 10_000:
        print(n, flush=True)
"""


class Target:
    """A program that runs; it prints lines, and is killed at the end of ``with``.

    It prints to a file, which never blocks it, however much of that nobody has read.
    """

    def __init__(
        self,
        program: str,
        *,
        flags: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        before: Sequence[str] = (),
    ) -> None:
        """Start the program, and wait until it prints its first line, ``ready``.

        `before` is a command that starts it.
        """
        self._printed = TemporaryFile()  # noqa: SIM115  # `end` closes it
        self._read = 0  # bytes of it
        self._pending = b""  # read, but not returned
        self.process = subprocess.Popen(
            [*before, sys.executable, *flags, "-c", program],
            stdin=subprocess.PIPE,
            stdout=self._printed,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(env or {})},
        )
        self.pid = self.process.pid
        try:
            line = self.line()
            assert line == "ready", line
        except BaseException:
            self.end()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error and self._has_ended():
            error.add_note(f"the program had ended: {self._unread()!r}")
        self.end()

    def end(self) -> None:
        """Kill it."""
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self._printed.close()

    def _unread(self) -> bytes:
        """Return what it has printed that no method has returned."""
        # The program writes where the descriptor's offset is, which it shares.
        while data := os.pread(self._printed.fileno(), 1 << 16, self._read):
            self._pending += data
            self._read += len(data)
        return self._pending

    def _has_ended(self) -> bool:
        # `poll` would take the stops from a thread of this process that traces it.
        event = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return event is not None and event.si_code in _ENDS

    def line(self) -> str:
        """Return the next line that it prints."""
        end = time.monotonic() + DEADLINE
        while b"\n" not in self._pending:
            has_ended = self._has_ended()
            if b"\n" in self._unread():
                break
            assert not has_ended, f"the program ended: {self._pending!r}"
            assert time.monotonic() < end, "the program printed nothing"
            time.sleep(_POLL)
        line, _, self._pending = self._pending.partition(b"\n")
        return line.decode()

    def wait_for_lines(self, number: int) -> None:
        """Skip what it has printed, and wait until it has printed so many lines."""
        self._unread()
        self._pending = b""
        for _ in range(number):
            self.line()

    def until(self, text: str) -> None:
        """Skip lines up to one that has the text."""
        end = time.monotonic() + DEADLINE
        while text not in self.line():
            assert time.monotonic() < end, f"the program did not print {text}"

    def tell(self, text: str) -> None:
        """Write a line to its standard input."""
        os.write(self.process.stdin.fileno(), text.encode() + b"\n")

    def rest(self) -> tuple[int, list[str]]:
        """Return its exit status, and the lines that it still prints."""
        self.process.stdin.close()
        return self.process.wait(DEADLINE), self._unread().decode().splitlines()

    def join(self, source: str) -> None:
        """Make it run a source text."""
        injection.run_in(refusal.check(self.pid), source)

    def wait_blocked_in(self, call: str) -> None:
        """Wait until its main thread is blocked in a system call."""
        wait_until(lambda: call in task_state.read(self.pid).call)

    def goes_on(self) -> bool:
        """Whether it, a program that counts, is not stopped and goes on counting."""
        self.wait_for_lines(3)
        return read_status(self.pid)["State"][0] in "RS"


def wait_until(done: Callable[[], bool]) -> None:
    """Wait for a condition, until the deadline."""
    end = time.monotonic() + DEADLINE
    while not done():
        assert time.monotonic() < end
        time.sleep(_POLL)


def why_not() -> str:
    """Return why this machine lets nobody join a process, '' if it does."""
    with Target(COUNTING) as target:
        try:
            target.join("import os\nos.write(1, b'joined\\n')")
            target.until("joined")
        except LineprofError as error:
            return str(error)
    return ""


def own_mounts(*options: str) -> list[str]:
    """Return a command that starts a command whose mounts no other process sees.

    `options` are further ones of unshare. The test is skipped where that fails.
    """
    if os.geteuid() or not shutil.which("unshare"):
        pytest.skip("namespaces are made by root, with unshare")
    words = ["unshare", *options, "--mount", "--propagation", "unchanged", "sh", "-c"]
    # In a changed root, which is no mount, mounts are as private as outside of it.
    words += ['mount --make-rprivate / 2>&-; exec "$@"', "sh"]
    private = [*words, "mount", "-t", "tmpfs", "none", hidden_folder()]
    if subprocess.run(private, check=False, capture_output=True).returncode:
        pytest.skip("no namespaces can be made here")
    return words


def other_namespaces() -> list[str]:
    """Return a command that starts a program with its own pids and temporary folder."""
    mount = f'mount -t tmpfs none {hidden_folder()}; "$@" & wait'
    return [*own_mounts("--pid", "--fork", "--kill-child"), "sh", "-c", mount, "sh"]


def hidden_folder() -> str:
    """Return the folder in whose place such a program has one of its own."""
    return FOLDERS[lineprof.__file__.startswith(FOLDERS[0])]


def python_below(pid: int) -> int:
    """Return the process that runs this Python, a descendant of `pid`."""
    while not Path(f"/proc/{pid}/exe").samefile(sys.executable):
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8")
        pid = int(children.split()[0])
    return pid
