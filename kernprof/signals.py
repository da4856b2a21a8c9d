"""Handler of SIGTERM and SIGHUP: it writes the profile, then the process dies."""

from __future__ import annotations

import _thread
import os
from contextlib import suppress

from lineprof._core import memory_quiet, repeat_signal, signal_handled

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
else:
    import _signal as signal  # `signal` wraps it in enums, which takes 4 ms


_HANDLED = (signal.SIGTERM, signal.SIGHUP)


class DyingHandler:
    """Handler of SIGTERM and SIGHUP, installed where the program has the default one.

    Python runs handlers between two instructions of the main thread. A call that
    blocks is interrupted for the handler; one that computes is not, so the process
    dies when the call returns. A signal that comes in the instant before a call blocks
    is sent once more, which interrupts the call (on Linux; elsewhere it waits for the
    next signal). (SIGKILL does not wait.) Signals that come while the profile is
    written do not disturb that.

    ``signal.getsignal`` returns this object, which equals ``signal.SIG_DFL`` and looks
    like it, so that a program that asks whether SIGTERM has a handler is told no; if
    the program puts the object back, it works again. A forked child has the real
    default.
    """

    def __init__(self, finish: Callable[[str], bool]) -> None:
        """Call `finish` with the signal's name before the process dies of it.

        It returns False if it is running already.
        """
        self._finish = finish
        self._pid = os.getpid()
        self._is_installed = False
        self._received = False

    def install(self) -> None:
        """Handle the signals that have their default, if this is the main thread."""
        for number in _HANDLED:
            if signal.getsignal(number) != signal.SIG_DFL:
                continue
            try:
                signal.signal(number, self)
            except ValueError:  # another thread
                return
            with suppress(OSError):  # no timer is to be had
                repeat_signal(number)
            self._is_installed = True
        if self._is_installed:
            _ForkGuard.watch()

    def remove(self) -> None:
        """Restore the default, unless the program has set a handler."""
        for number in _HANDLED:
            if signal.getsignal(number) is self:
                signal.signal(number, signal.SIG_DFL)

    def __call__(self, number: int, _frame: object) -> None:
        """Write the profile and die, unless a first signal is being handled."""
        signal_handled()
        if self._received:
            return
        self._received = True
        name = "SIGHUP" if number == signal.SIGHUP else "SIGTERM"
        if os.getpid() != self._pid or self._finish(name):
            die_of(number)

    def __eq__(self, other: object) -> bool:
        """Return True for the default, in place of which this is installed."""
        return self is other or (
            self._is_installed and isinstance(other, int) and other == signal.SIG_DFL
        )

    def __hash__(self) -> int:
        """Return another hash than the default's, for `signal.getsignal`."""
        return id(self)

    def __repr__(self) -> str:
        """Return the default's."""
        return "<Handlers.SIG_DFL: 0>"

    def __str__(self) -> str:
        """Return the default's."""
        return "0"


def die_of(number: int) -> None:
    """End this process by the default action of a signal."""
    if number != signal.SIGKILL:  # which has no handlers
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


class _ForkGuard:
    """Fork hooks that give children the real default, with no instant in between.

    The signals are blocked until then: a child that has just been forked loses those
    that it received before.
    """

    _watching = False

    @classmethod
    def watch(cls) -> None:
        """Register the hooks, for all forks from now on."""
        if cls._watching:
            return
        cls._watching = True
        guard = cls()
        os.register_at_fork(
            before=guard.before,
            after_in_parent=guard.release,
            after_in_child=guard.in_child,
        )

    def __init__(self) -> None:
        self._blocked: dict[int, set[int]] = {}  # by the ids of threads that fork

    def before(self) -> None:
        """Block the signals in this thread, unless the program does so."""
        memory_quiet(True)
        ours = _numbers_of_ours()
        if ours:
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, ours)
            self._blocked[_thread.get_ident()] = ours - mask
        memory_quiet(False)

    def in_child(self) -> None:
        """Restore the default; the child dies of it if a signal was blocked."""
        memory_quiet(True)
        for number in _numbers_of_ours():
            signal.signal(number, signal.SIG_DFL)
        self.release()
        memory_quiet(False)

    def release(self) -> None:
        """Unblock the signals."""
        memory_quiet(True)
        blocked = self._blocked.pop(_thread.get_ident(), None)
        if blocked:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, blocked)
        memory_quiet(False)


def _numbers_of_ours() -> set[int]:
    """Return the signals that a `DyingHandler` handles."""
    return {
        number
        for number in _HANDLED
        if isinstance(signal.getsignal(number), DyingHandler)
    }
