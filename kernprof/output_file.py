"""Where the profile goes: placeholders in its name, and whether it can be written.

The path is settled before the program runs, so that a program that changes
folder, host name or clock does not move it.
"""

from __future__ import annotations

import os
import stat
import time

from kernprof.options import UsageError
from lineprof import files

VARIABLE = "LINEPROF_OUTFILE"
_LINES = ".lprof"  # how profiles of lines end

_ANOTHER = "choose another with -o"


def default_name(suffix: str) -> str:
    """Return the template of a name that the command line does not give.

    It is the variable LINEPROF_OUTFILE; one that names line profiles names those
    of cProfile, which are other files, with their own `suffix`.
    """
    template = os.environ.get(VARIABLE, "")
    if template.endswith(_LINES) and suffix != _LINES:
        template = template[: -len(_LINES)] + suffix
    return template or f"%s{suffix}"


def expand(template: str, *, stem: str, file_name: str) -> str:
    """Return `template` with its placeholders replaced.

    ``%s`` gives `stem`, ``%f`` `file_name`, ``%p`` the process id, ``%h`` the
    host's name, ``%t`` the local time as 2025-01-31T235959, ``%q{VAR}`` a
    variable of the environment and ``%%`` a per cent sign. Raises UsageError
    for any other and for a variable that is not set.
    """
    letters = {
        "s": lambda: stem,
        "f": lambda: file_name,
        "p": lambda: str(os.getpid()),
        "h": lambda: os.uname().nodename,
        "t": lambda: time.strftime("%Y-%m-%dT%H%M%S"),
    }
    return files.expand(template, letters, UsageError)


class OutputFile:
    """A place for the profile, found writable before the program runs."""

    def __init__(self, name: str) -> None:
        """Settle on `name`, relative to the folder that is current now.

        Raises UsageError where no file can be written there.
        """
        self.name = name
        self._start = current_folder()
        self.path = os.path.join(self._start, name)
        if os.path.isabs(self.path):  # a link stays: what it leads to is written
            self.path = os.path.realpath(self.path)
        trouble, hint = _trouble(name, self.path)
        # The null device takes everything, for those who want the table alone.
        if trouble and self.path != os.devnull:
            raise UsageError(
                f"cannot write the profile to {name!r}: {trouble}", hint=hint
            )

    @property
    def shown(self) -> str:
        """A path that leads there from the folder that is current now."""
        if current_folder() == self._start:
            return self.name
        return os.path.join(self._start, self.name)


def current_folder() -> str:
    """Return the current folder, "" where it was removed."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def _trouble(name: str, path: str) -> tuple[str, str]:
    """Return what bars a file at `path`, and what to do; two "" for nothing."""
    folder = os.path.dirname(path)
    if not name:
        return "the name is empty", "name a file with -o"
    if not os.path.isabs(path):
        return "the current folder was removed", _ANOTHER
    if name.endswith(os.sep) or os.path.isdir(path):
        return "it is a folder", "name a file with -o"
    if not os.path.isdir(folder):
        return f"there is no folder {folder!r}", f"make it, or {_ANOTHER}"
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"folder {folder!r} is not writable", _ANOTHER
    return _trouble_with_file(path)


def _trouble_with_file(path: str) -> tuple[str, str]:
    """Return what is wrong with a file at `path`, if there is one."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return "", ""
    except (OSError, ValueError) as error:
        return str(error), _ANOTHER
    if not stat.S_ISREG(status.st_mode):
        return "it is no regular file", "name a file with -o"
    if not os.access(path, os.W_OK):
        return "that file is write-protected", f"remove it, or {_ANOTHER}"
    return "", ""
