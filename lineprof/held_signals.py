"""Signals that wait while a ``with`` block runs: profiles are written in one piece.

Python runs handlers of signals between any two instructions of the main thread, on
whatever thread the system delivers a signal. A handler that raises would end the
writing of a profile, and one that writes a profile itself would find modules half
imported. So the handlers are replaced meanwhile, which blocking signals in one thread
would not achieve.
"""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Iterable
    from types import FrameType
    from typing import Self
else:
    import _signal as signal  # `signal` wraps it in enums, which takes 4 ms

PATIENCE = 2.0  # s; a later Ctrl-C, SIGTERM or SIGHUP ends the block

# Of the running instruction, not of an event: they cannot wait. SIGQUIT (Ctrl-\) ends
# a process that hangs.
_NEVER = frozenset(
    (
        *(signal.SIGILL, signal.SIGTRAP, signal.SIGABRT, signal.SIGBUS),
        *(signal.SIGFPE, signal.SIGSEGV, signal.SIGSYS, signal.SIGQUIT),
        *(signal.SIGKILL, signal.SIGSTOP),
    )
)
# Their default ends the process.
_DEADLY = frozenset(
    (
        *(signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGIO),
        *(signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF),
        *(signal.SIGUSR1, signal.SIGUSR2),
    )
)
_BY_USERS = frozenset((signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
_STATUS = "/proc/self/status"  # of Linux
_TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)


def blocked_signals() -> set[int]:
    """Return the signals that this thread blocks.

    It is asked before all signals are blocked in a ``try``, because a handler may raise
    in the call that blocks them.
    """
    return signal.pthread_sigmask(signal.SIG_BLOCK, ())


class HeldSignals:
    """Signals that wait for the end of a ``with`` block, in the main thread.

    Those with a handler in Python wait, and with `deadly` those whose default would
    end the process. A user who sends SIGINT, SIGTERM or SIGHUP `PATIENCE` seconds
    after the block began ends it: KeyboardInterrupt. Other threads are not concerned,
    as they run no handlers: there the block changes nothing. Blocks may be nested.
    """

    def __init__(self, *, deadly: bool = False) -> None:
        """Change nothing yet."""
        self.received: dict[int, None] = {}  # numbers of signals, in order
        self.fatal = 0  # the signal that has ended the block
        self._deadly = deadly
        self._handlers: dict[int, object] = {}
        self._depth = 0
        self._patient_until = 0.0

    def __enter__(self) -> Self:
        """Replace the handlers."""
        if not self._depth:
            before = blocked_signals()
            # A context manager cannot do this: a handler that raises as its `__exit__`
            # begins would leave all signals blocked.
            try:
                signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
                self._patient_until = time.monotonic() + PATIENCE
                self._replace()
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
        self._depth += 1
        return self

    def __exit__(self, *_exception: object) -> None:
        """Restore the handlers, and deliver the signals that have waited."""
        if self._depth > 1:
            self._depth -= 1
        else:
            self.restore()
            self.deliver()

    def hold(self) -> None:
        """Begin the block; `restore` ends it, if at all: a process may end before."""
        self.__enter__()

    def ignore(self, numbers: Iterable[int]) -> None:
        """Ignore the signals of `numbers` that wait, until the process ends."""
        for number in numbers:
            if number in self._handlers:
                signal.signal(number, signal.SIG_IGN)

    def restore(self) -> None:
        """Restore the handlers."""
        self._depth = 0
        if not self._handlers:
            return
        before = blocked_signals()
        try:
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
            self._put_back()  # a method, for the reason given there
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def deliver(self) -> None:
        """Send the signals that have waited to this process again."""
        while self.received:
            number = next(iter(self.received))
            del self.received[number]
            signal.raise_signal(number)

    def _put_back(self) -> None:
        """Give each signal the handler that it had.

        The loop is not in the ``try`` block itself, because Python also runs handlers
        of signals where a loop jumps back, and their exceptions miss the ``finally``.
        """
        while self._handlers:
            number, handler = self._handlers.popitem()
            if signal.getsignal(number) == self._note:
                signal.signal(number, handler)  # type: ignore[arg-type]

    def _replace(self) -> None:
        caught = _caught_signals() if self._deadly else 0
        for number in signal.valid_signals() - _NEVER:
            handler = signal.getsignal(number)
            if self._holds(number, handler, caught):
                self._handlers[number] = handler
                try:
                    signal.signal(number, self._note)
                except (OSError, ValueError):  # the C library's; another thread
                    del self._handlers[number]

    def _holds(self, number: int, handler: object, caught: int) -> bool:
        """Return whether a signal waits; a handler of C code stays."""
        if callable(handler):
            return handler != self._note
        is_caught = caught >> (number - 1) & 1
        is_default = handler == signal.SIG_DFL and not is_caught
        return self._deadly and is_default and number in _DEADLY

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self.received[number] = None
        if number in _BY_USERS and time.monotonic() > self._patient_until:
            self.fatal = number
            raise KeyboardInterrupt


class NoSizeSignal:
    """A ``with`` block in which a write beyond a limit (RLIMIT_FSIZE) is an OSError.

    If the program has restored the default action of SIGXFSZ, which Python ignores, the
    process would die of it. The signal is blocked in this thread, the one that writes;
    one that comes in the block is dropped.
    """

    def __enter__(self) -> None:
        """Block the signal."""
        numbers = [signal.SIGXFSZ]
        self._is_blocked = signal.SIGXFSZ in signal.pthread_sigmask(
            signal.SIG_BLOCK, numbers
        )
        self._is_pending = signal.SIGXFSZ in signal.sigpending()

    def __exit__(self, *_exception: object) -> None:
        """Drop it if it came, and unblock it unless it was blocked before."""
        if not self._is_pending and signal.SIGXFSZ in signal.sigpending():
            signal.sigwait([signal.SIGXFSZ])
        if not self._is_blocked:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGXFSZ])


def _caught_signals() -> int:
    """Return the signals with a handler of any kind, as bits; 0 if unknown."""
    try:
        handle = os.open(_STATUS, os.O_RDONLY)
        try:
            data = os.read(handle, 1 << 14)
        finally:
            os.close(handle)
    except Exception:  # noqa: BLE001  # OSError, or what an audit hook raises
        return 0
    _, _, rest = data.partition(b"SigCgt:")
    return int(rest.split(None, 1)[0], 16) if rest else 0


_whole: set[str] = set()  # modules that were imported by `import_whole`


def import_whole(*names: str) -> None:
    """Import modules, while handlers of signals wait: these may need them as well.

    A handler that runs during an import finds a module without half its names.
    """
    if _whole.issuperset(names):
        return
    with HeldSignals():
        for name in names:
            __import__(name)
        _whole.update(names)


def pause_timers() -> list[tuple[int, float]]:
    """Stop the process' interval timers; return those that ran, and their s to go."""
    return [
        (timer, left) for timer in _TIMERS if (left := signal.setitimer(timer, 0.0)[0])
    ]


def resume_timers(timers: list[tuple[int, float]], later: float) -> None:
    """Let `timers` end once, `later` s after they would have."""
    for timer, left in timers:
        signal.setitimer(timer, left + later)
