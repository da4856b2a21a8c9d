"""Files that processes left in the folder where programs and clients meet.

A program that is killed leaves its socket there, a client that is killed the code that
it had for the program. The next client removes them.
"""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from lineprof.control.address import SUFFIX
from lineprof.errors import LineprofError

if TYPE_CHECKING:
    from lineprof.private_folder import PrivateFolder

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
