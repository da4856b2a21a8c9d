"""Output files: placeholders in their names, and writing them atomically."""

from __future__ import annotations

import os
import stat
import time
from contextlib import contextmanager, suppress

from lineprof.errors import LineprofError, not_a_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import BinaryIO


SOURCE = (".py", ".pyw")  # ends of the names of Python source files


def current_folder() -> str:
    """Return the current folder, or "" if it was removed."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def real_path(path: str) -> str:
    """Return the real path of a file.

    That is `path` itself if it is relative to a current folder that was removed: a
    file may still be opened by a name such as ``../x.py``.
    """
    try:
        return os.path.realpath(path)
    except FileNotFoundError:
        return path


def absolute_path(path: str) -> str:
    """Return the absolute path of a file, with the same exception as `real_path`."""
    return os.path.normpath(os.path.join(current_folder(), path))


def normal_path(path: str) -> str:
    """Return an absolute path of a file without ``.``, ``..`` and empty parts.

    Links stay. So do ``..`` unless the folder is certainly the same without them:
    ``link/..`` is the folder around the one that the link leads to. Other paths are
    returned as they are.
    """
    if not (path.startswith(os.sep) and ("/." in path or "//" in path)):
        return path
    parts = [part for part in path.split(os.sep) if part not in {"", os.curdir}]
    plain = os.sep + os.sep.join(parts)
    if os.pardir not in parts:
        return plain
    normal = os.path.normpath(plain)
    try:
        is_same = os.path.samefile(os.path.dirname(plain), os.path.dirname(normal))
    except (OSError, ValueError):  # it is gone, or in a zip file
        return plain
    return normal if is_same else plain


# Names.


def short_path(path: str) -> str:
    """Return an absolute path as seen from the current folder, if it is below that."""
    return path.removeprefix(os.path.join(current_folder() or os.sep, ""))


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
    """Return a host's name, which may come from a profile, as part of a file name."""
    return host.replace(os.sep, "_").replace("\0", "_")


def expand(
    template: str,
    letters: Mapping[str, Callable[[], str]],
    error: type[LineprofError] = LineprofError,
    environ: Mapping[str, str] | None = None,
) -> str:
    """Return `template` with its placeholders replaced.

    ``%x`` gives the result of `letters` for ``x``, ``%q{VAR}`` a variable of `environ`
    (None: the environment) and ``%%`` a per cent sign. Raises `error` for any other
    placeholder, and for a variable that is not set.
    """
    environ = os.environ if environ is None else environ
    done, percent, rest = template.partition("%")
    while percent:
        letter, rest = rest[:1], rest[1:]
        if letter == "q" and rest.startswith("{") and "}" in rest:
            name, _, rest = rest[1:].partition("}")
            if name not in environ:
                raise error(
                    f"variable {name!r} in the output name {template!r} is not set",
                    hint="set it, or leave the placeholder out",
                )
            done += environ[name]
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
        plain, percent, rest = rest.partition("%")
        done += plain
    return done


# Contents.


@contextmanager
def closed_after(handle: int) -> Iterator[int]:
    """Give a file descriptor to a ``with`` block, which closes it at its end."""
    try:
        yield handle
    finally:
        os.close(handle)


def write_file(lines: Iterable[str], name: str) -> None:
    """Write `lines` to a file, in UTF-8: see `write_bytes`."""
    write_bytes(encoded(lines), name, what="the report")


def encoded(lines: Iterable[str]) -> Iterator[bytes]:
    """Yield lines of text in UTF-8; lone surrogates become escapes."""
    for line in lines:
        yield f"{line}\n".encode("utf-8", "backslashreplace")


def write_bytes(chunks: Iterable[bytes], name: str, *, what: str) -> None:
    """Write `chunks` to a file; LineprofError, about `what`, if that fails.

    See `write_chunks`.
    """
    try:
        write_chunks(chunks, name)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise LineprofError(
            f"cannot write {what} to {name!r}: {reason}", hint="choose another file"
        ) from error


