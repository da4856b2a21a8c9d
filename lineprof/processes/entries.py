"""Entries of runs: links by which a child finds a run that its environment lacks.

A parent may start a child in C, with an environment of its own making: a copy of
`os.environ` has no variable of ours. So each process that leaves settings for its
children enters the path of the settings in a folder for this user, under its own number
and start, which no other process of this system ever has together. A new Python looks
for the entry of each of its ancestors, the nearest first: see `kernprof.children.DOOR`.

The folder is there while there are runs; without it, no Python looks any further. Its
place depends on nothing in the environment. Only Linux tells a process cheaply of its
ancestors: elsewhere there are no entries.
"""

from __future__ import annotations

import os
import sys

from lineprof.errors import LineprofError
from lineprof.private_folder import check_folder, own_folder_name
from lineprof.process_info import start_ticks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_TEMPORARY = "/tmp"  # noqa: S108  # the folder in it is this user's, and checked
_RUNS = "runs"


def _folder() -> str:
    return os.path.join(_TEMPORARY, own_folder_name(), _RUNS)


def enter(place: str) -> None:
    """Enter `place`, the path of the settings for the children of this process."""
    ticks = start_ticks(os.getpid()) if sys.platform == "linux" else None
    if ticks is None:
        return
    folder = _folder()
    path = os.path.join(folder, f"{os.getpid()}-{ticks}")
    try:
        _drop(lambda name, _: _has_ended(name))  # of processes that were killed
        for made in (os.path.dirname(folder), folder):
            os.makedirs(made, mode=0o700, exist_ok=True)
            check_folder(made)
        os.symlink(place, path)
    except (OSError, LineprofError):  # there are only the children that have a variable
        return


def leave() -> None:
    """Remove the entry of this process."""
    own = f"{os.getpid()}-"
    _drop(lambda name, _: name == f"{own}{start_ticks(os.getpid())}")


def leave_all(folder: str) -> None:
    """Remove all entries of the run with that `folder`."""
    _drop(lambda _, place: os.path.dirname(place) == folder)


def _drop(is_over: Callable[[str, str], bool]) -> None:
    """Remove the entries for whose name and place `is_over` is true."""
    folder = _folder()
    try:
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            if is_over(name, os.readlink(path)):
                os.unlink(path)
        os.rmdir(folder)
    except Exception:  # noqa: BLE001  # it has others, an audit hook refuses it...
        return


def _has_ended(name: str) -> bool:
    """Return whether the process of an entry has ended."""
    pid, _, ticks = name.partition("-")
    return pid.isdigit() and str(start_ticks(int(pid))) != ticks
