"""What kernprof says at the end: the table, or how to see it. Imported then."""

from __future__ import annotations

import io
import os
import shlex
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kernprof.recorders import Recorder


class _Page(io.StringIO):
    """A text for standard output: it is a terminal if that is."""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return getattr(sys.stdout, "encoding", None) or "utf-8"

    def isatty(self) -> bool:
        try:
            return sys.stdout.isatty()
        except (AttributeError, ValueError):  # there is none, or no longer
            return False

    def fileno(self) -> int:
        return sys.stdout.fileno()


def table(recorder: Recorder) -> str:
    """Return the table, as standard output is to show it."""
    stream = _Page()
    recorder.show(stream)
    return stream.getvalue()


def how_to_view(viewer: str, path: str) -> str:
    """Return two lines that tell which command shows the profile at `path`."""
    command = f"{_python()} -m {viewer} {shlex.quote(path)}"
    return f"Inspect results with:\n{command}"


def _python() -> str:
    """Return how a shell calls this interpreter, as shortly as it can."""
    for name in ("python", "python3", os.path.basename(sys.executable)):
        for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
            candidate = os.path.join(folder, name)
            if os.access(candidate, os.X_OK):
                if candidate == sys.executable:
                    return name
                break  # another one comes first
    return shlex.quote(sys.executable)
