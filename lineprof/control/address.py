"""The socket of a running program, as the program itself names it.

It is called ``PID.sock`` and lies in this user's own folder below the one for temporary
files, which nobody else can enter. Clients find it by `lineprof.control.place`.
"""

from __future__ import annotations

import os

from lineprof.private_folder import PrivateFolder, own_folder

SUFFIX = ".sock"


def socket_name() -> str:
    """Return the name of this process's socket in its folder."""
    return f"{os.getpid()}{SUFFIX}"


def folder_of_socket(path: str | None = None) -> PrivateFolder:
    """Open the folder of this process's socket, which is made if there is none.

    `path` is the one in which a client will look. Raises LineprofError or OSError if
    nothing can be put there safely.
    """
    return PrivateFolder.open(path or own_folder(), make=True)
