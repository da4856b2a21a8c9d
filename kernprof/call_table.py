"""The table of a profile of calls. `pstats` is slow to import: imported at the end."""

from __future__ import annotations

import pstats

TYPE_CHECKING = False
if TYPE_CHECKING:
    import cProfile
    from typing import TextIO


def print_calls(profile: cProfile.Profile, stream: TextIO) -> None:
    """Print the table of what `profile` recorded to `stream`."""
    stats = pstats.Stats(profile, stream=stream)
    stats.strip_dirs().sort_stats(-1).print_stats()
