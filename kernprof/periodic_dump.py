"""The profile so far, written every few seconds by a thread that nobody sees.

The thread is none of ``threading``'s, waits in functions of C alone (cProfile
would take Python's for the program's), takes no signals, and does not keep the
process alive. It ends before a fork and begins anew after it, in the parent.
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
    import _signal as signal  # what `signal` wraps in enums, which take 4 ms

_LONGEST = 10.0  # s to wait for a file under way; more, and something is amiss
_SHARE = 50  # s to wait for each of processor time that it took
_STEP = 5e-5  # s between looks whether a thread has gone
_TASKS = "/proc/self/task"  # of Linux: a folder for each thread


class PeriodicDump:
    """Calls `dump` every `seconds` between `start` and `stop`.

    Less often where it would take more than a fiftieth of a processor's time, and
    with `longest`: each time after twice as long, up to that.
    """

    def __init__(
        self, seconds: float, dump: Callable[[], object], *, longest: float = 0.0
    ) -> None:
        """Start nothing yet; with 0 `seconds`, never."""
        self._seconds = seconds
        self._longest = longest
        self._dump = dump
        self._due = 0.0  # s, of the clock that never goes back
        self._life: _Life | None = None
        if seconds:
            _ForkGuard.prepare()

    def start(self) -> None:
        """Begin to count the seconds."""
        if self._seconds:
            self._due = time.monotonic() + self._seconds
            _ForkGuard.watch(self)
            self.resume()

    def stop(self) -> None:
        """Call `dump` no more; a call under way is waited for."""
        _ForkGuard.forget(self)
        self.pause()

    def pause(self) -> None:
        """Have no thread for a while."""
        life, self._life = self._life, None
        if life is not None:
            life.end()

    def resume(self) -> None:
        """Have one again, which goes by the time at which it all began."""
        if self._life is None:
            self._life = _Life(max(0.0, self._due - time.monotonic()), self._tick)

    def _tick(self) -> float:
        """Call `dump`; return how long to wait until the next time, in s."""
        began = time.thread_time()
        try:  # noqa: SIM105  # the last call will say what is wrong
            self._dump()
        except BaseException:  # noqa: BLE001, S110
            pass
        cost = time.thread_time() - began
        self._seconds = max(self._seconds, min(2 * self._seconds, self._longest))
        wait = max(self._seconds, _SHARE * cost)
        self._due = time.monotonic() + wait
        return wait


class _Life:
    """One thread, from its start to its end."""

    def __init__(self, first: float, tick: Callable[[], float]) -> None:
        """Call `tick` in `first` s, and then as many s later as it returns."""
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
        """End the thread, and wait until it is no more."""
        self._wake.release()
        if not self._ended.acquire(timeout=_LONGEST) or not self._ids:
            return
        task = f"{_TASKS}/{self._ids[0]}"  # Python warns of forks beside threads
        deadline = time.monotonic() + _LONGEST
        while os.path.exists(task) and time.monotonic() < deadline:
            time.sleep(_STEP)


class _ForkGuard:
    """Sees to it that no thread of ours runs while the process forks."""

    _registered = False
    _running: list[PeriodicDump] = []  # noqa: RUF012
    _resumed: Callable[[], object] | None = None

    @classmethod
    def prepare(cls) -> None:
        """Import what `watch` needs, before the program's own may go by that name."""
        cls._resumed = cls._resumed or _soon(cls._resume)

    @classmethod
    def watch(cls, interval: PeriodicDump) -> None:
        """Watch over forks; that cannot be undone, but does nothing then.

        Registered last: what is called after it could begin what it is to put off.
        """
        cls._running.append(interval)
        if not cls._registered:
            cls.prepare()
            cls._registered = True
            os.register_at_fork(
                before=cls._before,
                after_in_parent=cls._resumed,
                after_in_child=cls._running.clear,
            )

    @classmethod
    def forget(cls, interval: PeriodicDump) -> None:
        """Leave `interval` alone from now on."""
        if interval in cls._running:
            cls._running.remove(interval)

    @classmethod
    def _before(cls) -> None:
        for interval in cls._running:
            interval.pause()

    @classmethod
    def _resume(cls) -> None:
        for interval in cls._running:
            interval.resume()


def _soon(act: Callable[[], None]) -> Callable[[], object]:
    """Return a function of C that has the main thread call `act`, but not at once.

    From Python 3.12 on `os.fork` looks for threads to warn of when it has called
    all that was registered: `act` is called when it has returned.
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
