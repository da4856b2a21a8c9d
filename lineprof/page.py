"""What is to be printed at a program's end, and the command that shows it again."""

from __future__ import annotations

import io
import os
import shlex
import sys


class Page(io.StringIO):
    """A text for standard output: it is a terminal if that is."""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """That of standard output."""
        return getattr(sys.stdout, "encoding", None) or "utf-8"

    def isatty(self) -> bool:
        """Tell whether standard output is a terminal."""
        try:
            return sys.stdout.isatty()
        except Exception:  # noqa: BLE001  # the program may have put anything there
            return False

    def fileno(self) -> int:
        """Return the number of standard output."""
        return sys.stdout.fileno()


def python_command() -> str:
    """Return how a shell calls this interpreter, as shortly as it can."""
    if not sys.executable:  # it does not know
        return "python"
    from shutil import which  # noqa: PLC0415  # it is slow

    for name in ("python", "python3", os.path.basename(sys.executable)):
        if which(name) == sys.executable:
            return name
    return shlex.quote(sys.executable)
