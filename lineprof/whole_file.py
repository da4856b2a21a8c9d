"""Replacing a file: by the whole of another, or not at all."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from lineprof.errors import not_a_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def replace_file(target: str, fill: Callable[[int, str], None]) -> None:
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
