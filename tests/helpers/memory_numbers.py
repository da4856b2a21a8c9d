"""Memory of a profile's lines, by their distance from the function's first line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from lineprof.model.host_memory import (
    NO_BYTES,
    MemoryNumbers,
    memory_of_lines,
    outside_memory,
    total_memory,
)

if TYPE_CHECKING:
    from lineprof.line_stats import LineStats

BLOCK = sys.getsizeof(bytes(1000))  # bytes: 1033

# Bytes of the bound method that Python 3.11 makes, and frees at once, at each traced
# call of a method of C.
METHOD = 72 if sys.version_info < (3, 12) else 0


def own_memory(stats: LineStats, name: str) -> dict[int, MemoryNumbers]:
    """Return the numbers of the lines of a function, callees left out.

    `name` is the end of its name; lines without blocks are left out.
    """
    found: dict[int, MemoryNumbers] = {}
    for key, lines in memory_of_lines(stats.memory, alone=True).items():
        if key[2].endswith(name):
            found.update({line - key[1]: one for line, one in lines.items()})
    return found


def check_sums(stats: LineStats) -> None:
    """Fail unless lines and what is outside of them add up to each process."""
    total, memory = outside_memory(stats.memory), stats.memory
    for lines in memory_of_lines(memory, alone=True).values():
        for one in lines.values():
            total = total.plus(one)
    assert total == total_memory(memory)
    for process, run in enumerate(memory.runs):
        peaks = NO_BYTES
        for one in memory.sums:
            if memory.paths[one.path].process == process:
                peaks = peaks.plus(one)
        assert peaks.peak_bytes == run.peak_bytes
