"""A profile as line_profiler 3 to 5 reads it: a pickle of its own class.

The class is named by the path that all these versions have. The pickle is put
together here, for the class need not be installed to name it.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.model.profile import LineTicks, Profile

_PROTOCOL = 2  # each instruction stands for itself, and Python 2 reads it, too

_HEAD = len(b"\x80\x02")

_NEW_OBJECT = b"cline_profiler._line_profiler\nLineStats\n)\x81"

_FILL_AND_STOP = b"b."


def content(stats: Profile) -> Iterator[bytes]:
    """Yield the file of `stats`: hits and times of lines, which is all it can hold."""
    timings = {
        key: [_line(line) for line in lines if line[1] or line[2]]
        for key, lines in stats.timings.items()
    }
    state = pickle.dumps({"timings": timings, "unit": stats.unit}, _PROTOCOL)
    yield state[:_HEAD]
    yield _NEW_OBJECT
    yield state[_HEAD:-1]
    yield _FILL_AND_STOP


def _line(line: LineTicks) -> LineTicks:
    """Return a line as line_profiler can show it: it divides by the hits."""
    number, hits, ticks = line
    return number, hits or 1, ticks


def remarks(stats: Profile) -> Iterator[str]:
    """Yield what the file says otherwise than the profile."""
    count = sum(
        not hits and bool(ticks)
        for lines in stats.timings.values()
        for _, hits, ticks in lines
    )
    if count:
        yield (
            f"{count} lines have time and no hit of their own; they are written with"
            " one hit, for line_profiler cannot show them otherwise"
        )
