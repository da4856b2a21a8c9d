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
from lineprof.model.relation import (
    PROCESS,
    Field,
    Relation,
    naturals,
    others,
    refers,
)

if TYPE_CHECKING:
    from collections.abc import (
        Collection,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )

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
    planes = _planes(data, count, size)
    raw = bytearray(len(planes))
    for i in range(size):
        raw[i::size] = planes[i * count : (i + 1) * count]
    values = array(kind, bytes(raw))
    if sys.byteorder == "big":
        values.byteswap()
    return _wrapped(kind, list(accumulate(values)), size) if differences else values


def _planes(data: bytes, count: int, size: int) -> bytes:
    """Return the bytes of a packed column of `count` values, all lowest bytes first.

    ValueError unless `data` has exactly that many; no more are ever unpacked.
    """
    stream = zlib.decompressobj()
    try:
        planes = stream.decompress(data, count * size + 1)
    except zlib.error as error:
        raise ValueError(f"does not unpack: {error}") from error
    if len(planes) != count * size or not stream.eof or stream.unused_data:
        raise ValueError(f"is not of {count} events")
    return planes


def first_of(batch: Batch, count: int) -> Batch:
    """Return up to `count` of the first events or slices of a valid batch."""
    columns = []
    count = min(count, batch.events)
    for name, data in batch.columns:
        planes = zlib.decompress(data)
        starts = range(0, len(planes), batch.events)
        first = b"".join([planes[start : start + count] for start in starts])
        columns.append((name, zlib.compress(first, _ZLIB_LEVEL)))
    return Batch(events=count, columns=tuple(columns))


def _differences(values: array[int]) -> list[int]:
    return [*values[:1], *map(sub, islice(values, 1, None), values)]


def _wrapped(kind: str, numbers: Iterable[int], size: int) -> array[int]:
    """Return `numbers` as an array; integers that do not fit wrap around."""
    try:
        return array(kind, numbers)  # the usual case
    except OverflowError:
        mask = (1 << 8 * size) - 1
        return array(kind, [number & mask for number in numbers])


def pack_columns(
    columns: Mapping[str, bytes],
    kinds: Mapping[str, str],
    differences: Collection[str],
    max_items: int,
) -> tuple[Batch, ...]:
    """Return batches of up to `max_items` items.

    `columns` are in the machine's byte order, and `kinds` are their typecodes;
    `differences` names those that mostly grow.
    """
    sizes = {name: array(kind).itemsize for name, kind in kinds.items()}
    first = next(iter(sizes))
    count = len(columns[first]) // sizes[first]
    batches = []
    for start in range(0, count, max_items):
        end = min(start + max_items, count)
        packed_columns = []
        for name, size in sizes.items():
            data = columns[name][start * size : end * size]
            if data.strip(b"\0"):
                grows = name in differences
                packed_columns.append(
                    (name, packed(kinds[name], data, differences=grows))
                )
        batches.append(Batch(events=end - start, columns=tuple(packed_columns)))
    return tuple(batches)


def unpack_column(
    name: str,
    data: bytes,
    count: int,
    kinds: Mapping[str, str],
    differences: Collection[str],
) -> Values:
    """Return the `count` values of the packed column `name`.

    `kinds` and `differences` are those of `pack_columns`. ValueError unless `data` has
    exactly that many; no more are ever unpacked.
    """
    try:
        return unpacked(kinds[name], data, count, differences=name in differences)
    except ValueError as error:
        raise ValueError(f"a column {name} {error}") from error


# GPU events.


class Launch(NamedTuple):
    """The launch parameters of kernels; all 0 for other events."""

    grid_x: int
    grid_y: int
    grid_z: int
    block_x: int
    block_y: int
    block_z: int
    registers: int  # of each thread
    static_smem: int  # bytes of shared memory of each block
    dynamic_smem: int


GPU_LAUNCHES = Relation(
    "gpu_launches", Launch, "a launch", others(int, *Launch._fields)
)


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
    "launched": "Q",  # when the launching call began, as "start"; 0: unknown
}

EVENT_SIZES = {name: array(kind).itemsize for name, kind in EVENT_COLUMNS.items()}

# Columns that mostly grow: kept as differences to the event before.
EVENT_DIFFERENCES = frozenset({"start", "correlation", "launched"})


@dataclass(frozen=True)
class Timeline:
    """GPU events of one process, packed; iterating yields `GpuEvent` by start."""

    process: int  # its index in Profile.processes
    count: int  # of events
    origin_ns: int  # where `GpuEvent.start_ns` is 0, on CLOCK_MONOTONIC
    first_path: int  # index in Gpu.paths of the columns' path 1
    names: tuple[str, ...]
    launches: tuple[Launch, ...]
    batches: tuple[Batch, ...]

    def __iter__(self) -> Iterator[GpuEvent]:
        return events(self)


