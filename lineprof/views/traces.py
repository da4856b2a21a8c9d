"""What the traces have in common: a row an event, made when it is printed.

A timeline can have millions of events: none of its rows is kept.
"""

from __future__ import annotations

from lineprof.errors import printable
from lineprof.views.gpu_units import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Protocol

    from lineprof.gpu_records import GpuEvent
    from lineprof.gpu_timeline import Timeline
    from lineprof.stats import Profile
    from lineprof.views.view import Options

    class Trace(Protocol):
        """One kind of trace."""

        header: str
        csv_titles: tuple[str, ...]
        csv_units: str

        def is_wanted(self, event: GpuEvent) -> bool:
            """Tell whether an event is of this trace."""

        def text(self, event: GpuEvent, process: int) -> str:
            """Return a row of text; `process` is an index in Profile.processes."""

        def fields(self, event: GpuEvent, process: int) -> tuple[str, ...]:
            """Return a row of CSV."""


def pid(stats: Profile, process: int) -> str:
    """Return the number of a process as the system gave it."""
    return f"{stats.processes[process].pid}"


def rows(trace: Trace, stats: Profile, options: Options) -> Iterator[str]:
    """Yield the rows of all timelines, one process after the other."""
    timelines = [one for one in stats.gpu.timelines if one.count]
    if options.csv:
        yield ",".join(map(quoted, trace.csv_titles))
        yield trace.csv_units
    for place, timeline in enumerate(timelines):
        if options.csv:
            for event in filter(trace.is_wanted, timeline):
                yield ",".join(trace.fields(event, timeline.process))
            continue
        if len(timelines) > 1:
            yield from _heading(stats, timeline, first=not place)
        yield trace.header
        for event in filter(trace.is_wanted, timeline):
            yield trace.text(event, timeline.process)


def _heading(stats: Profile, timeline: Timeline, *, first: bool) -> Iterator[str]:
    """Yield whose timeline follows: starts count from the start of its process."""
    if not first:
        yield ""
    process = stats.processes[timeline.process]
    rank = "" if process.rank is None else f", rank {process.rank}"
    yield f"Process {process.pid} on {printable(process.host)}{rank}:"
