"""Timelines: GPU events and slices of lines one by one, in packed columns.

A slice is one stretch of time in a function or on a line; a trace holds the slices
of a process, a timeline its GPU events. Times are integers in nanoseconds (ns).
"""

from __future__ import annotations

import sys
import zlib
from array import array
from dataclasses import dataclass
from itertools import accumulate, chain, islice
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
from lineprof.model.relation import PROCESS, Field, Relation, naturals, others, refers

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from lineprof.model.records import Key

    Values = Sequence[int]


# Packed columns of integers: docs/format.md specifies them, byte by byte.


class Batch(NamedTuple):
    """Up to 65,536 events or slices, as packed columns."""

    events: int
    columns: tuple[tuple[str, bytes], ...]  # a missing one holds zeros


ITEMS_PER_BATCH = 65_536

_ZLIB_LEVEL = 3  # a higher one takes twice the time for 5 % less


def packed(kind: str, data: bytes, *, differences: bool = False) -> bytes:
    """Return a packed column of values with the array module's typecode `kind`.

    `data` is in the machine's byte order. A column that mostly grows is kept as
    `differences` to the value before.
    """
    values = array(kind, data)
    size = values.itemsize
    if differences:
        steps = map(sub, islice(values, 1, None), values)
        values = _wrapped(kind, [*values[:1], *steps], size)
    if sys.byteorder == "big":
        values.byteswap()
    data = values.tobytes()
    # All lowest bytes first, then the next ones: bytes that vary little lie together.
    return zlib.compress(b"".join([data[i::size] for i in range(size)]), _ZLIB_LEVEL)


def _planes(name: str, data: bytes, count: int, size: int) -> bytes:
    """Return the bytes of a packed column of `count` values, all lowest bytes first.

    ValueError unless `data` has exactly that many; no more are ever unpacked.
    """
    stream = zlib.decompressobj()
    try:
        planes = stream.decompress(data, count * size + 1)
    except zlib.error as error:
        raise ValueError(f"a column {name} does not unpack: {error}") from error
    if len(planes) != count * size or not stream.eof or stream.unused_data:
        raise ValueError(f"a column {name} is not of {count} events")
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


def _wrapped(kind: str, numbers: Iterable[int], size: int) -> array[int]:
    """Return `numbers` as an array; integers that do not fit wrap around."""
    try:
        return array(kind, numbers)  # the usual case
    except OverflowError:
        mask = (1 << 8 * size) - 1
        return array(kind, [number & mask for number in numbers])


class Packing(NamedTuple):
    """The columns of events, slices or other items, and how they are packed."""

    kinds: Mapping[str, str]  # by column: typecodes of the array module
    differences: Collection[str]  # columns that mostly grow: see `packed`

    def pack(self, columns: Mapping[str, bytes]) -> tuple[Batch, ...]:
        """Return batches of items; `columns` are in the machine's byte order."""
        sizes = {
            one: size for one, size in sizes_of(self.kinds).items() if one in columns
        }
        first = next(iter(sizes))
        count = len(columns[first]) // sizes[first]
        batches = []
        for start in range(0, count, ITEMS_PER_BATCH):
            end = min(start + ITEMS_PER_BATCH, count)
            packed_columns = []
            for name, size in sizes.items():
                data = columns[name][start * size : end * size]
                if data.strip(b"\0"):
                    grows = name in self.differences
                    data = packed(self.kinds[name], data, differences=grows)
                    packed_columns.append((name, data))
            batches.append(Batch(events=end - start, columns=tuple(packed_columns)))
        return tuple(batches)

    def unpack(self, name: str, data: bytes, count: int) -> array[int]:
        """Return the `count` values of the packed column `name`.

        ValueError unless `data` has exactly that many; no more are ever unpacked.
        """
        values = array(self.kinds[name])
        size = values.itemsize
        planes = _planes(name, data, count, size)
        raw = bytearray(len(planes))
        for i in range(size):
            raw[i::size] = planes[i * count : (i + 1) * count]
        values.frombytes(raw)
        if sys.byteorder == "big":
            values.byteswap()
        if name not in self.differences:
            return values
        return _wrapped(self.kinds[name], list(accumulate(values)), size)

    def column(self, batches: Iterable[Batch], name: str) -> array[int]:
        """Return a column of all `batches`; zeros if a batch does not have it.

        ValueError unless each has exactly as many values as the batch has items.
        """
        values = array(self.kinds[name])
        for batch in batches:
            data = dict(batch.columns).get(name)
            if data is None:
                values.frombytes(bytes(batch.events * values.itemsize))
            else:
                values.extend(self.unpack(name, data, batch.events))
        return values

    def planes(self, batch: Batch, name: str) -> bytes:
        """Return the bytes of a column, all lowest bytes first; b"" for zeros.

        ValueError as of `column`.
        """
        data = dict(batch.columns).get(name)
        size = array(self.kinds[name]).itemsize
        return b"" if data is None else _planes(name, data, batch.events, size)


def sizes_of(kinds: Mapping[str, str]) -> dict[str, int]:
    """Return the bytes of a value in each column, by the columns' typecodes."""
    return {name: array(kind).itemsize for name, kind in kinds.items()}


