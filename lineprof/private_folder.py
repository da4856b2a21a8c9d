"""The folder of this user's own files below the one for temporary files."""

from __future__ import annotations

import os
import stat

from lineprof.errors import LineprofError
from lineprof.files import absolute_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

TEMPORARY = ("TMPDIR", "TEMP", "TMP")  # variables with the folder
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def own_folder_name(user: int | None = None) -> str:
    """Return the name of the folder of a user, by default this process's."""
    return f"lineprof-{os.getuid() if user is None else user}"


def temporary_folder(environ: Mapping[str, str] = os.environ) -> str:
    """Return the folder for temporary files, as `tempfile` would choose it."""
    for name in TEMPORARY:
        folder = environ.get(name)
        if folder and os.path.isdir(folder):
            return absolute_path(folder)
    return "/tmp"  # noqa: S108  # the folder in it is this user's, and checked


def check_folder(folder: str, *, hint: str = "set TMPDIR") -> None:
    """Raise LineprofError unless nobody else can put files into `folder`."""
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode):
        raise LineprofError(f"{folder} is no folder", hint=hint)
    if status.st_uid != os.getuid() or status.st_mode & _OTHERS_WRITE:
        raise LineprofError(
            f"other users can write to {folder}",
            hint=f"make it yours alone (chmod 700), or {hint}",
        )
