"""What kernprof says at the end: the table, or how to see it. Imported then."""

from __future__ import annotations

import shlex

from lineprof.page import Page, python_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kernprof.recorders import Recorder


def table(recorder: Recorder) -> str:
    """Return the table, as standard output is to show it."""
    stream = Page()
    recorder.show(stream)
    return stream.getvalue()


def how_to_view(viewer: str, path: str) -> str:
    """Return two lines that tell which command shows the profile at `path`."""
    command = f"{python_command()} -m {viewer} {shlex.quote(path)}"
    return f"Inspect results with:\n{command}"
