"""The table of a profile of calls. `pstats` is slow to import: imported at the end."""

from __future__ import annotations

import pstats

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

    from kernprof.calls import ContextualProfile


def print_calls(profile: ContextualProfile, stream: TextIO) -> None:
    """Print the table of what `profile` has in its `stats` to `stream`."""
    recorded = [profile] if profile.stats else []  # pstats refuses one without
    stats = pstats.Stats(*recorded, stream=stream)
    stats.strip_dirs().sort_stats(-1).print_stats()
