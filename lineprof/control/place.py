"""Where a client meets a running program: the folder of its socket, seen from outside.

The program may have another folder for temporary files, other mounts and another
number than those that this process sees.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from lineprof.control.address import SUFFIX
from lineprof.errors import LineprofError
from lineprof.private_folder import TEMPORARY, own_folder_name, temporary_folder

if TYPE_CHECKING:
    from collections.abc import Mapping


class Place(NamedTuple):
    """The folder through which a process and this one meet."""

    inside: str  # its path for the process
    outside: str  # and for this one
    pid: int  # the process's number, as itself sees it

    @property
    def socket(self) -> str:
        """The path of the process's socket."""
        return os.path.join(self.outside, f"{self.pid}{SUFFIX}")


class NotOursError(LineprofError):
    """A process of another user."""


def place_of(pid: int) -> Place:
    """Return where to meet the process `pid`.

    Raises LineprofError if there is no such process, NotOursError if it is another
    user's.
    """
    root = _root(pid)
    try:
        outside = _folder_of(pid, root)
    except ProcessLookupError:
        raise LineprofError(
            f"there is no process {pid}", hint="see ps or pgrep for its number"
        ) from None
    except PermissionError:
        raise NotOursError(
            f"process {pid} is another user's", hint="act as that user, or as root"
        ) from None
    return Place(
        inside=outside.removeprefix(root), outside=outside, pid=namespace_pid(pid)
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


def _folder_of(pid: int, root: str) -> str:
    """Return the folder in which the process `pid` has its socket.

    `root` is put before it where that process has other mounts than this one. The
    process may have changed its environment since it began. Raises ProcessLookupError
    if there is no such process, PermissionError if it is another user's.
    """
    try:
        with open(f"/proc/{pid}/environ", "rb") as stream:
            environ = _environ(stream.read())
    except FileNotFoundError:
        if not os.path.isdir("/proc/self"):  # there is no such file system
            os.kill(pid, 0)
            return os.path.join(temporary_folder(), own_folder_name())
        raise ProcessLookupError(pid) from None
    user = int(read_status(pid)["Uid"].split()[0])  # the real one
    return root + os.path.join(temporary_folder(environ), own_folder_name(user))


def _environ(data: bytes) -> Mapping[str, str]:
    pairs = (os.fsdecode(item).partition("=") for item in data.split(b"\0"))
    return {name: value for name, _, value in pairs if name in TEMPORARY}
