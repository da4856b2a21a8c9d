"""Reading the timelines of a profile's file, which anyone may have made or damaged.

They stay packed; each batch is unpacked once, to see that it will be fit to use.
"""

from __future__ import annotations

from lineprof.gpu_timeline import BATCH, COLUMNS, Timeline, unpack
from lineprof.store_batches import Batches
from lineprof.store_rows import Damaged, known, natural, rows_of
from lineprof.store_schema import (
    GPU_BATCHES,
    GPU_COLUMNS,
    GPU_LAUNCHES,
    GPU_TIMELINE_NAMES,
    GPU_TIMELINES,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Mapping

    Places = Mapping[object, int]

_INTEGER_END = 1 << 63  # of those that SQLite can hold
_PACKED = Batches(GPU_BATCHES, GPU_COLUMNS, COLUMNS, BATCH, "timeline", "events")
_LAUNCH = range(-(1 << 31), 1 << 32)  # a driver's integers have 32 bits


def timelines_of(
    db: sqlite3.Connection,
    names: Mapping[object, str],
    processes: Places,
    n_paths: int,
) -> Iterator[Timeline]:
    """Yield the timelines in an open and checked database; Damaged if they are.

    `names` and `processes` have texts and indexes by their ids; `n_paths` is
    how many paths there are.
    """
    rows = rows_of(db, GPU_TIMELINES)
    own_names = _PACKED.grouped(rows, rows_of(db, GPU_TIMELINE_NAMES))
    launches = _PACKED.grouped(rows, rows_of(db, GPU_LAUNCHES))
    batches = _PACKED.read(db, rows)
    for index, process, events, origin_ns, first_path in rows:
        natural([origin_ns, first_path], "a timeline")
        timeline = Timeline(
            process=known(processes, process, "process"),
            count=events,
            origin_ns=origin_ns,
            first_path=first_path,
            names=tuple([known(names, name, "name") for (name,) in own_names[index]]),
            launches=tuple(map(_launch, launches[index])),
            batches=tuple(batches[index]),
        )
        if sum(batch.events for batch in timeline.batches) != events:
            raise Damaged(f"timeline {index} has other than {events} events")
        _check(timeline, n_paths)
        yield timeline


def _launch(numbers: list[int]) -> tuple[int, ...]:
    if not all(number in _LAUNCH for number in numbers):
        raise Damaged("a launch has numbers beyond 32 bits")
    return tuple(numbers)


def _check(timeline: Timeline, n_paths: int) -> None:
    """Raise Damaged or ValueError unless every event makes sense."""
    paths = n_paths - timeline.first_path + 1  # and the number 0 for none
    ends = {
        "name": len(timeline.names),
        "launch": len(timeline.launches),
        "path": paths,
        "origin": paths,
        "start": _INTEGER_END,
        "ns": _INTEGER_END,
        "bytes": _INTEGER_END,
    }
    if timeline.batches and min(ends.values()) < 1:
        raise Damaged("a timeline lacks its names, launches or paths")
    for batch in timeline.batches:
        for name, data in batch.columns:
            values = unpack(name, data, batch.events)
            if name in ends and max(values) >= ends[name]:
                raise Damaged(f"an event has the {name} {max(values)}")
