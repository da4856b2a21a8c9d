"""A timeline's events in packed columns: see `lineprof.columns`."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from itertools import islice
from operator import le

from lineprof.columns import packed, unpacked
from lineprof.gpu_records import (
    DRIVER,
    KINDS,
    MEMCPY,
    MEMORIES,
    MIGRATION,
    NO_DEVICE,
    NO_PATH,
    RUNTIME,
    UNKNOWN,
    WAIT,
    Batch,
    GpuEvent,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    Values = Sequence[int]

BATCH = 65_536  # events

# The columns and the array module's typecode of each: I has 4 bytes, Q has 8.
COLUMNS = {
    "kind": "B",  # number in KINDS
    "name": "I",  # index in Timeline.names
    "start": "Q",  # ns on CLOCK_MONOTONIC
    "ns": "Q",
    "path": "I",  # 0: none; 1 is Gpu.paths[Timeline.first_path]
    "origin": "I",  # the same
    "device": "I",
    "context": "I",
    "stream": "I",
    "correlation": "I",
    "bytes": "Q",
    "launch": "I",  # index in Timeline.launches
    "memory": "B",  # index in MEMORIES of the source | of the target << 4
    "thread": "Q",
}
SIZES = {name: array(kind).itemsize for name, kind in COLUMNS.items()}
# What mostly grows is kept as the difference to the event before.
DIFFERENCES = frozenset({"start", "correlation"})


@dataclass(frozen=True)
class Timeline:
    """A process' events, packed; iterating yields a `GpuEvent` at a time.

    They come in the order of their start.
    """

    process: int  # its index in LineStats.processes
    count: int  # of events
    origin_ns: int  # where `GpuEvent.start_ns` is 0, on CLOCK_MONOTONIC
    first_path: int  # index in Gpu.paths of what the columns call 1
    names: tuple[str, ...]
    launches: tuple[tuple[int, ...], ...]  # grid, block, registers, both smems
    batches: tuple[Batch, ...]

    def __iter__(self) -> Iterator[GpuEvent]:
        return events(self)


def pack(columns: Mapping[str, bytes]) -> tuple[Batch, ...]:
    """Return events as batches; `columns` are in the machine's byte order."""
    count = len(columns["kind"])
    return tuple(
        _batch(columns, start, min(BATCH, count - start))
        for start in range(0, count, BATCH)
    )


def _batch(columns: Mapping[str, bytes], start: int, events: int) -> Batch:
    columns_ = []
    for name, size in SIZES.items():
        data = columns[name][start * size : (start + events) * size]
        if data.strip(b"\0"):
            kind, grows = COLUMNS[name], name in DIFFERENCES
            columns_.append((name, packed(kind, data, differences=grows)))
    return Batch(events, tuple(columns_))


def unpack(name: str, data: bytes, events: int) -> Values:
    """Return the values of a packed column of so many events.

    ValueError unless `data` is exactly that: no more than that is unpacked.
    """
    try:
        return unpacked(COLUMNS[name], data, events, differences=name in DIFFERENCES)
    except ValueError as error:
        raise ValueError(f"a column {name} {error}") from error


def _column(batches: Iterable[Batch], name: str) -> Values:
    """Return a column of all `batches`; zeros where it was left out."""
    whole = array(COLUMNS[name])
    for batch in batches:
        data = dict(batch.columns).get(name)
        if data is None:
            whole.frombytes(bytes(batch.events * whole.itemsize))
        else:
            whole.extend(unpack(name, data, batch.events))
    return whole


def events(timeline: Timeline) -> Iterator[GpuEvent]:
    """Yield the events in order of their start.

    That takes the memory of one batch when they were recorded in order, and
    80 bytes an event when not.
    """
    starts = _column(timeline.batches, "start")
    if all(map(le, starts, islice(starts, 1, None))):
        for batch in timeline.batches:
            rows = zip(*[_column([batch], name) for name in COLUMNS])
            yield from _events(timeline, rows)
        return
    order = sorted(range(len(starts)), key=starts.__getitem__)
    columns = [_column(timeline.batches, name) for name in COLUMNS]
    rows = zip(*[map(column.__getitem__, order) for column in columns])
    yield from _events(timeline, rows)


def _events(timeline: Timeline, rows: Iterable[Values]) -> Iterator[GpuEvent]:
    launches = [_launch(*one) for one in timeline.launches]
    path_0 = timeline.first_path - 1
    for row in rows:
        code, name, start, ns, path, origin, device, context, stream = row[:9]
        correlation, size, launch, memory, thread = row[9:]
        kind = KINDS[code] if code < len(KINDS) else UNKNOWN
        grid, block, registers, static_smem, dynamic_smem = launches[launch]
        yield GpuEvent(
            kind=kind,
            name=timeline.names[name],
            start_ns=start - timeline.origin_ns,
            ns=ns,
            path=path_0 + path if path else NO_PATH,
            origin=path_0 + origin if origin else NO_PATH,
            device=NO_DEVICE if kind in {WAIT, RUNTIME, DRIVER} else device,
            context=context,
            stream=stream,
            correlation=correlation,
            bytes=size,
            grid=grid,
            block=block,
            registers=registers,
            static_smem=static_smem,
            dynamic_smem=dynamic_smem,
            source=_memory(kind, memory & 15),
            target=_memory(kind, memory >> 4),
            thread=thread,
        )


def _launch(  # noqa: PLR0913, PLR0917  # a row of Timeline.launches
    grid_x: int,
    grid_y: int,
    grid_z: int,
    block_x: int,
    block_y: int,
    block_z: int,
    registers: int,
    static_smem: int,
    dynamic_smem: int,
) -> tuple[tuple[int, int, int], tuple[int, int, int], int, int, int]:
    grid, block = (grid_x, grid_y, grid_z), (block_x, block_y, block_z)
    return grid, block, registers, static_smem, dynamic_smem


def _memory(kind: str, number: int) -> str:
    """Return the kind of memory that a copy or another event reads or writes."""
    if not number and kind not in {MEMCPY, MIGRATION}:
        return ""
    return MEMORIES[number] if number < len(MEMORIES) else MEMORIES[0]
