"""A file that a report goes to: placeholders in its name, whole or not at all."""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from lineprof.errors import LineprofError, not_a_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping


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

            write_atomically(os.path.realpath(name), fill)
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


# Placeholders in the names of files: %p, %h, %q{VAR} and their like.


def expand(
    template: str,
    letters: Mapping[str, Callable[[], str]],
    error: type[LineprofError] = LineprofError,
) -> str:
    """Return `template` with its placeholders replaced.

    ``%x`` gives what `letters` has for ``x``, ``%q{VAR}`` a variable of the
    environment and ``%%`` a per cent sign. Raises `error` for any other and
    for a variable that is not set.
    """
    done, rest = "", template
    while rest:
        plain, percent, rest = rest.partition("%")
        done += plain
        if not percent:
            break
        letter, rest = rest[:1], rest[1:]
        if letter == "q" and rest.startswith("{") and "}" in rest:
            name, _, rest = rest[1:].partition("}")
            done += _variable(name, template, error)
        elif letter == "%":
            done += "%"
        elif letter in letters:
            done += letters[letter]()
        else:
            known = "".join(f"%{one}, " for one in letters)
            raise error(
                f"unknown placeholder '%{letter}' in the output name {template!r}",
                hint=f"use {known}%q{{VAR}} or %%",
            )
    return done


def _variable(name: str, template: str, error: type[LineprofError]) -> str:
    value = os.environ.get(name)
    if value is None:
        raise error(
            f"variable {name!r} in the output name {template!r} is not set",
            hint="set it, or leave the placeholder out",
        )
    return value


# Replacing a file: by the whole of another, or not at all.


def write_atomically(target: str, fill: Callable[[int, str], None]) -> None:
    """Have a new file filled beside `target`, and give it that name.

    `fill` gets its handle, which stays open, and its path. If it fails, or
    anything else does, `target` stays as it was and no other file is left.
    The null device takes any file and forgets it; OSError for what else is none.
    """
    if is_null_device(target):
        return
    folder = os.path.dirname(target)
    new = os.path.join(folder, f".lprof-{os.urandom(8).hex()}.tmp")
    stream = open(new, "xb")  # noqa: SIM115  # never through a link
    try:
        with stream:
            fill(stream.fileno(), new)
        os.replace(new, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(new)
        raise


def is_null_device(target: str) -> bool:
    """Tell whether it is /dev/null; OSError for anything else that is no file."""
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return False
    if stat.S_ISREG(mode):
        return False
    if os.path.samefile(target, os.devnull):
        return True
    raise not_a_file(mode, target)
