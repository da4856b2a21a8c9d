"""Handler of SIGTERM: it writes the profile, then the process dies of the signal."""

from __future__ import annotations

import _thread
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
else:
    import _signal as signal  # `signal` wraps it in enums, which takes 4 ms


class SigtermHandler:
    """Handler of SIGTERM, installed only if the program has the default one.

    Python runs handlers between two instructions of the main thread. A call that
    blocks is interrupted for the handler; one that computes is not, so the process
    dies when the call returns; and a signal that comes in the instant before a call
    blocks waits for the next signal. (SIGKILL does not wait.) A second SIGTERM does
    not disturb the writing that the first one began.

    ``signal.getsignal`` returns this object, which equals ``signal.SIG_DFL``, so that
    a program that asks whether SIGTERM has a handler is told no; if the program puts
    the object back, it works again. A forked child has the real default.
    """

    def __init__(self, finish: Callable[[], bool]) -> None:
        """Call `finish` before the process dies; it returns False if it is running."""
        self._finish = finish
        self._pid = os.getpid()
        self._is_installed = False
        self._received = False

    def install(self) -> None:
        """Handle SIGTERM if it has its default and this is the main thread."""
        if signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
            return
        try:
            signal.signal(signal.SIGTERM, self)
        except ValueError:  # another thread
            return
        self._is_installed = True
        _ForkGuard.watch()

    def remove(self) -> None:
        """Restore the default, unless the program has set a handler."""
        if signal.getsignal(signal.SIGTERM) is self:
            _restore_default()

    def settle(self) -> None:
        """Die of a SIGTERM that was received while the profile was written."""
        if self._received:
            self._die()

    def __call__(self, *_signal_and_frame: object) -> None:
        """Write the profile and die, unless a first SIGTERM is being handled."""
        if self._received:
            return
        self._received = True
        if os.getpid() != self._pid or self._finish():
            self._die()

    def __eq__(self, other: object) -> bool:
        """Return True for the default, in place of which this is installed."""
        return self is other or (
            self._is_installed and isinstance(other, int) and other == signal.SIG_DFL
        )

    def __hash__(self) -> int:
        """Return another hash than the default's, for `signal.getsignal`."""
        return id(self)

    @staticmethod
    def _die() -> None:
        _restore_default()
        os.kill(os.getpid(), signal.SIGTERM)


def _restore_default() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


class _ForkGuard:
    """Fork hooks that give children the real default, with no instant in between.

    SIGTERM is blocked until then: a child that has just been forked loses the signals
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
        self._blocked: set[int] = set()  # ids of threads that fork

    def before(self) -> None:
        """Block SIGTERM in this thread, unless the program does so."""
        if isinstance(signal.getsignal(signal.SIGTERM), SigtermHandler):
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
            if signal.SIGTERM not in mask:
                self._blocked.add(_thread.get_ident())

    def in_child(self) -> None:
        """Restore the default; the child dies of it if a signal was blocked."""
        if isinstance(signal.getsignal(signal.SIGTERM), SigtermHandler):
            _restore_default()
        self.release()

    def release(self) -> None:
        """Unblock SIGTERM."""
        if _thread.get_ident() in self._blocked:
            self._blocked.discard(_thread.get_ident())
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
