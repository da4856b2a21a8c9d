"""A process that a client waits for: whether it runs, and for how long to wait."""

from __future__ import annotations

import os
import select
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from lineprof.errors import LineprofError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

TIMEOUT = 60.0  # s that a client waits for an answer by default
_TOLD_AFTER = 2.0  # s until the user is told why it takes long
_POLL = 0.01  # s
_ENDED = (b"Z", b"X")  # states of a process


class Watch:
    """One process, until it ends; a process of the same number later is another one."""

    def __init__(self, pid: int) -> None:
        """Watch a process; it has ended if there is none."""
        self.pid = pid
        self._handle = -1
        with suppress(AttributeError, OSError):  # Linux 5.3 and later have it
            self._handle = os.pidfd_open(pid)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Watch no longer."""
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)

    @property
    def descriptor(self) -> int:
        """A descriptor that can be read from once the process has ended; -1 without."""
        return self._handle

    @property
    def has_ended(self) -> bool:
        """Whether the process has ended, also if its parent has not followed yet."""
        if self._handle >= 0:
            ended = select.poll()
            ended.register(self._handle, select.POLLIN)
            return bool(ended.poll(0))
        try:
            with open(f"/proc/{self.pid}/stat", "rb") as stream:
                return stream.read().rpartition(b")")[2].split()[0] in _ENDED
        except OSError:
            return os.path.isdir("/proc/self") or not _is_there(self.pid)

    def ends_within(self, seconds: float) -> bool:
        """Wait until the process has ended, for `seconds` at most; return if it has."""
        until = time.monotonic() + seconds
        while not self.has_ended and time.monotonic() < until:
            time.sleep(_POLL)
        return self.has_ended


def _is_there(pid: int) -> bool:
    """Return whether there is a process, on a system without /proc."""
    try:
        os.kill(pid, 0)
    except OSError as error:
        return isinstance(error, PermissionError)
    return True


class Patience:
    """The time within which a process is to answer, counted from `begin`."""

    def __init__(
        self,
        pid: int,
        say: Callable[[str], object],
        why: Callable[[], str],
        timeout: float = TIMEOUT,
    ) -> None:
        """Wait for `timeout` s; `say` is called once, after 2 s, with the reason.

        `why` returns the reason, as half a sentence.
        """
        self._pid = pid
        self.say, self._why = say, why
        self._timeout = timeout
        self.begin()

    def begin(self) -> None:
        """Begin to wait for the next answer."""
        self._began = time.monotonic()
        self._is_told = False

    def next_s(self) -> float:
        """Return for how many s to wait before the next `check`."""
        passed = time.monotonic() - self._began
        until = self._timeout if self._is_told else min(_TOLD_AFTER, self._timeout)
        return max(0.0, until - passed)

    def check(self) -> None:
        """Say what is waited for if it is time; LineprofError if it took too long."""
        passed = time.monotonic() - self._began
        if passed >= self._timeout:
            raise LateError(
                f"process {self._pid} has not answered within {self._timeout:g} s:"
                f" {self._why()}",
                hint="wait longer with --timeout",
            )
        if passed >= _TOLD_AFTER and not self._is_told:
            self._is_told = True
            self.say(f"process {self._pid}: {self._why()}")


class LateError(LineprofError):
    """The process has not answered in time."""
