"""The moment when a program uses a profiler of its own accord.

Who profiles a program unasked wants to know of it, and stops.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

# Each is called with a profiler when that is made, when it is given something to
# count, and when it is enabled: often. Empty but under kernprof.
watchers: list[Callable[[object], object]] = []


def tell(profiler: object) -> None:
    """Tell all who watch that `profiler` is in use."""
    for watcher in tuple(watchers):  # one may take itself out
        watcher(profiler)
