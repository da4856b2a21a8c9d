"""Periodic calls by a thread that the program does not notice: the profile so far (-i).

The thread is not one of ``threading``, waits only in C functions (cProfile would count
Python functions as the program's), receives no signals, and does not keep the process
alive. It ends before a fork and starts again after it, in the parent.
"""

from __future__ import annotations

import _thread
import os
import sys
import time
from collections import deque
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
else:
    import _signal as signal  # `signal` wraps it in enums, which takes 4 ms

_MAX_WAIT = 10.0  # s for a call in progress
_SHARE = 50  # s to wait for each second of processor time that a call took
_POLL = 5e-5  # s between checks whether the thread has ended
_TASKS = "/proc/self/task"  # of Linux: a folder for each thread


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
        self._thread: _Thread | None = None
        if seconds:
            _ForkGuard.prepare()

    def start(self) -> None:
        """Begin to count the seconds."""
        if self._seconds:
            self._due = time.monotonic() + self._seconds
            _ForkGuard.watch(self)
            self.resume()

    def stop(self) -> None:
        """Call `dump` no more; wait for a call in progress."""
        _ForkGuard.forget(self)
        self.pause()

    def pause(self) -> None:
        """End the thread for a while."""
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.end()

    def resume(self) -> None:
        """Start a thread again; its first call is due when it was before."""
        if self._thread is None:
            wait = max(0.0, self._due - time.monotonic())
            self._thread = _Thread(wait, self._tick)

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


class _Thread:
    """One thread, from its start to its end."""

    def __init__(self, first: float, tick: Callable[[], float]) -> None:
        """Call `tick` in `first` s, and then after as many seconds as it returns."""
        self._tick = tick
        self._wake, self._ended = _thread.allocate_lock(), _thread.allocate_lock()
        self._wake.acquire()  # released to end it
        self._ended.acquire()
        self._ids: list[int] = []
        self._wait = partial(self._wake.acquire, timeout=first)
        acts = chain(
            map(self._ids.append, islice(iter(_thread.get_native_id, None), 1)),
            map(self._act, iter(self._wait, True)),
            map(type(self._ended).release, (self._ended,)),
        )
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            _thread.start_new_thread(deque, (acts, 0))
        except RuntimeError:  # no memory for it: the profile comes at the end alone
            self._ended.release()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _act(self, _: object) -> None:
        self._wait.keywords["timeout"] = self._tick()

    def end(self) -> None:
        """End the thread, and wait until it has ended."""
        self._wake.release()
        if not self._ended.acquire(timeout=_MAX_WAIT) or not self._ids:
            return
        task = f"{_TASKS}/{self._ids[0]}"  # os.fork warns while the thread exists
        deadline = time.monotonic() + _MAX_WAIT
        while os.path.exists(task) and time.monotonic() < deadline:
            time.sleep(_POLL)


class _ForkGuard:
    """Fork hooks: no thread of a `PeriodicDump` exists while the process forks."""

    _registered = False
    _running: list[PeriodicDump] = []  # noqa: RUF012
    _resumed: Callable[[], object] | None = None

    @classmethod
    def prepare(cls) -> None:
        """Import what `watch` needs, before the program can shadow it."""
        cls._resumed = cls._resumed or _soon(cls._resume)

    @classmethod
    def watch(cls, timer: PeriodicDump) -> None:
        """Pause `timer` during forks; the hooks are registered for ever.

        They are registered last: hooks called after them could start a thread.
        """
        cls._running.append(timer)
        if not cls._registered:
            cls.prepare()
            cls._registered = True
            os.register_at_fork(
                before=cls._before,
                after_in_parent=cls._resumed,
                after_in_child=cls._running.clear,
            )

    @classmethod
    def forget(cls, timer: PeriodicDump) -> None:
        """Do not pause `timer` any more."""
        if timer in cls._running:
            cls._running.remove(timer)

    @classmethod
    def _before(cls) -> None:
        for timer in cls._running:
            timer.pause()

    @classmethod
    def _resume(cls) -> None:
        for timer in cls._running:
            timer.resume()


def _soon(act: Callable[[], None]) -> Callable[[], object]:
    """Return a C function that makes the main thread call `act` a little later.

    From Python 3.12 on `os.fork` warns if there are threads once all hooks were called:
    so `act` is called after `os.fork` has returned.
    """
    if sys.version_info < (3, 12):
        return act
    try:
        import ctypes  # noqa: PLC0415  # seldom needed, and before the program is
    except ImportError:
        return act

    def called(_: object) -> int:
        act()
        return 0

    call = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(called)
    return partial(ctypes.pythonapi.Py_AddPendingCall, call, None)
