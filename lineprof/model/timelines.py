"""Timelines: GPU events and slices of lines one by one, in packed columns.

A slice is one stretch of time in a function or on a line; a trace holds the slices
of a process, a timeline its GPU events. Times are integers in nanoseconds (ns).
"""

from __future__ import annotations

import sys
import zlib
from array import array
from dataclasses import dataclass
from itertools import accumulate, islice
from operator import le, sub
from typing import TYPE_CHECKING, NamedTuple

from lineprof.model.gpu import (
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
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from lineprof.model.records import Key

    Values = Sequence[int]


# Packed columns of integers: docs/format.md specifies them, byte by byte.


class Batch(NamedTuple):
    """Up to 65,536 events or slices, as packed columns."""

    events: int
    columns: tuple[tuple[str, bytes], ...]  # a missing one holds zeros


_ZLIB_LEVEL = 3  # a higher one takes twice the time for 5 % less


def packed(kind: str, data: bytes, *, differences: bool = False) -> bytes:
    """Return a packed column of values with the array module's typecode `kind`.

    `data` is in the machine's byte order. A column that mostly grows is kept as
    `differences` to the value before.
    """
    values = array(kind, data)
    size = values.itemsize
    if differences:
        values = _wrapped(kind, _differences(values), size)
    if sys.byteorder == "big":
        values.byteswap()
    data = values.tobytes()
    # All lowest bytes first, then the next ones: bytes that vary little lie together.
    return zlib.compress(b"".join([data[i::size] for i in range(size)]), _ZLIB_LEVEL)


def unpacked(
    kind: str, data: bytes, count: int, *, differences: bool = False
) -> array[int]:
    """Return the `count` values of a packed column.

    ValueError unless `data` has exactly that many; no more are ever unpacked.
    """
    size = array(kind).itemsize
    stream = zlib.decompressobj()
    try:
        planes = stream.decompress(data, count * size + 1)
    except zlib.error as error:
        raise ValueError(f"does not unpack: {error}") from error
    if len(planes) != count * size or not stream.eof or stream.unused_data:
        raise ValueError(f"is not of {count} events")
    raw = bytearray(len(planes))
    for i in range(size):
        raw[i::size] = planes[i * count : (i + 1) * count]
    values = array(kind, bytes(raw))
    if sys.byteorder == "big":
        values.byteswap()
    return _wrapped(kind, list(accumulate(values)), size) if differences else values


def _differences(values: array[int]) -> list[int]:
    return [*values[:1], *map(sub, islice(values, 1, None), values)]


def _wrapped(kind: str, numbers: Iterable[int], size: int) -> array[int]:
    """Return `numbers` as an array; integers that do not fit wrap around."""
    try:
        return array(kind, numbers)  # the usual case
    except OverflowError:
        mask = (1 << 8 * size) - 1
        return array(kind, [number & mask for number in numbers])


# GPU events.


class GpuEvent(NamedTuple):
    """One GPU event: work of a device, a wait, or a call of CUDA's API."""

    kind: str
    name: str
    start_ns: int  # since the process began to measure
    ns: int
    path: int  # its index in Gpu.paths, or NO_PATH
    origin: int  # of a graph: the path that captured it, or NO_PATH
    device: int  # CUDA's number, or NO_DEVICE
    context: int
    stream: int
    correlation: int
    bytes: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    registers: int  # of each thread
    static_smem: int  # bytes of shared memory of each block
    dynamic_smem: int
    source: str  # one of MEMORIES; "" if nothing is read
    target: str
    thread: int  # native id of the calling thread; 0 on a device


EVENTS_PER_BATCH = 65_536

# Columns and their typecodes in the array module: I has 4 bytes, Q has 8.
EVENT_COLUMNS = {
    "kind": "B",  # number in KINDS
    "name": "I",  # index in Timeline.names
    "start": "Q",  # ns on CLOCK_MONOTONIC
    "ns": "Q",
    "path": "I",  # 0: NO_PATH; 1 is Gpu.paths[Timeline.first_path]
    "origin": "I",  # in the same way
    "device": "I",
    "context": "I",
    "stream": "I",
    "correlation": "I",
    "bytes": "Q",
    "launch": "I",  # index in Timeline.launches
    "memory": "B",  # index in MEMORIES of the source | of the target << 4
    "thread": "Q",
}

EVENT_SIZES = {name: array(kind).itemsize for name, kind in EVENT_COLUMNS.items()}

# Columns that mostly grow: kept as differences to the event before.
EVENT_DIFFERENCES = frozenset({"start", "correlation"})


@dataclass(frozen=True)
class Timeline:
    """GPU events of one process, packed; iterating yields `GpuEvent` by start."""

    process: int  # its index in Profile.processes
    count: int  # of events
    origin_ns: int  # where `GpuEvent.start_ns` is 0, on CLOCK_MONOTONIC
    first_path: int  # index in Gpu.paths of the columns' path 1
    names: tuple[str, ...]
    launches: tuple[tuple[int, ...], ...]  # grid, block, registers, both smems
    batches: tuple[Batch, ...]

    def __iter__(self) -> Iterator[GpuEvent]:
        return events(self)


def pack_events(columns: Mapping[str, bytes]) -> tuple[Batch, ...]:
    """Return batches of events; `columns` are in the machine's byte order."""
    count = len(columns["kind"])
    return tuple(
        _event_batch(columns, start, min(EVENTS_PER_BATCH, count - start))
        for start in range(0, count, EVENTS_PER_BATCH)
    )


def _event_batch(columns: Mapping[str, bytes], start: int, events: int) -> Batch:
    columns_ = []
    for name, size in EVENT_SIZES.items():
        data = columns[name][start * size : (start + events) * size]
        if data.strip(b"\0"):
            kind, grows = EVENT_COLUMNS[name], name in EVENT_DIFFERENCES
            columns_.append((name, packed(kind, data, differences=grows)))
    return Batch(events=events, columns=tuple(columns_))


def unpack_events(name: str, data: bytes, events: int) -> Values:
    """Return the values of a packed column of `events` events.

    ValueError unless `data` has exactly that many; no more are ever unpacked.
    """
    try:
        return unpacked(
            EVENT_COLUMNS[name], data, events, differences=name in EVENT_DIFFERENCES
        )
    except ValueError as error:
        raise ValueError(f"a column {name} {error}") from error


def _column(batches: Iterable[Batch], name: str) -> Values:
    """Return a column of all `batches`; zeros if a batch does not have it."""
    values = array(EVENT_COLUMNS[name])
    for batch in batches:
        data = dict(batch.columns).get(name)
        if data is None:
            values.frombytes(bytes(batch.events * values.itemsize))
        else:
            values.extend(unpack_events(name, data, batch.events))
    return values


def events(timeline: Timeline) -> Iterator[GpuEvent]:
    """Yield the events in order of their start.

    That takes the memory of one batch if they were recorded in order, else 80 bytes
    for each event.
    """
    starts = _column(timeline.batches, "start")
    if all(map(le, starts, islice(starts, 1, None))):
        for batch in timeline.batches:
            rows = zip(*[_column([batch], name) for name in EVENT_COLUMNS])
            yield from _events(timeline, rows)
        return
    order = sorted(range(len(starts)), key=starts.__getitem__)
    columns = [_column(timeline.batches, name) for name in EVENT_COLUMNS]
    rows = zip(*[map(column.__getitem__, order) for column in columns])
    yield from _events(timeline, rows)


def _events(timeline: Timeline, rows: Iterable[Values]) -> Iterator[GpuEvent]:
    launches = [_launch(*one) for one in timeline.launches]
    path_0 = timeline.first_path - 1  # the columns count paths from 1
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
    """Return the kind of memory by its number; "" if the event is no copy."""
    if not number and kind not in {MEMCPY, MIGRATION}:
        return ""
    return MEMORIES[number] if number < len(MEMORIES) else MEMORIES[0]


# Slices.


class Slice(NamedTuple):
    """One stretch of time in a function, or on one of its lines."""

    start_ns: int  # since the process began to measure, as GpuEvent.start_ns
    ns: int
    thread: int  # its index in Profile.threads, or UNKNOWN_THREAD
    function: Key
    line: int  # 0: the whole function, up to its return or its next suspension


@dataclass(frozen=True)
class Trace:
    """Slices of one process, packed; iterating yields `Slice` by start.

    Of two that start together the longer one comes first. Two slices of a thread
    lie within one another, or apart.
    """

    process: int  # its index in Profile.processes
    count: int  # of slices
    left_out: int  # slices that there was no room for
    origin_ns: int  # where `Slice.start_ns` is 0, on CLOCK_MONOTONIC
    functions: tuple[Key, ...]
    threads: tuple[int, ...]  # indexes in Profile.threads, by number in the columns
    batches: tuple[Batch, ...]

    def __iter__(self) -> Iterator[Slice]:
        return slices(self)


SLICES_PER_BATCH = 65_536

# Columns and their typecodes in the array module: I has 4 bytes, Q has 8.
SLICE_COLUMNS = {
    "thread": "I",  # index in Trace.threads
    "function": "I",  # index in Trace.functions
    "line": "I",  # 0: the whole function
    "start": "Q",  # ns on CLOCK_MONOTONIC; kept as differences to the slice before
    "ns": "Q",
}

_SLICE_SIZES = {name: array(kind).itemsize for name, kind in SLICE_COLUMNS.items()}

_START = "start"


def pack_slices(columns: Sequence[bytes]) -> tuple[Batch, ...]:
    """Return batches of slices; `columns` are in the order of SLICE_COLUMNS.

    Their values are in the machine's byte order.
    """
    count = len(columns[0]) // _SLICE_SIZES["thread"]
    return tuple(
        _slice_batch(columns, start, min(SLICES_PER_BATCH, count - start))
        for start in range(0, count, SLICES_PER_BATCH)
    )


def _slice_batch(columns: Sequence[bytes], start: int, count: int) -> Batch:
    columns_ = []
    for (name, size), column in zip(_SLICE_SIZES.items(), columns):
        data = column[start * size : (start + count) * size]
        if data.strip(b"\0"):
            kind = SLICE_COLUMNS[name]
            columns_.append((name, packed(kind, data, differences=name == _START)))
    return Batch(events=count, columns=tuple(columns_))


def unpack_slices(name: str, data: bytes, count: int) -> Values:
    """Return the values of a packed column of `count` slices.

    ValueError unless `data` has exactly that many; no more are ever unpacked.
    """
    try:
        return unpacked(SLICE_COLUMNS[name], data, count, differences=name == _START)
    except ValueError as error:
        raise ValueError(f"a column {name} {error}") from error


def slice_columns(batch: Batch) -> tuple[Values, ...]:
    """Return the values of all SLICE_COLUMNS; zeros for one that the batch lacks."""
    data = dict(batch.columns)
    return tuple(
        unpack_slices(name, data[name], batch.events)
        if name in data
        else array(kind, bytes(batch.events * _SLICE_SIZES[name]))
        for name, kind in SLICE_COLUMNS.items()
    )


def slices(trace: Trace) -> Iterator[Slice]:
    """Yield the slices by their start, the longer of two first.

    That takes the memory of one batch if they are stored in that order, as they are
    recorded, else 200 bytes for each slice.
    """
    if _is_in_order(trace.batches):
        for batch in trace.batches:
            yield from _slices(trace, zip(*slice_columns(batch)))
        return
    rows = [row for batch in trace.batches for row in zip(*slice_columns(batch))]
    rows.sort(key=lambda row: (row[3], -row[4]))
    yield from _slices(trace, rows)


def _is_in_order(batches: Iterable[Batch]) -> bool:
    last = 0
    for batch in batches:
        data = dict(batch.columns)
        if _START not in data:
            starts: Values = (0,)
        else:
            starts = unpack_slices(_START, data[_START], batch.events)
        if starts[0] < last or not all(map(le, starts, islice(starts, 1, None))):
            return False
        last = starts[-1]
    return True


def _slices(trace: Trace, rows: Iterable[tuple[int, ...]]) -> Iterator[Slice]:
    origin, threads, functions = trace.origin_ns, trace.threads, trace.functions
    for thread, function, line, start, ns in rows:
        yield Slice(
            start_ns=start - origin,
            ns=ns,
            thread=threads[thread],
            function=functions[function],
            line=line,
        )
