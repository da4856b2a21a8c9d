"""File descriptors for writing, in a process that may have none left.

The program keeps all of its own: another thread gets a table of descriptors of its own
(``csrc/record/file_table.h``), in which some of them are closed. Nothing is reserved
while the program runs, so that it sees the numbers that it would see without lineprof.
"""

from __future__ import annotations

import errno
import os
import stat

from lineprof._core import call_with_own_descriptors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container

_NEEDED = 6  # for a module, a database, its journal, a folder, and two to spare
_TO_CLOSE = 16
_MAX_LOOKED_AT = 1 << 16
_STREAMS = 3
_EXHAUSTED = (errno.EMFILE, errno.ENFILE)
_GPU = "/dev/nvidia"  # first part of the names of devices that recording may use


def with_descriptors(act: Callable[[], None], keep: Container[int] = ()) -> None:
    """Call `act`, for which there are some file descriptors left.

    If the process has none, another thread calls it; the descriptors in `keep` are
    open there, and most others.
    """

    def close_and_act() -> None:
        _close_some(keep)
        act()

    if _are_left() or not call_with_own_descriptors(close_and_act):
        act()


def _are_left() -> bool:
    """Return whether there are file descriptors left; True if that is unknown."""
    handles: list[int] = []
    try:
        while len(handles) < _NEEDED:
            handles.append(os.open(os.sep, os.O_RDONLY))
    except OSError as error:
        return error.errno not in _EXHAUSTED
    except Exception:  # noqa: BLE001  # of an audit hook
        return True
    finally:
        for handle in handles:
            os.close(handle)
    return True


def _close_some(keep: Container[int]) -> None:
    """Close some descriptors in this thread's own table, the highest numbers first.

    What a program has kept open without end was opened last.
    """
    left = _TO_CLOSE
    for handle in range(_last() - 1, _STREAMS - 1, -1):
        if handle in keep or _is_of_gpu(handle):
            continue
        try:
            os.close(handle)
        except OSError:  # it is free
            continue
        left -= 1
        if not left:
            return


def _last() -> int:
    """Return a number that is above those of all descriptors, or of many."""
    return min(os.sysconf("SC_OPEN_MAX"), _MAX_LOOKED_AT)


def _is_of_gpu(handle: int) -> bool:
    try:
        if not stat.S_ISCHR(os.fstat(handle).st_mode):
            return False
        return os.readlink(f"/proc/self/fd/{handle}").startswith(_GPU)
    except OSError:  # it is free, or nobody knows
        return False
