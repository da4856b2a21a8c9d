"""Callbacks for when the program first uses a LineProfiler of its own.

Whole-program profiling, which nobody asked for in the program, then turns off.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

# Each is called with a profiler when that is made, when it is given something to
# count, and when it is enabled: often. Empty except under kernprof.
on_first_use: list[Callable[[object], object]] = []


def notify_first_use(profiler: object) -> None:
    """Call all callbacks with `profiler`, which the program uses."""
    for callback in tuple(on_first_use):  # one may remove itself
        callback(profiler)
