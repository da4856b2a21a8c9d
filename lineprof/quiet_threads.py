"""Threads of lineprof's own in a program, which does not notice them.

Such a thread is not one of ``threading``, waits only in C functions (cProfile would
count Python functions as the program's), receives no signals, and does not keep the
process alive. It ends before a fork, and its owner starts another one after the fork,
in the parent.
"""

from __future__ import annotations

import _thread
import os
import sys
import time
from collections import deque
from functools import partial
from itertools import chain, islice, starmap

from lineprof.held_signals import blocked_signals

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
    from typing import Protocol

    class Owner(Protocol):
        """An object with a thread that must not exist while the process forks."""

        def pause(self) -> None:
            """End the thread for a while."""

        def resume(self) -> None:
            """Start a thread again, in the process that has forked."""

        def forked(self) -> None:
            """Release what the child must not have; called in the child."""

else:
    import _signal as signal  # `signal` wraps it in enums, which takes 4 ms

_MAX_WAIT = 10.0  # s for a call in progress
_POLL = 5e-5  # s between checks whether the thread has ended
_TASKS = "/proc/self/task"  # of Linux: a folder for each thread


class QuietThread:
    """One thread, from its start to its end."""

    def __init__(
        self,
        wait: Callable[[], object],
        until: object,
        act: Callable[[object], object],
        wake: Callable[[], object],
        done: Callable[[], object] = bool,
    ) -> None:
        """Call `wait` and, unless it returned `until`, `act` with its result; again.

        `wait` is a C function. `wake` makes it return `until`. At the end the thread
        calls `done`.
        """
        self._wake, self._act = wake, act
        self._ended = _thread.allocate_lock()
        self._ended.acquire()
        self._ids: list[int] = []
        acts = chain(
            map(ForkGuard.quiet, (True,)),
            map(self._ids.append, islice(iter(_thread.get_native_id, None), 1)),
            map(self._guarded, iter(wait, until)),
            starmap(done, ((),)),
            map(type(self._ended).release, (self._ended,)),
        )
        before = blocked_signals()
        try:
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
            _thread.start_new_thread(deque, (acts, 0))
        except RuntimeError:  # no memory for the thread: nothing will be called
            self._ended.release()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _guarded(self, result: object) -> None:
        """Call `act`; an exception ends the thread, and the program hears nothing."""
        try:
            self._act(result)
        except BaseException:  # noqa: BLE001  # `print_exception` would be called
            self._ended.release()
            raise SystemExit from None  # of this thread

    @property
    def is_here(self) -> bool:
        """Whether the calling thread is this one."""
        return self._ids == [_thread.get_native_id()]

    def end(self) -> None:
        """End the thread, and wait until it has ended.

        Called by the thread itself, return at once: it ends after the current `act`.
        """
        self._wake()
        if self.is_here:
            return
        if not self._ended.acquire(timeout=_MAX_WAIT) or not self._ids:
            return
        task = f"{_TASKS}/{self._ids[0]}"  # os.fork warns while the thread exists
        deadline = time.monotonic() + _MAX_WAIT
        while os.path.exists(task) and time.monotonic() < deadline:
            time.sleep(_POLL)


_QUICK = 1e-5  # s


class QuickTurns:
    """A ``with`` block in which other threads give up the GIL after 10 us.

    A thread beside busy ones otherwise waits for 5 ms each time that it needs the GIL
    again, after each system call. The program may change the interval in between. The
    last one of several blocks that overlap restores it.
    """

    _lock = _thread.allocate_lock()
    _count = 0
    _before = _quick = 0.0  # s

    def __init__(self, before: float | None = None) -> None:
        """Restore `before`, in s, at the end; by default the interval at the start."""
        self._own_before = before

    @classmethod
    def interval(cls) -> float:
        """Return the program's own interval, in s."""
        with cls._lock:
            return cls._before if cls._count else sys.getswitchinterval()

    def begin(self) -> None:
        """Shorten the interval, until `end`; what ``with`` does."""
        cls = type(self)
        with cls._lock:
            cls._count += 1
            if cls._count == 1:
                before = self._own_before
                cls._before = sys.getswitchinterval() if before is None else before
                sys.setswitchinterval(_QUICK)
                cls._quick = sys.getswitchinterval()

    def end(self) -> None:
        """Restore it."""
        cls = type(self)
        with cls._lock:
            cls._count -= 1
            if not cls._count and sys.getswitchinterval() == cls._quick:
                sys.setswitchinterval(cls._before)

    def __enter__(self) -> None:
        self.begin()

    def __exit__(self, *_exception: object) -> None:
        self.end()


class ForkGuard:
    """Fork hooks: no thread of an owner exists while the process forks."""

    # Called with True where blocks of memory that are allocated are lineprof's own, and
    # with False after that.
    quiet: Callable[[bool], object] = bool
    _registered = False
    _owners: list[Owner] = []  # noqa: RUF012
    _resumed: Callable[[], object] | None = None

    @classmethod
    def prepare(
        cls,
        soon: Callable[[Callable[[], None]], None],
        quiet: Callable[[bool], object],
    ) -> None:
        """Take a C function that makes the main thread call another one a little later.

        `quiet` is also a C function.
        From Python 3.12 on `os.fork` warns if there are threads once all hooks were
        called: so threads start again after `os.fork` has returned.
        """
        cls.quiet = quiet
        if cls._resumed is None:
            is_late = sys.version_info >= (3, 12)
            cls._resumed = partial(soon, cls._resume) if is_late else cls._resume

    @classmethod
    def watch(cls, owner: Owner) -> None:
        """Pause `owner` during forks, after `prepare`; the hooks stay for ever.

        They are registered last: hooks called after them could start a thread.
        """
        cls._owners.append(owner)
        if not cls._registered:
            assert cls._resumed is not None  # noqa: S101  # see `prepare`
            cls._registered = True
            os.register_at_fork(
                before=cls._before,
                after_in_parent=cls._resumed,
                after_in_child=cls._forked,
            )

    @classmethod
    def forget(cls, owner: Owner) -> None:
        """Do not pause `owner` any more."""
        if owner in cls._owners:
            cls._owners.remove(owner)

    @classmethod
    def _before(cls) -> None:
        cls.quiet(True)
        for owner in cls._owners:
            owner.pause()
        cls.quiet(False)

    @classmethod
    def _resume(cls) -> None:
        cls.quiet(True)
        for owner in cls._owners:
            owner.resume()
        cls.quiet(False)

    @classmethod
    def _forked(cls) -> None:
        cls.quiet(True)
        owners, cls._owners[:] = [*cls._owners], []
        for owner in owners:
            owner.forked()
        cls.quiet(False)
