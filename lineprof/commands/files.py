"""The profiles that a command is given by name."""

from __future__ import annotations

import os

from lineprof.commands.output import say
from lineprof.errors import LineprofError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lineprof.progress import Progress
    from lineprof.stats import Profile


def read(files: list[str], progress: Progress) -> Profile:
    """Return the sum of the profiles in `files`; LineprofError if one is none."""
    from lineprof.stats import Profile  # noqa: PLC0415  # not for --help
    from lineprof.store import load  # noqa: PLC0415

    each = progress.each(files, "reading profile", len(files))
    profiles = [load(file) for file in each]
    if len(profiles) == 1:
        return profiles[0]
    progress.say(lambda: f"adding up {len(files):,} profiles")
    return Profile.from_stats_objects(*profiles)


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