GPU_TIMELINES = Relation(
    "gpu_timelines",
    Timeline,
    "a timeline",
    (
        refers(PROCESS),
        Field("count", column="events"),
        *naturals("origin_ns", "first_path"),
    ),
)


def pack_events(columns: Mapping[str, bytes]) -> tuple[Batch, ...]:
    """Return batches of events; `columns` are in the machine's byte order."""
    return pack_columns(columns, EVENT_COLUMNS, EVENT_DIFFERENCES, EVENTS_PER_BATCH)


def unpack_events(name: str, data: bytes, events: int) -> Values:
    """Return the values of a packed column of `events` events.

    ValueError unless `data` has exactly that many; no more are ever unpacked.
    """
    return unpack_column(name, data, events, EVENT_COLUMNS, EVENT_DIFFERENCES)


def event_column(batches: Iterable[Batch], name: str) -> Values:
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
    order = order_of(event_column(timeline.batches, "start"))
    if order is None:
        for batch in timeline.batches:
            yield from _events(timeline, _rows([batch]))
    else:
        yield from _events(timeline, _rows(timeline.batches, order))


def order_of(starts: Values) -> list[int] | None:
    """Return the indexes of events by start; None if they are in that order."""
    if all(map(le, starts, islice(starts, 1, None))):
        return None
    return sorted(range(len(starts)), key=starts.__getitem__)


class EventRow(NamedTuple):
    """The values of one event in the columns that `GpuEvent` is made from."""

    kind: int
    name: int
    start: int
    ns: int
    path: int
    origin: int
    device: int
    context: int
    stream: int
    correlation: int
    bytes: int
    launch: int
    memory: int
    thread: int


def _rows(
    batches: Sequence[Batch], order: Sequence[int] | None = None
) -> Iterator[EventRow]:
    """Yield the values of each event, in `order` if that is given."""
    columns: list[Iterable[int]] = []
    for name in EventRow._fields:
        column = event_column(batches, name)
        columns.append(column if order is None else map(column.__getitem__, order))
    return map(EventRow._make, zip(*columns))


def _events(timeline: Timeline, rows: Iterable[EventRow]) -> Iterator[GpuEvent]:
    launches = timeline.launches
    grids = [(one.grid_x, one.grid_y, one.grid_z) for one in launches]
    blocks = [(one.block_x, one.block_y, one.block_z) for one in launches]
    path_0 = timeline.first_path - 1  # the columns count paths from 1
    for row in rows:
        kind = KINDS[row.kind] if row.kind < len(KINDS) else UNKNOWN
        launch = launches[row.launch]
        yield GpuEvent(
            kind=kind,
            name=timeline.names[row.name],
            start_ns=row.start - timeline.origin_ns,
            ns=row.ns,
            path=path_0 + row.path if row.path else NO_PATH,
            origin=path_0 + row.origin if row.origin else NO_PATH,
            device=NO_DEVICE if kind in {WAIT, RUNTIME, DRIVER} else row.device,
            context=row.context,
            stream=row.stream,
            correlation=row.correlation,
            bytes=row.bytes,
            grid=grids[row.launch],
            block=blocks[row.launch],
            registers=launch.registers,
            static_smem=launch.static_smem,
            dynamic_smem=launch.dynamic_smem,
            source=_memory(kind, row.memory & 15),
            target=_memory(kind, row.memory >> 4),
            thread=row.thread,
        )


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
    min_ns: int = 0  # shorter calls of functions have no slice
    min_line_ns: int | None = None  # nor shorter times on a line; None: unknown
    # From when on no slice was started (ns on CLOCK_MONOTONIC); 0 if there was room for
    # all, None if unknown.
    full_ns: int | None = None

    def __iter__(self) -> Iterator[Slice]:
        return slices(self)


TRACES = Relation(
    "traces",
    Trace,
    "a trace",
    (
        refers(PROCESS),
        Field("count", column="slices"),
        *naturals("left_out", "origin_ns"),
        *naturals("min_ns", optional=True, added=True, absent=0),
        *naturals("min_line_ns", "full_ns", optional=True, added=True),
    ),
)


SLICES_PER_BATCH = 65_536

# Columns and their typecodes in the array module: I has 4 bytes, Q has 8.
SLICE_COLUMNS = {
    "thread": "I",  # index in Trace.threads
    "function": "I",  # index in Trace.functions
    "line": "I",  # 0: the whole function
    "start": "Q",  # ns on CLOCK_MONOTONIC; kept as differences to the slice before
    "ns": "Q",
}

SLICE_SIZES = {name: array(kind).itemsize for name, kind in SLICE_COLUMNS.items()}

_SLICE_DIFFERENCES = frozenset({"start"})

