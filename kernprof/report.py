"""What kernprof itself says, on streams that are the program's, too."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kernprof.recorders import Recorder


def complain(what: object) -> None:
    """Print one line on standard error, if there is one."""
    # the program may have closed its streams, or put others there
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(f"kernprof: {what}\n")
        sys.stderr.flush()


def say(text: str, *, dying: bool = False) -> None:
    """Print `text` on standard output, if there is one that takes it.

    It goes past the stream's buffer, so that a reader that has gone is not
    noticed, and answered by python with a message, for our words' sake. A
    program that is `dying` of a signal does not get its buffer written.
    """
    if not text:
        return
    stream = sys.__stdout__ if dying else sys.stdout
    with contextlib.suppress(OSError, ValueError, AttributeError):
        if stream is not sys.__stdout__ or stream is None:
            stream.write(text)  # type: ignore[union-attr]
            stream.flush()  # type: ignore[union-attr]
            return
        if not dying:
            stream.flush()
        data = text.encode(stream.encoding, "backslashreplace")
        while data:
            data = data[os.write(stream.fileno(), data) :]


def flush() -> None:
    """Empty the buffers of the standard streams."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()


def table(recorder: Recorder) -> str:
    """Return the table, as text."""
    stream = io.StringIO()
    recorder.show(stream)
    return stream.getvalue()


def how_to_view(viewer: str, path: str) -> str:
    """Return the lines that tell which command shows the profile at `path`."""
    import shlex  # noqa: PLC0415  # only at the end

    command = f"{_python()} -m {viewer} {shlex.quote(path)}"
    return f"Inspect results with:\n{command}\n"


def _python() -> str:
    """Return how a shell calls this interpreter, as shortly as it can."""
    for name in ("python", "python3", os.path.basename(sys.executable)):
        for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
            candidate = os.path.join(folder, name)
            if os.access(candidate, os.X_OK):
                if candidate == sys.executable:
                    return name
                break  # another one comes first
    import shlex  # noqa: PLC0415  # only at the end

    return shlex.quote(sys.executable)


@contextlib.contextmanager
def known_texts(texts: Mapping[str, str]) -> Iterator[None]:
    """Let `linecache` know `texts`, by file name, for as long as the block runs."""
    if not texts:
        yield
        return
    import linecache  # noqa: PLC0415  # files need it not

    added = [name for name in texts if name not in linecache.cache]
    for name in added:
        lines = texts[name].splitlines(keepends=True)
        linecache.cache[name] = (len(texts[name]), None, lines, name)
    try:
        yield
    finally:
        for name in added:
            linecache.cache.pop(name, None)
