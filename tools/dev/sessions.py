"""Runs of pytest in process groups of their own, killed with all their processes.

No limit ends a run that goes on: a run is only ended if it is silent, that is if no
test has finished for some minutes. Then the processes with the tests that have hung
are ended, and their names are told. tests/helpers/suite_plugin.py keeps a file for
each process, beside the report, with its pid and the test that it runs.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tools.dev.envs import open_log

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SILENT_S = 300.0
POLL_S = 0.5
LAST_S = 10.0  # for the output of a process that is ended


@dataclass(frozen=True)
class End:
    """End of a run: its exit status, and the tests that hung."""

    status: int
    hung: tuple[str, ...] = ()


class Sessions:
    """Running commands; a silent one is ended after SILENT_S seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock  # s
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._closed = False

    def run(self, place: dict[str, Any], log: Path, tests: Path) -> End:
        """Run a command with its output in a log.

        `place` has the arguments of Popen that `where` returns; `tests` is the folder
        of files that name the tests that run.
        """
        with open_log(log) as output:
            with self._lock:
                if self._closed:
                    return End(-signal.SIGTERM)
                process = subprocess.Popen(
                    **place,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
                self._running.add(process)
            try:
                return self._watch(process, log, tests)
            finally:
                kill(process)
                self._running.discard(process)

    def _watch(self, process: subprocess.Popen[bytes], log: Path, tests: Path) -> End:
        """Wait until a process has ended, or has been silent for too long."""
        hung: list[str] = []
        size, since = -1, self._clock()
        while True:
            with suppress(subprocess.TimeoutExpired):
                return End(process.wait(timeout=POLL_S), tuple(hung))
            if log.stat().st_size != size:
                size, since = log.stat().st_size, self._clock()
            elif self._clock() - since > SILENT_S:
                found = dict(running_tests(tests))
                hung += found.values()
                if not found or process.pid in found:
                    return End(end(process), tuple(hung))
                for pid in found:  # pytest-xdist starts another process instead
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGABRT)
                since = self._clock()

    def close(self) -> None:
        """Kill all running commands, and start no more."""
        with self._lock:
            self._closed = True
            for process in list(self._running):
                kill(process)


def running_tests(tests: Path) -> Iterator[tuple[int, str]]:
    """Yield the pid of each process that runs a test, and the test."""
    for file in sorted(tests.glob("*")):
        pid, _, test = file.read_text(encoding="utf-8").partition(" ")
        if test:
            yield int(pid), test


def end(process: subprocess.Popen[bytes]) -> int:
    """End a process, which may print its stacks; return its exit status."""
    process.send_signal(signal.SIGABRT)
    with suppress(subprocess.TimeoutExpired):
        return process.wait(timeout=LAST_S)
    kill(process)
    return process.returncode


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and its process group."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
