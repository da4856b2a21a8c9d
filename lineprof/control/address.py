"""The socket of a running program, as the program itself names it.

It is called ``PID.sock`` and lies in this user's own folder below the one for temporary
files, which nobody else can enter. Clients find it by `lineprof.control.place`.
"""

from __future__ import annotations

import os

from lineprof.private_folder import check_folder, own_folder_name, temporary_folder

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