def write_chunks(chunks: Iterable[bytes], name: str) -> None:
    """Write `chunks` to a file; OSError if that fails.

    An existing file is replaced after all is written, and keeps its content if that
    fails. Pipes and devices are written to directly.
    """
    old = _status(name)
    if old is not None and not stat.S_ISREG(old.st_mode):
        with open(name, "wb") as stream:
            stream.writelines(chunks)
        return

    def fill(handle: int, _: str) -> None:
        with open(handle, "wb", closefd=False) as stream:
            stream.writelines(chunks)

    write_atomically(os.path.realpath(name), fill)


def write_atomically(target: str, fill: Callable[[int, str], None]) -> None:
    """Fill a new file beside `target`, and then give it that name.

    `fill` gets the new file's handle, which stays open, and its path; the handle is -1
    if an audit hook of the program refuses to open the file. If anything fails,
    `target` keeps its content and no other file is left. Nothing is written to the null
    device; OSError for folders and other devices.

    If `target` exists, the new file gets its mode, and its owner and group if that is
    allowed; until then only this user may read the new file. Otherwise the mode
    follows the umask.
    """
    if is_null_device(target):
        return
    old = _status(target)
    folder = os.path.dirname(target)
    new = os.path.join(folder, f".lprof-{os.urandom(8).hex()}.tmp")
    stream = _created(new, _ANYONE if old is None else _OWNER)
    try:
        if stream is None:
            fill(-1, new)
            if old is not None:
                _keep_access(new, old)
        else:
            with stream:
                _fill_as_owner(stream.fileno(), new, fill)
                if old is not None:
                    _keep_access(stream.fileno(), old)
        os.replace(new, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(new)
        raise


_ANYONE, _OWNER = 0o666, 0o600  # modes of new files; the umask is taken off
_PERMISSIONS, _GROUP, _OTHERS = 0o777, 0o070, 0o007  # bits of a mode


def _fill_as_owner(handle: int, new: str, fill: Callable[[int, str], None]) -> None:
    """Call `fill` while this user may open the new file, which a umask can forbid."""
    mode = os.fstat(handle).st_mode & _PERMISSIONS
    if mode & _OWNER == _OWNER:
        fill(handle, new)
        return
    _is_allowed(os.chmod, handle, mode | _OWNER)
    fill(handle, new)
    _is_allowed(os.chmod, handle, mode)


def _status(target: str) -> os.stat_result | None:
    """Return the status of a file; None if there is none."""
    try:
        return os.stat(target)
    except FileNotFoundError:
        return None


def _keep_access(file: int | str, old: os.stat_result) -> None:
    """Give a new file the owner, group and mode of the `old` one, as far as allowed.

    Another group than that of the old file gets no more rights than others.
    """
    mode = old.st_mode & _PERMISSIONS
    new = os.stat(file)
    if new.st_gid != old.st_gid and not _is_allowed(os.chown, file, -1, old.st_gid):
        mode &= ~_GROUP | (mode & _OTHERS) << 3
    if new.st_uid != old.st_uid:
        _is_allowed(os.chown, file, old.st_uid, -1)  # to root
    _is_allowed(os.chmod, file, mode)  # some file systems have no modes


def _is_allowed(change: Callable[..., None], *arguments: int | str) -> bool:
    """Call `change(*arguments)`; return whether the system did as asked."""
    try:
        change(*arguments)
    except OSError:
        return False
    return True


def _created(new: str, mode: int) -> BinaryIO | None:
    """Create a file, never through a link; None if an audit hook refuses to open it."""

    def opener(path: str, flags: int) -> int:
        return os.open(path, flags, mode)

    try:
        return open(new, "xb", opener=opener)
    except OSError:
        raise
    except Exception:  # noqa: BLE001  # whatever the hook raises
        os.mknod(new, stat.S_IFREG | mode)
        return None


def is_null_device(target: str) -> bool:
    """Tell whether `target` is /dev/null; OSError for a folder or another device."""
    status = _status(target)
    if status is None or stat.S_ISREG(status.st_mode):
        return False
    if os.path.samefile(target, os.devnull):
        return True
    raise not_a_file(status.st_mode, target)
