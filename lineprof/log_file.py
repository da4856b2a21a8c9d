"""A file that a report goes to: placeholders in its name, whole or not at all."""

from __future__ import annotations

import os
import stat
import time

from lineprof.errors import LineprofError
from lineprof.placeholders import expand
from lineprof.whole_file import replace_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lineprof.records import Process


def checked_name(template: str) -> str:
    """Return `template`; LineprofError if its placeholders cannot be replaced."""
    name_of(template, ())
    if not template:
        raise LineprofError("the name is empty", hint="name a file")
    return template


def name_of(template: str, processes: Sequence[Process]) -> str:
    """Return `template` with its placeholders replaced.

    ``%p`` gives the number of the process that was measured and ``%h`` its
    host (of several: the first one's; of none: ours), ``%t`` the local time,
    ``%q{VAR}`` a variable of the environment, ``%%`` a per cent sign.
    """
    first = processes[0] if processes else None
    letters = {
        "p": lambda: f"{first.pid if first else os.getpid()}",
        "h": lambda: _plain(first.host) if first else os.uname().nodename,
        "t": lambda: time.strftime("%Y-%m-%dT%H%M%S"),
    }
    return expand(template, letters)


def _plain(host: str) -> str:
    """Return a host's name as a file has it: it is read from a profile."""
    return host.replace(os.sep, "_").replace("\0", "_")


def write_file(lines: Iterable[str], name: str) -> None:
    """Write `lines` to a file, in UTF-8: see `write_bytes`."""
    write_bytes(encoded(lines), name, what="the report")


def encoded(lines: Iterable[str]) -> Iterator[bytes]:
    """Yield lines of text in UTF-8; halves of surrogate pairs come as escapes."""
    for line in lines:
        yield f"{line}\n".encode("utf-8", "backslashreplace")


def write_bytes(chunks: Iterable[bytes], name: str, *, what: str) -> None:
    """Write `chunks` to a file; LineprofError, about `what`, where that fails.

    A file that is there is replaced once all is written, and stays as it is
    if that fails. What is no file, like a pipe, is written to.
    """
    try:
        if _is_file_or_free(name):

            def fill(handle: int, _: str) -> None:
                with open(handle, "wb", closefd=False) as stream:
                    stream.writelines(chunks)

            replace_file(os.path.realpath(name), fill)
        else:
            with open(name, "wb") as stream:
                stream.writelines(chunks)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise LineprofError(
            f"cannot write {what} to {name!r}: {reason}", hint="choose another file"
        ) from error


def _is_file_or_free(name: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(name).st_mode)
    except FileNotFoundError:
        return True
