"""Forks of this process, for all who follow them: functions for forks stay for ever.

They are called while the program runs, which may have patched `os.getpid`.
"""

from __future__ import annotations

import os
import sys
from _thread import get_native_id
from os import getpid

from lineprof.recording.core import own_blocks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Protocol

    class Follower(Protocol):
        """An object that follows forks."""

        def forked(self) -> None:
            """Follow a fork, in the parent."""

        def begin_in_child(self, parent: int, thread: int) -> None:
            """Follow a fork by `thread` of the process `parent`, in the child."""


class Forks:
    """Registry of followers, in the order in which they came.

    They are not told of a child that is about to run another program, as `subprocess`
    forks them if there is a ``preexec_fn``.
    """

    _followers: list[Follower] = []  # noqa: RUF012  # no typing on the way to the program
    _is_registered = False
    _forking: tuple[int, int] = (0, 0)  # the process and the thread

    @classmethod
    def follow(cls, follower: Follower) -> None:
        """Tell `follower` of forks."""
        cls._followers.append(follower)
        if not cls._is_registered:
            cls._is_registered = True
            os.register_at_fork(
                before=cls._before,
                after_in_parent=cls._in_parent,
                after_in_child=cls._in_child,
            )

    @classmethod
    def forget(cls, follower: Follower) -> None:
        """Tell `follower` no more."""
        if follower in cls._followers:
            cls._followers.remove(follower)

    @classmethod
    def _before(cls) -> None:
        cls._forking = (getpid(), get_native_id())

    @classmethod
    def _in_parent(cls) -> None:
        code = sys._getframe(1).f_code  # noqa: SLF001
        with own_blocks:
            for follower in () if _is_of_subprocess(code) else cls._followers:
                follower.forked()

    @classmethod
    def _in_child(cls) -> None:
        code = sys._getframe(1).f_code  # noqa: SLF001
        with own_blocks:
            for follower in () if _is_of_subprocess(code) else cls._followers:
                follower.begin_in_child(*cls._forking)


def _is_of_subprocess(code: CodeType) -> bool:
    """Return whether `code`, which forks, is that of `subprocess`."""
    popen = getattr(sys.modules.get("subprocess"), "Popen", None)
    execute = getattr(popen, "_execute_child", None)
    return getattr(execute, "__code__", None) is code
