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
    from collections.abc import Iterable, Iterator


def checked_name(template: str) -> str:
    """Return `template`; LineprofError if its placeholders cannot be replaced."""
    name_of(template, pid=0, host="", now=0.0)
    if not template:
        raise LineprofError("the name is empty", hint="name a file")
    return template


def name_of(template: str, *, pid: int, host: str, now: float) -> str:
    """Return `template` with its placeholders replaced.

    ``%p`` gives `pid`, ``%h`` the name of the `host`, ``%t`` the local time at
    `now` (in seconds since the epoch), ``%q{VAR}`` a variable of the environment,
    ``%%`` a per cent sign.
    """
    letters = {
        "p": lambda: f"{pid}",
        "h": lambda: _plain(host),
        "t": lambda: time.strftime("%Y-%m-%dT%H%M%S", time.localtime(now)),
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
