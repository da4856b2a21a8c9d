"""On which streams of its device each sum of GPU work was done.

A sum does not say so; the timeline's events do, as long as all are there.
"""

from __future__ import annotations

from lineprof.gpu_records import KINDS, NO_PATH, UNKNOWN
from lineprof.gpu_timeline import unpack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lineprof.gpu_records import Batch, Gpu, GpuSum
    from lineprof.gpu_timeline import Timeline

    # Path, origin, kind, name, device's index
    Place = tuple[int, int, str, str, int]

_MOST_EVENTS = 2_000_000  # that are looked at: more would take seconds
_COLUMNS = ("kind", "name", "ns", "path", "origin", "device", "stream")


class Streams:
    """What streams did of each sum."""

    def __init__(self, gpu: Gpu) -> None:
        self._found: dict[Place, dict[int, int]] = {}
        if sum(timeline.count for timeline in gpu.timelines) > _MOST_EVENTS:
            return
        devices = {
            (one.process, one.device): index for index, one in enumerate(gpu.devices)
        }
        for timeline in gpu.timelines:
            for place, stream, ns in _events(timeline, devices):
                streams = self._found.setdefault(place, {})
                streams[stream] = streams.get(stream, 0) + ns

    def of(self, one: GpuSum) -> list[tuple[int | None, int]]:
        """Return (stream, ns) of each stream; of None if the events do not add up."""
        place = (one.path, one.origin, one.kind, one.name, one.device)
        found = self._found.get(place, {})
        if found and sum(found.values()) == one.ns:
            return list(found.items())
        return [(None, one.ns)]


def _events(
    timeline: Timeline, devices: dict[tuple[int, int], int]
) -> Iterator[tuple[Place, int, int]]:
    """Yield of each event on a device: where it counts, its stream, its time (ns)."""
    first = timeline.first_path - 1  # the columns count paths from 1
    for batch in timeline.batches:
        for kind, name, ns, path, origin, number, stream in zip(*_columns(batch)):
            device = devices.get((timeline.process, number))
            if device is None:
                continue
            place = (
                path + first if path else NO_PATH,
                origin + first if origin else NO_PATH,
                KINDS[kind] if kind < len(KINDS) else UNKNOWN,
                timeline.names[name],
                device,
            )
            yield place, stream, ns


def _columns(batch: Batch) -> Iterator[Sequence[int]]:
    data = dict(batch.columns)
    for name in _COLUMNS:
        packed = data.get(name)
        if packed is None:
            yield bytes(batch.events)  # that many zeros
        else:
            yield unpack(name, packed, batch.events)