def _is_sorted(values: Values) -> bool:
    return all(map(le, values, islice(values, 1, None)))


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


# Columns and their typecodes in the array module: B has a byte, I has 4, Q has 8.
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

EVENT_SIZES = sizes_of(EVENT_COLUMNS)

# Columns that mostly grow: kept as differences to the event before.
EVENT_DIFFERENCES = frozenset({"start", "correlation", "launched"})

_EVENTS = Packing(kinds=EVENT_COLUMNS, differences=EVENT_DIFFERENCES)
pack_events, unpack_events = _EVENTS.pack, _EVENTS.unpack
event_column = _EVENTS.column


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


def rows_by_start(
    timeline: Timeline, names: Sequence[str]
) -> Iterable[tuple[int, ...]]:
    """Return the values of the columns `names` for each event, in order of the start.

    That takes the memory of one batch if they were recorded in order, else 80 bytes
    for each event.
    """
    starts = event_column(timeline.batches, "start")
    if _is_sorted(starts):
        return chain.from_iterable(
            zip(*(event_column([batch], name) for name in names))
            for batch in timeline.batches
        )
    order = sorted(range(len(starts)), key=starts.__getitem__)
    columns = [event_column(timeline.batches, name) for name in names]
    return zip(*(map(column.__getitem__, order) for column in columns))


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


def events(timeline: Timeline) -> Iterator[GpuEvent]:
    """Yield the events in order of their start; for the memory see `rows_by_start`."""
    launches = timeline.launches
    grids = [(one.grid_x, one.grid_y, one.grid_z) for one in launches]
    blocks = [(one.block_x, one.block_y, one.block_z) for one in launches]
    path_0 = timeline.first_path - 1  # the columns count paths from 1
    for row in map(EventRow._make, rows_by_start(timeline, EventRow._fields)):
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


# Columns and their typecodes, as EVENT_COLUMNS.
SLICE_COLUMNS = {
    "thread": "I",  # index in Trace.threads
    "function": "I",  # index in Trace.functions
    "line": "I",  # 0: the whole function
    "start": "Q",  # ns on CLOCK_MONOTONIC; kept as differences to the slice before
    "ns": "Q",
}

SLICE_SIZES = sizes_of(SLICE_COLUMNS)

# A column that some traces have beyond those: ns for which the thread of a slice on a
# line was off the processor, callees included, as far as that is known.
WAIT_COLUMN = "wait"

# The column of the part of the wait that may have been before the slice, in lines too
# short for their waits to be measured.
UNSURE_COLUMN = "unsure"

_SLICES = Packing(
    kinds={**SLICE_COLUMNS, WAIT_COLUMN: "Q", UNSURE_COLUMN: "Q"},
    differences=frozenset({"start"}),
)
pack_slices, slice_column = _SLICES.pack, _SLICES.column
slice_waits = _SLICES.planes


def slice_columns(batch: Batch) -> list[array[int]]:
    """Return the values of a batch in each of SLICE_COLUMNS."""
    return [slice_column([batch], name) for name in SLICE_COLUMNS]


def slice_planes(batch: Batch) -> list[bytes]:
    """Return the bytes of each column of SLICE_COLUMNS, all lowest bytes first.

    A column that the batch lacks has none.
    """
    return [_SLICES.planes(batch, name) for name in SLICE_COLUMNS]


def sorted_batches(trace: Trace) -> tuple[Batch, ...]:
    """Return the slices as batches in the order of `slices`, with their waits.

    They are those of the trace if they are stored in that order, as they are recorded.
    """
    if _is_in_order(trace.batches):
        return trace.batches
    columns = {name: slice_column(trace.batches, name) for name in _SLICES.kinds}
    starts, lengths = columns["start"], columns["ns"]
    order = sorted(range(len(starts)), key=lambda at: (starts[at], -lengths[at]))
    return pack_slices(
        {
            name: array(values.typecode, map(values.__getitem__, order)).tobytes()
            for name, values in columns.items()
        }
    )


def slices(trace: Trace) -> Iterator[Slice]:
    """Return the slices by their start, the longer of two first.

    That takes the memory of one batch if they are stored in that order, as they are
    recorded, else 200 bytes for each slice.
    """
    found = chain.from_iterable(_slices(trace, batch) for batch in trace.batches)
    if _is_in_order(trace.batches):
        return found
    return iter(sorted(found, key=lambda one: (one.start_ns, -one.ns)))


def _is_in_order(batches: Iterable[Batch]) -> bool:
    last = 0
    for batch in batches:
        starts = slice_column([batch], "start")
        if starts[0] < last or not _is_sorted(starts):
            return False
        last = starts[-1]
    return True


def _slices(trace: Trace, batch: Batch) -> Iterator[Slice]:
    """Yield the slices of a batch."""
    for thread, function, line, start, ns in zip(*slice_columns(batch)):
        yield Slice(
            start_ns=start - trace.origin_ns,
            ns=ns,
            thread=trace.threads[thread],
            function=trace.functions[function],
            line=line,
        )
