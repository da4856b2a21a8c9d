"""The socket of a running program: where it is, seen from inside and from outside.

It is called ``PID.sock`` and lies in this user's own folder below the one for temporary
files, which nobody else can enter.
"""

from __future__ import annotations

import os

from lineprof.errors import LineprofError
from lineprof.private_folder import (
    TEMPORARY,
    check_folder,
    own_folder_name,
    temporary_folder,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SUFFIX = ".sock"


def own_socket(folder: str | None = None) -> str:
    """Return the path of this process's socket; makes its folder if there is none.

    `folder` is the one in which a client will look. Raises LineprofError or OSError if
    nothing can be put there safely.
    """
    folder = folder or os.path.join(temporary_folder(), own_folder_name())
    os.makedirs(folder, mode=0o700, exist_ok=True)
    check_folder(folder)
    return os.path.join(folder, f"{os.getpid()}{SUFFIX}")


def folder_of(pid: int, root: str = "") -> str:
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
    return root + os.path.join(temporary_folder(environ), own_folder_name(_user(pid)))


def socket_of(pid: int) -> str:
    """Return the path at which the process `pid` would have its socket.

    Raises LineprofError if there is no such process, or it is another user's.
    """
    try:
        return os.path.join(folder_of(pid), f"{pid}{SUFFIX}")
    except ProcessLookupError:
        raise LineprofError(
            f"there is no process {pid}", hint="see ps or pgrep for its number"
        ) from None
    except PermissionError:
        raise LineprofError(
            f"process {pid} is another user's", hint="act as that user, or as root"
        ) from None


def _environ(data: bytes) -> Mapping[str, str]:
    pairs = (os.fsdecode(item).partition("=") for item in data.split(b"\0"))
    return {name: value for name, _, value in pairs if name in TEMPORARY}


def _user(pid: int) -> int:
    """Return the real user of a process, which names its folder."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as stream:
        for line in stream:
            if line.startswith("Uid:"):
                return int(line.split()[1])
    return os.getuid()
