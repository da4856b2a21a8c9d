"""The profile so far, written every few seconds by a thread that nobody sees.

The thread is none of ``threading``'s, waits in functions of C alone (cProfile
would take Python's for the program's), takes no signals, and does not keep the
process alive. It ends before a fork and begins anew after it, in the parent.
"""

from __future__ import annotations

import _thread
import os
import time
from itertools import chain, islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections import deque
    from collections.abc import Callable
    from functools import partial
else:
    import _signal as signal  # what `signal` wraps in enums, which take 4 ms
    from _collections import deque  # without what is of Python there
    from _functools import partial

_LONGEST = 10.0  # s to wait for a file under way; more, and something is amiss
_STEP = 5e-5  # s between looks whether a thread has gone
_TASKS = "/proc/self/task"  # of Linux: a folder for each thread


class Interval:
    """Calls `dump` every `seconds` between `start` and `stop`."""

    def __init__(self, seconds: float, dump: Callable[[], None]) -> None:
        """Start nothing yet; with 0 `seconds`, never."""
        self._seconds = seconds
        self._dump = dump
        self._life: _Life | None = None

    def start(self) -> None:
        """Begin to count the seconds."""
        if self._seconds:
            self._life = _Life(self._seconds, self._dump)
            _Forks.watch(self)

    def stop(self) -> None:
        """Call `dump` no more; a call under way is waited for."""
        _Forks.forget(self)
        self.pause()

    def pause(self) -> None:
        """Have no thread for a while."""
        life, self._life = self._life, None
        if life is not None:
            life.end()

    def resume(self) -> None:
        """Have one again."""
        if self._life is None:
            self._life = _Life(self._seconds, self._dump)


class _Life:
    """One thread, from its start to its end."""

    def __init__(self, seconds: float, dump: Callable[[], None]) -> None:
        self._dump = dump
        self._wake, self._ended = _thread.allocate_lock(), _thread.allocate_lock()
        self._wake.acquire()  # released to end it
        self._ids: list[int] = []
        waits = iter(partial(self._wake.acquire, True, seconds), True)
        acts = chain(
            map(self._ids.append, islice(iter(_thread.get_native_id, None), 1)),
            map(self._tick, waits),
            map(type(self._ended).release, (self._ended,)),
        )
        self._ended.acquire()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            _thread.start_new_thread(deque, (acts, 0))
        except RuntimeError:  # no memory for it: the profile comes at the end alone
            self._ended.release()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _tick(self, _: object) -> None:
        try:
            self._dump()
        except BaseException:  # noqa: BLE001  # the last one will say what is wrong
            return

    def end(self) -> None:
        """Wait until the thread is no more."""
        self._wake.release()
        if not self._ended.acquire(timeout=_LONGEST) or not self._ids:
            return
        task = f"{_TASKS}/{self._ids[0]}"  # Python warns of forks beside threads
        deadline = time.monotonic() + _LONGEST
        while os.path.exists(task) and time.monotonic() < deadline:
            time.sleep(_STEP)


class _Forks:
    """Sees to it that no thread of ours runs while the process forks."""

    _registered = False
    _running: list[Interval] = []  # noqa: RUF012

    @classmethod
    def watch(cls, interval: Interval) -> None:
        """Watch over forks; that cannot be undone, but does nothing then."""
        cls._running.append(interval)
        if not cls._registered:
            cls._registered = True
            os.register_at_fork(
                before=cls._before,
                after_in_parent=cls._in_parent,
                after_in_child=cls._running.clear,
            )

    @classmethod
    def forget(cls, interval: Interval) -> None:
        """Leave `interval` alone from now on."""
        if interval in cls._running:
            cls._running.remove(interval)

    @classmethod
    def _before(cls) -> None:
        for interval in cls._running:
            interval.pause()

    @classmethod
    def _in_parent(cls) -> None:
        for interval in cls._running:
            interval.resume()
