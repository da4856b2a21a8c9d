"""The live file of a run: what is counted, in a file that outlives the process.

The C core keeps the counters there (``csrc/record/live_file.h``). This module chooses
the file, and adds notes: what a profile has beside counts. A note is the text of a
dict of plain values, as `repr` gives it.

`lineprof.processes.recovery` reads live files.
"""

from __future__ import annotations

import os

from lineprof import process_info
from lineprof.errors import LineprofError
from lineprof.files import absolute_path, real_path
from lineprof.private_folder import check_folder, own_folder_name, temporary_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

VARIABLE = "LINEPROF_LIVE"  # the folder of live files, or "off"
SUFFIX = ".live"

_OFF = frozenset({"off", "no", "0"})


def live_folder() -> str | None:
    """Return the folder in which this process would have a live file; None if off.

    It is that of the variable LINEPROF_LIVE, or one for this user in the folder for
    temporary files. Below a folder that others can write to it is one for this user.
    """
    wanted = os.environ.get(VARIABLE)
    if wanted:
        if wanted.lower() in _OFF:
            return None
        folder = real_path(absolute_path(wanted))
        try:
            check_folder(folder, hint=f"set {VARIABLE}")
        except FileNotFoundError:
            return folder
        except (OSError, LineprofError):
            return os.path.join(folder, own_folder_name())
        return folder
    return os.path.join(temporary_folder(), own_folder_name())


class LiveFile:
    """The live file of this process."""

    def __init__(self, core: ModuleType, path: str, run: str, out: str) -> None:
        """Take the open file at `path`; `core` is the C module.

        `run` is the name of the run, which the processes of one run share, and `out`
        the path of its profile.
        """
        self.out = out
        self._core = core
        self.path = path
        self.run = run

    def note(self, **values: object) -> None:
        """Add a note: plain values by name."""
        self._core.live_note(repr(values).encode("utf-8", "surrogatepass"))

    def move(self) -> bool:
        """Continue in a file of its own; called in a child that was just forked.

        The new file is in the same folder, with what was counted and noted so far:
        the counts are to be reset before. Returns whether there is one.
        """
        path = _new_path(os.path.dirname(self.path))
        try:
            self._core.live_move(path)
        except OSError:
            return False
        self.path = path
        self.note(identity=process_info.identity())
        return True

    @property
    def is_complete(self) -> bool:
        """Whether all counts and notes so far are in the file."""
        complete: bool = self._core.live_is_complete()
        return complete

    def unwatch_signals(self) -> None:
        """Note no more of which signal the process dies: its handlers are removed."""
        self._core.live_unwatch_signals()

    def close(self, reason: str = "", *, remove: bool) -> None:
        """End: the run is over, for `reason`; with `remove` the profile is written."""
        short = reason.encode("utf-8", "replace")[:_MAX_REASON]
        self._core.live_close(short.decode("utf-8", "ignore"), remove)


_MAX_REASON = 31  # bytes, LP_LIVE_REASON in the core


def _new_path(folder: str) -> str:
    """Return a free name for a live file of this process."""
    return os.path.join(folder, f"{os.getpid()}-{os.urandom(6).hex()}{SUFFIX}")


def open_live_file(
    core: ModuleType,
    clock: str,
    out: str,
    *,
    folder: str | None = None,
    run: str | None = None,
) -> LiveFile | None:
    """Create the live file of this process; None if there is none.

    To be called before the first tracer is made. `clock` is the name of the clock that
    tracers will have, `out` the path of the profile. A child that is part of the `run`
    of another process puts its file into that one's `folder`. The profiled program
    never fails because it cannot have a live file.
    """
    folder = folder or live_folder()
    if folder is None:
        return None
    path = _new_path(folder)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        check_folder(folder, hint=f"set {VARIABLE}")
        core.live_open(path, clock)
    except (OSError, ValueError, LineprofError):
        return None
    stem = os.path.basename(path).removesuffix(SUFFIX)
    live = LiveFile(core, path, run or stem, absolute_path(out))
    live.note(out=live.out, identity=process_info.identity(), run=live.run)
    return live
