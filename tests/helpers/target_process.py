"""Programs that another process joins: started as plain ``python``, read by line."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from as_python import DEADLINE

import lineprof
from lineprof.attach import injection, refusal, task_state
from lineprof.control.place import read_status
from lineprof.errors import LineprofError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType
    from typing import Self

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
    """A program that runs; it prints lines, and is killed at the end of ``with``."""

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
        self.process = subprocess.Popen(
            [*before, sys.executable, *flags, "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(env or {})},
        )
        self.pid = self.process.pid
        self._pending = b""
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
        if error and (status := self.process.poll()) is not None:
            error.add_note(f"the program had ended ({status}): {self._pending!r}")
        self.end()

    def end(self) -> None:
        """Kill it."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            stream.close()

    def line(self) -> str:
        """Return the next line that it prints."""
        end = time.monotonic() + DEADLINE
        descriptor = self.process.stdout.fileno()
        while b"\n" not in self._pending:
            left = end - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                raise AssertionError("the program printed nothing")
            data = os.read(descriptor, 1 << 16)
            if not data:
                status = self.process.wait(DEADLINE)
                raise AssertionError(f"the program ended ({status}): {self._pending}")
            self._pending += data
        line, _, self._pending = self._pending.partition(b"\n")
        return line.decode()

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
        rest, _ = self.process.communicate(timeout=DEADLINE)
        return self.process.returncode, (self._pending + rest).decode().splitlines()

    def join(self, source: str) -> None:
        """Make it run a source text."""
        injection.run_in(refusal.check(self.pid), source)

    def wait_blocked_in(self, call: str) -> None:
        """Wait until its main thread is blocked in a system call."""
        wait_until(lambda: call in task_state.read(self.pid).call)

    def goes_on(self) -> bool:
        """Whether it, a program that counts, is not stopped and goes on counting."""
        for _ in range(3):
            self.line()
        return read_status(self.pid)["State"][0] in "RS"


def wait_until(done: Callable[[], bool]) -> None:
    """Wait for a condition; fail after a minute."""
    end = time.monotonic() + DEADLINE
    while not done():
        assert time.monotonic() < end
        time.sleep(0.005)


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
