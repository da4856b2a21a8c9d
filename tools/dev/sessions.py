"""Commands in process groups of their own, killed with all their processes."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from tools.dev.envs import clean_environment, open_log

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


class Sessions:
    """Running commands, each limited to `limit_s` seconds."""

    def __init__(self, *, limit_s: float, every_s: float) -> None:
        self._limit_s = limit_s
        self._every_s = every_s
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._closed = False

    def run(
        self,
        command: Sequence[object],
        log: Path,
        *,
        cwd: Path,
        changes: dict[str, str],
        meanwhile: Callable[[], None],
    ) -> int:
        """Run a command with its output in a log; return its exit status.

        `changes` are made to our environment; `meanwhile` is called every `every_s`
        seconds.
        """
        with open_log(log) as output:
            with self._lock:
                if self._closed:
                    return -signal.SIGTERM
                process = subprocess.Popen(
                    [str(part) for part in command],
                    cwd=cwd,
                    env=clean_environment(**changes),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
                self._running.add(process)
            end_at = time.monotonic() + self._limit_s
            try:
                while time.monotonic() < end_at:
                    with suppress(subprocess.TimeoutExpired):
                        return process.wait(timeout=self._every_s)
                    meanwhile()
                print(f"\nkilled after {self._limit_s} s", file=output)
                return -signal.SIGKILL
            finally:
                kill(process)
                self._running.discard(process)

    def close(self) -> None:
        """Kill all running commands, and start no more."""
        with self._lock:
            self._closed = True
            for process in list(self._running):
                kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and its process group."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