# A column that some traces have beyond those: ns for which the thread of a slice on a
# line was off the processor, callees included, as far as that is known.
WAIT_COLUMN = "wait"

# The column of the part of the wait that may have been before the slice, in lines too
# short for their waits to be measured.
UNSURE_COLUMN = "unsure"

_WAIT_COLUMNS = {WAIT_COLUMN: "Q", UNSURE_COLUMN: "Q"}

_ALL_SLICE_COLUMNS = {**SLICE_COLUMNS, **_WAIT_COLUMNS}


class SliceColumns(NamedTuple):
    """The values of the columns of SLICE_COLUMNS, for the slices of one batch."""

    thread: Values
    function: Values
    line: Values
    start: Values
    ns: Values


def pack_slices(columns: Mapping[str, bytes]) -> tuple[Batch, ...]:
    """Return batches of slices; `columns` are in the machine's byte order."""
    more = {name: kind for name, kind in _WAIT_COLUMNS.items() if name in columns}
    kinds = {**SLICE_COLUMNS, **more}
    return pack_columns(columns, kinds, _SLICE_DIFFERENCES, SLICES_PER_BATCH)


def slice_columns(batch: Batch) -> SliceColumns:
    """Return the values of a batch; zeros for a column that the batch lacks.

    ValueError unless each column has exactly as many values as there are slices.
    """
    return SliceColumns(**{name: _slice_column(batch, name) for name in SLICE_COLUMNS})


def _slice_column(batch: Batch, name: str) -> Values:
    """Return the values of one column of slices; zeros if the batch lacks it."""
    kinds = _ALL_SLICE_COLUMNS
    data = dict(batch.columns).get(name)
    if data is None:
        return array(kinds[name], bytes(batch.events * array(kinds[name]).itemsize))
    return unpack_column(name, data, batch.events, kinds, _SLICE_DIFFERENCES)


def slice_planes(batch: Batch) -> list[bytes]:
    """Return the bytes of each column of SLICE_COLUMNS, all lowest bytes first.

    A column that the batch lacks has none. ValueError as of `slice_columns`.
    """
    return [_slice_planes(batch, name, size) for name, size in SLICE_SIZES.items()]


def slice_waits(batch: Batch, column: str) -> bytes:
    """Return the bytes of a column of waits in the same form, b"" for zeros."""
    return _slice_planes(batch, column, 8)


def _slice_planes(batch: Batch, name: str, size: int) -> bytes:
    data = dict(batch.columns).get(name)
    try:
        return b"" if data is None else _planes(data, batch.events, size)
    except ValueError as error:
        raise ValueError(f"a column {name} {error}") from error


def sorted_batches(trace: Trace) -> tuple[Batch, ...]:
    """Return the slices as batches in the order of `slices`, with their waits.

    They are those of the trace if they are stored in that order, as they are recorded.
    """
    if _is_in_order(trace.batches):
        return trace.batches
    columns = {name: array(kind) for name, kind in _ALL_SLICE_COLUMNS.items()}
    for batch in trace.batches:
        for name, values in columns.items():
            values.extend(_slice_column(batch, name))
    starts, lengths = columns["start"], columns["ns"]
    order = sorted(range(len(starts)), key=lambda at: (starts[at], -lengths[at]))
    return pack_slices(
        {
            name: array(values.typecode, map(values.__getitem__, order)).tobytes()
            for name, values in columns.items()
        }
    )


def slice_starts(batch: Batch) -> Values:
    """Return the starts of a batch (ns on CLOCK_MONOTONIC)."""
    return _slice_column(batch, "start")


def slices(trace: Trace) -> Iterator[Slice]:
    """Yield the slices by their start, the longer of two first.

    That takes the memory of one batch if they are stored in that order, as they are
    recorded, else 200 bytes for each slice.
    """
    found: Iterator[Slice] = (
        one for batch in trace.batches for one in _slices(trace, batch)
    )
    if not _is_in_order(trace.batches):
        found = iter(sorted(found, key=lambda one: (one.start_ns, -one.ns)))
    yield from found


def _is_in_order(batches: Iterable[Batch]) -> bool:
    last = 0
    for batch in batches:
        starts = slice_starts(batch)
        if starts[0] < last or not all(map(le, starts, islice(starts, 1, None))):
            return False
        last = starts[-1]
    return True


def _slices(trace: Trace, batch: Batch) -> Iterator[Slice]:
    """Yield the slices of a batch."""
    columns, threads, functions = slice_columns(batch), trace.threads, trace.functions
    for start, ns, thread, function, line in zip(
        columns.start, columns.ns, columns.thread, columns.function, columns.line
    ):
        yield Slice(
            start_ns=start - trace.origin_ns,
            ns=ns,
            thread=threads[thread],
            function=functions[function],
            line=line,
        )
