"""SIGTERM: write the profile first, then die of it as the program would have."""

from __future__ import annotations

import _thread
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
else:
    import _signal as signal  # what `signal` wraps in enums, which take 4 ms


class SigtermHandler:
    """A handler of SIGTERM that stands where the program left the default.

    Python runs handlers between two instructions of the main thread: a call
    that blocks is interrupted for it, one that computes is not, so there the
    process dies when that call returns; and a signal that comes in the instant
    before a call blocks waits with it, for the next signal. (SIGKILL does not
    wait.) A second SIGTERM does not disturb the writing that the first began.

    ``signal.getsignal`` gives this object, which equals ``signal.SIG_DFL``, so
    that a program that asks whether SIGTERM is its own to handle is told yes;
    put back by the program, it goes on to work. A forked child has the true
    default.
    """

    def __init__(self, finish: Callable[[], bool]) -> None:
        """Call `finish` before the process dies; False: it is under way already."""
        self._finish = finish
        self._pid = os.getpid()
        self._posing = False
        self._came = False

    def install(self) -> None:
        """Take SIGTERM if it has its default and this is the main thread."""
        if signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
            return
        try:
            signal.signal(signal.SIGTERM, self)
        except ValueError:  # another thread
            return
        self._posing = True
        _ForkGuard.watch()

    def remove(self) -> None:
        """Give SIGTERM back its default, unless the program has taken it."""
        if signal.getsignal(signal.SIGTERM) is self:
            _restore_default()

    def settle(self) -> None:
        """Die of a SIGTERM that came while the profile was being written."""
        if self._came:
            self._die()

    def __call__(self, *_signal_and_frame: object) -> None:
        """Write the profile and die, unless that is under way."""
        if self._came:
            return
        self._came = True
        if os.getpid() != self._pid or self._finish():
            self._die()

    def __eq__(self, other: object) -> bool:
        """Equal the default, which this stands for."""
        return self is other or (
            self._posing and isinstance(other, int) and other == signal.SIG_DFL
        )

    def __hash__(self) -> int:
        """Differ from the default's: `signal.getsignal` must not mistake it."""
        return id(self)

    @staticmethod
    def _die() -> None:
        _restore_default()
        os.kill(os.getpid(), signal.SIGTERM)


def _restore_default() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


class _ForkGuard:
    """Gives forked children the true default, with no instant in between.

    Until then SIGTERM is held back: python, when it has forked, forgets the
    signals that came in the child before.
    """

    _watching = False

    @classmethod
    def watch(cls) -> None:
        """Watch over all forks from now on; it cannot be undone."""
        if cls._watching:
            return
        cls._watching = True
        forks = cls()
        os.register_at_fork(
            before=forks.before,
            after_in_parent=forks.release,
            after_in_child=forks.in_child,
        )

    def __init__(self) -> None:
        self._held: set[int] = set()  # threads that are about to fork, or have

    def before(self) -> None:
        """Hold SIGTERM back in this thread, unless the program does so."""
        if isinstance(signal.getsignal(signal.SIGTERM), SigtermHandler):
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
            if signal.SIGTERM not in mask:
                self._held.add(_thread.get_ident())

    def in_child(self) -> None:
        """Restore the default, of which the child dies if one was held back."""
        if isinstance(signal.getsignal(signal.SIGTERM), SigtermHandler):
            _restore_default()
        self.release()

    def release(self) -> None:
        """Hold SIGTERM back no longer."""
        if _thread.get_ident() in self._held:
            self._held.discard(_thread.get_ident())
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
