"""Periodic calls by a thread that the program does not notice: the profile so far (-i).

It ends before a fork and starts again after it, in the parent.
"""

from __future__ import annotations

import _thread
import time
from functools import partial

from lineprof.quiet_threads import ForkGuard, QuietThread
from lineprof.recording.core import call_soon, memory_quiet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_SHARE = 50  # s to wait for each second of processor time that a call took


class PeriodicDump:
    """Timer that calls `dump` every `seconds` between `start` and `stop`.

    It calls less often if a call takes more than a fiftieth of the processor time; and
    with `longest`, the interval doubles after each call up to that many seconds.
    """

    def __init__(
        self, seconds: float, dump: Callable[[], object], *, longest: float = 0.0
    ) -> None:
        """Start no thread yet; with 0 `seconds`, never."""
        self._seconds = seconds
        self._longest = longest
        self._dump = dump
        self._due = 0.0  # s, of the monotonic clock
        self._thread: QuietThread | None = None
        self._wait: partial[bool]  # for the time until the next call
        if seconds:
            ForkGuard.prepare(call_soon, memory_quiet)

    def start(self) -> None:
        """Begin to count the seconds."""
        if self._seconds:
            self._due = time.monotonic() + self._seconds
            ForkGuard.watch(self)
            self.resume()

    def stop(self) -> None:
        """Call `dump` no more; wait for a call in progress."""
        ForkGuard.forget(self)
        self.pause()

    def pause(self) -> None:
        """End the thread for a while."""
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.end()

    def resume(self) -> None:
        """Start a thread again; its first call is due when it was before."""
        if self._thread is None:
            first = max(0.0, self._due - time.monotonic())
            wake = _thread.allocate_lock()
            wake.acquire()  # released to end the thread
            self._wait = partial(wake.acquire, timeout=first)
            self._thread = QuietThread(self._wait, True, self._act, wake.release)

    def forked(self) -> None:
        """Do nothing in the child: it has no thread."""

    def _act(self, _: object) -> None:
        self._wait.keywords["timeout"] = self._tick()

    def _tick(self) -> float:
        """Call `dump`; return the seconds until the next call."""
        began = time.thread_time()
        try:  # noqa: SIM105  # the last call, at the end, reports errors
            self._dump()
        except BaseException:  # noqa: BLE001, S110
            pass
        cost = time.thread_time() - began
        self._seconds = max(self._seconds, min(2 * self._seconds, self._longest))
        wait = max(self._seconds, _SHARE * cost)
        self._due = time.monotonic() + wait
        return wait
