"""The profiles that a command is given by name."""

from __future__ import annotations

import os

from lineprof.commands.output import say
from lineprof.errors import LineprofError


def keep(files: list[str], target: str) -> None:
    """Raise LineprofError if a report to `target` replaced one of the profiles."""
    for file in files:
        if os.path.exists(target) and os.path.samefile(file, target):
            raise LineprofError(f"{target!r} is the profile", hint="name another file")


def existing(file: str) -> str:
    """Return `file`, or, said so, what it is called by another version.

    kernprof of line_profiler calls the profile of x.py x.py.lprof, ours x.lprof.
    """
    if os.path.lexists(file) or not file.endswith(".lprof"):
        return file
    stem = file[: -len(".lprof")]
    other = stem[: -len(".py")] if stem.endswith(".py") else f"{stem}.py"
    if not os.path.exists(f"{other}.lprof"):
        return file
    say(f"there is no {file}; reading {other}.lprof")
    return f"{other}.lprof"
