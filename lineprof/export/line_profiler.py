"""Profiles for line_profiler 3 to 5: a pickle of its class LineStats.

The class is named by the path that it has in all these versions. The pickle is put
together from parts, as line_profiler need not be installed here.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

from lineprof.export.stacks import remarks_of_memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.model.profile import LineTicks, Profile

_PROTOCOL = 2  # without frames around instructions; Python 2 can also read it

_HEAD = len(b"\x80\x02")

_NEW_OBJECT = b"cline_profiler._line_profiler\nLineStats\n)\x81"

_FILL_AND_STOP = b"b."


def content(profile: Profile) -> Iterator[bytes]:
    """Yield the file: hits and times of lines; the format has no more."""
    timings = {
        key: [_line(line) for line in lines if line[1] or line[2]]
        for key, lines in profile.timings.items()
    }
    state = pickle.dumps({"timings": timings, "unit": profile.unit}, _PROTOCOL)
    yield state[:_HEAD]
    yield _NEW_OBJECT
    yield state[_HEAD:-1]
    yield _FILL_AND_STOP


def _line(line: LineTicks) -> LineTicks:
    """Return a line with 1 hit at least, as line_profiler divides by the hits."""
    number, hits, ticks = line
    return number, hits or 1, ticks


def remarks(profile: Profile) -> Iterator[str]:
    """Yield how the file differs from the profile."""
    count = sum(
        not hits and bool(ticks)
        for lines in profile.timings.values()
        for _, hits, ticks in lines
    )
    if count:
        yield (
            f"{count} lines have time and no hit of their own; they are written with"
            " one hit, as line_profiler cannot show them otherwise"
        )
    yield from remarks_of_memory(profile, "line_profiler has times alone")
