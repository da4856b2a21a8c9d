"""What kernprof itself says, on streams that are the program's, too."""

from __future__ import annotations

import sys

from lineprof.streams import complain as _complain
from lineprof.streams import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

__all__ = ["complain", "flush", "say", "speak_as"]

_name = "kernprof"


def speak_as(name: str) -> None:
    """Have `complain` begin its lines with the name of the command that was given."""
    global _name  # noqa: PLW0603  # a process has one command
    _name = name


def complain(what: object) -> None:
    """Print one line on standard error, if there is one."""
    _complain(f"{_name}: {what}")


def flush() -> None:
    """Empty the buffers of the standard streams."""
    _flush(sys.stdout)
    _flush(sys.stderr)


def _flush(stream: TextIO) -> None:
    try:
        stream.flush()
    except Exception:  # noqa: BLE001  # the program may have put anything there
        return
