"""A GPU's events in order, in the memory of a few batches.

They are recorded as they come, which is nearly in order: so a batch is opened
once the events of those before it have come to its first one.
"""

from __future__ import annotations

from dataclasses import replace
from heapq import heappop, heappush, heapreplace

from lineprof.gpu_timeline import unpack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.gpu_records import Batch, GpuEvent
    from lineprof.gpu_timeline import Timeline

    Open = tuple[int, int, GpuEvent, Iterator[GpuEvent]]  # start, place, next, rest


def in_order(timeline: Timeline) -> Iterator[GpuEvent]:
    """Yield all events of a timeline by their start."""
    batches = timeline.batches
    closed = sorted(
        (
            (_first(batch) - timeline.origin_ns, place)
            for place, batch in enumerate(batches)
            if batch.events
        ),
        reverse=True,
    )
    opened: list[Open] = []
    while closed or opened:
        while closed and (not opened or closed[-1][0] <= opened[0][0]):
            _, place = closed.pop()
            some = batches[place]
            part = replace(timeline, count=some.events, batches=(some,))
            rest = iter(part)
            event = next(rest)
            heappush(opened, (event.start_ns, place, event, rest))
        _, place, event, rest = opened[0]
        yield event
        following = next(rest, None)
        if following is None:
            heappop(opened)
        else:
            heapreplace(opened, (following.start_ns, place, following, rest))


def _first(batch: Batch) -> int:
    """Return the least start (ns) of a batch's events."""
    data = dict(batch.columns).get("start")
    return 0 if data is None else min(unpack("start", data, batch.events))
