"""Where a client meets a running program: the folder of its socket, seen from outside.

The program may have another folder for temporary files, other mounts and another
number than those that this process sees. It may belong to another user, whom root must
not trust: root opens the folder with the rights of that user (`Rights`), and a link of
a program with other mounts leads to a file of that program, not of this one.
"""

from __future__ import annotations

import errno
import os
import socket
import stat
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from lineprof.control.address import SUFFIX
from lineprof.errors import LineprofError
from lineprof.files import closed_after
from lineprof.private_folder import (
    PATH_ONLY,
    TEMPORARY,
    USUAL_TEMPORARY,
    PrivateFolder,
    Rights,
    own_folder_name,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


class Place(NamedTuple):
    """The folder through which a process and this one meet."""

    inside: str  # its path for the process
    root: str  # what to put before paths of the process, "" if it has the same mounts
    pid: int  # the process's number, as itself sees it
    rights: Rights  # of the process's user

    @property
    def outside(self) -> str:
        """The path of the folder for this process, to be shown."""
        return self.root + self.inside

    @property
    def socket(self) -> str:
        """The name of the process's socket in the folder."""
        return f"{self.pid}{SUFFIX}"

    def folder(self, *, make: bool = False) -> PrivateFolder:
        """Open the folder; with `make`, make it if there is none.

        FileNotFoundError if there is none, LineprofError if it cannot be used.
        """
        above = os.path.dirname(self.inside)
        try:
            with closed_after(_open_parent(self.root, above, self.rights)) as parent:
                return PrivateFolder.below(parent, self.outside, self.rights, make=make)
        except FileNotFoundError:
            if make:
                raise _unusable(self.outside, "its parent is not there") from None
            raise
        except OSError as error:
            raise _unusable(self.outside, error.strerror) from None


def _unusable(folder: str, reason: str | None) -> LineprofError:
    return LineprofError(
        f"cannot use the folder {folder}: {reason}",
        hint="make room there, or see whose it is",
    )


class NotOursError(LineprofError):
    """A process of another user."""


def place_of(pid: int) -> Place:
    """Return where to meet the process `pid`.

    Raises LineprofError if there is no such process, NotOursError if it is another
    user's.
    """
    root = _root(pid)
    try:
        environ = _environ(pid)
    except ProcessLookupError:
        raise LineprofError(
            f"there is no process {pid}", hint="see ps or pgrep for its number"
        ) from None
    except PermissionError:
        raise _not_ours(pid) from None
    rights = _rights_of(pid) if os.path.isdir("/proc/self") else Rights.own()
    if rights.user != os.getuid() and os.geteuid() != 0:
        raise _not_ours(pid)
    name = own_folder_name(rights.user)
    folders = [*filter(None, map(environ.get, TEMPORARY)), USUAL_TEMPORARY]
    # The last one is not looked at: an error of it is one of the folder in it.
    above = next(
        (one for one in folders[:-1] if _is_folder(root, one, rights)), folders[-1]
    )
    return Place(
        inside=os.path.join(above, name),
        root=root,
        pid=namespace_pid(pid),
        rights=rights,
    )


def _not_ours(pid: int) -> NotOursError:
    return NotOursError(
        f"process {pid} is another user's", hint="act as that user, or as root"
    )


def namespace_pid(pid: int) -> int:
    """Return the number that a process has in its own pid namespace.

    Only Linux has such namespaces.
    """
    if sys.platform != "linux":
        return pid
    return int(read_status(pid).get("NSpid", str(pid)).split()[-1])


def read_status(pid: int) -> dict[str, str]:
    """Return /proc/PID/status; LineprofError if there is no such process."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as stream:
            lines = stream.read().splitlines()
    except (FileNotFoundError, ProcessLookupError) as error:
        raise LineprofError(
            f"there is no process {pid}",
            hint="'ps -ef | grep python' lists those of Python; in a container,"
            " run lineprof there",
        ) from error
    except OSError as error:
        raise LineprofError(
            f"process {pid} is hidden: {error.strerror}", hint="use sudo"
        ) from error
    pairs = (line.partition(":") for line in lines)
    return {name: value.strip() for name, _, value in pairs}


def _root(pid: int) -> str:
    """Return what to put before paths of a process that has other mounts, mostly ""."""
    with suppress(OSError):
        if os.readlink(f"/proc/{pid}/ns/mnt") != os.readlink("/proc/self/ns/mnt"):
            return f"/proc/{pid}/root"
    return ""


def _environ(pid: int) -> Mapping[str, str]:
    """Return the variables of a process that name folders for temporary files.

    The process may have changed them since it began. Raises ProcessLookupError if there
    is no such process, PermissionError if it is another user's.
    """
    try:
        with open(f"/proc/{pid}/environ", "rb") as stream:
            data = stream.read()
    except FileNotFoundError:
        if not os.path.isdir("/proc/self"):  # there is no such file system
            os.kill(pid, 0)
            return os.environ
        raise ProcessLookupError(pid) from None
    pairs = (os.fsdecode(item).partition("=") for item in data.split(b"\0"))
    return {name: value for name, _, value in pairs if name in TEMPORARY}


def _rights_of(pid: int) -> Rights:
    """Return the rights of the real user of a process."""
    status = read_status(pid)
    user, group = (int(status[name].split()[0]) for name in ("Uid", "Gid"))
    return Rights(user, group, [*map(int, status.get("Groups", "").split())])


def _is_folder(root: str, path: str, rights: Rights) -> bool:
    if not os.path.isabs(path):
        return False
    try:
        handle = _open_parent(root, path, rights)
    except OSError:
        return False
    with closed_after(handle):
        return stat.S_ISDIR(os.fstat(handle).st_mode)


def _open_parent(root: str, path: str, rights: Rights) -> int:
    """Return a descriptor of a folder of a process, for use as `dir_fd`; OSError."""
    flags = PATH_ONLY | os.O_DIRECTORY | os.O_CLOEXEC
    if not root and rights.are_own:
        return os.open(path, flags)
    # A link of the kernel, such as /proc/self/cwd, would lead to files of this process.
    # Only root may enter the root folder of a container.
    with closed_after(os.open(root or os.sep, flags)) as top, rights:
        return open_below(top, path)


_MAX_LINKS = 40  # of one path, as in the kernel


def open_below(top: int, path: str) -> int:
    """Return a descriptor of the file at `path` as a process sees it; OSError.

    `top` is the root folder of that process. Links lead to files below it, and so does
    "..", as they would in the process.
    """
    names = path.split(os.sep)[::-1]
    opened = [os.dup(top)]  # the folders on the way, the last one is the innermost
    links = 0
    try:
        while names:
            name = names.pop()
            if name in {"", os.curdir}:
                continue
            if name == os.pardir:
                if len(opened) > 1:
                    os.close(opened.pop())
                continue
            flags = PATH_ONLY | os.O_NOFOLLOW | os.O_CLOEXEC
            handle = os.open(name, flags, dir_fd=opened[-1])
            opened.append(handle)
            if not stat.S_ISLNK(os.fstat(handle).st_mode):
                continue
            target = os.readlink("", dir_fd=handle)
            os.close(opened.pop())
            links += 1
            if links > _MAX_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            if os.path.isabs(target):
                while len(opened) > 1:
                    os.close(opened.pop())
            names += target.split(os.sep)[::-1]
        return opened.pop()
    finally:
        for handle in opened:
            os.close(handle)


# Files that processes left in the folder. A program that is killed leaves its socket
# there, a client that is killed the code that it had for the program. The next client
# removes them.

_MIN_AGE = 60.0  # s; a younger file may be one that a process is just making
# Endings of the names of files that a client has made, or that are only for it.
OF_CLIENTS = (".boot", ".code", ".failed", ".new", ".stacks", ".token")
SCRIPT = ".py"  # of the name of a text that a process runs, however late


def remove_leftovers(folder: PrivateFolder) -> None:
    """Remove the sockets of programs that have ended, and files of such clients.

    Whoever made a file may be in another container, so that its process number says
    nothing: nobody listens at the socket, and nobody has the file locked.
    """
    with suppress(OSError, LineprofError):
        for name in folder.names():
            if name.endswith((SUFFIX, SCRIPT, *OF_CLIENTS)):
                with suppress(OSError, LineprofError):
                    _remove_unless_used(folder, name)


def _remove_unless_used(folder: PrivateFolder, name: str) -> None:
    if time.time() - folder.status(name).st_mtime < _MIN_AGE:
        return
    if name.endswith(SCRIPT) and os.path.exists(f"/proc/{name.partition('-')[0]}"):
        return  # Python would say in the program that it finds no such file
    if name.endswith(SUFFIX):
        # A socket of another type is refused for its type by a program that listens,
        # which is not woken up.
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
            try:
                folder.connect(other, name)
            except ConnectionRefusedError:
                folder.remove(name)
    elif not folder.is_in_use(name):
        folder.remove(name)
