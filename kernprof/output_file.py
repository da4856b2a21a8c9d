"""The file that the profile is written to: its name, and a check before the run.

The path is fixed before the program runs, so that a program that changes its current
folder, the host name or the clock does not move it.
"""

from __future__ import annotations

import os
import stat
import time

from kernprof.options import UsageError
from lineprof import files

VARIABLE = "LINEPROF_OUTFILE"
_LINES = ".lprof"  # the suffix of line profiles
_ANOTHER = "choose another with -o"


def default_name(suffix: str) -> str:
    """Return the template of the name if there is no -o.

    That is the variable LINEPROF_OUTFILE. If it ends as a line profile does, a
    profile of cProfile gets its own `suffix` in place of that end.
    """
    template = os.environ.get(VARIABLE, "")
    if template.endswith(_LINES) and suffix != _LINES:
        template = template[: -len(_LINES)] + suffix
    return template or f"%s{suffix}"


def expand(template: str, *, stem: str, file_name: str) -> str:
    """Return `template` with its placeholders replaced.

    ``%s`` gives `stem`, ``%f`` `file_name`, ``%p`` the process id, ``%h`` the host
    name, ``%t`` the local time as 2025-01-31T235959, ``%q{VAR}`` an environment
    variable and ``%%`` a per cent sign. Raises UsageError for any other placeholder
    and for a variable that is not set.
    """
    letters = {
        "s": lambda: stem,
        "f": lambda: file_name,
        "p": lambda: str(os.getpid()),
        "h": lambda: os.uname().nodename,
        # Without an argument, localtime() is up to 4 ms behind time.time().
        "t": lambda: time.strftime("%Y-%m-%dT%H%M%S", time.localtime(time.time())),
    }
    return files.expand(template, letters, UsageError)


class OutputFile:
    """The file for the profile, checked before the program runs."""

    def __init__(self, name: str) -> None:
        """Take `name`, relative to the folder that is current now.

        Raises UsageError if no file can be written there.
        """
        self.name = name
        self._start = files.current_folder()
        self.path = os.path.join(self._start, name)
        if os.path.isabs(self.path):  # a link stays: its target is written
            self.path = os.path.realpath(self.path)
        problem, hint = _problem(name, self.path)
        if not problem:
            problem, hint = _problem_of_stream(name)
        if problem and self.path != os.devnull:  # -o /dev/null: only the table
            raise UsageError(
                f"cannot write the profile to {name!r}: {problem}", hint=hint
            )

    @property
    def shown(self) -> str:
        """The file's path from the folder that is current now."""
        if files.current_folder() == self._start:
            return self.name
        return os.path.join(self._start, self.name)


def _problem_of_stream(name: str) -> tuple[str, str]:
    """Return (problem, hint) if `name` is, say, /dev/stdout, or where that leads to."""
    hint = "name a file with -o"
    try:
        place = os.stat(name)
    except (OSError, ValueError):
        return "", ""
    if not stat.S_ISREG(
        place.st_mode
    ):  # a pipe, which `os.path.realpath` has no path of
        return "it is no regular file", hint
    for handle in (1, 2):
        try:
            if os.path.samestat(place, os.fstat(handle)):
                return "the program's output goes there", hint
        except OSError:  # it is closed
            continue
    return "", ""


def _problem(name: str, path: str) -> tuple[str, str]:
    """Return (problem, hint) if no profile can be written to `path`, else ("", "")."""
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
    return _problem_of_file(path)


def _problem_of_file(path: str) -> tuple[str, str]:
    """Return (problem, hint) if a file at `path` cannot be replaced, or ("", "")."""
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
