"""A trace's slices in packed columns: see `lineprof.columns`."""

from __future__ import annotations

from array import array
from itertools import islice
from operator import le

from lineprof.columns import packed, unpacked
from lineprof.gpu_records import Batch
from lineprof.trace_records import Slice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lineprof.trace_records import Trace

    Values = Sequence[int]

BATCH = 65_536  # slices

# The columns and the array module's typecode of each: I has 4 bytes, Q has 8.
COLUMNS = {
    "thread": "I",  # index in Trace.threads
    "function": "I",  # index in Trace.functions
    "line": "I",  # 0: the whole function
    "start": "Q",  # ns on CLOCK_MONOTONIC; kept as the difference to the one before
    "ns": "Q",
}
_SIZES = {name: array(kind).itemsize for name, kind in COLUMNS.items()}
_GROWS = "start"


def pack(columns: Sequence[bytes]) -> tuple[Batch, ...]:
    """Return slices as batches; `columns` are those of COLUMNS, in its order.

    They are in the machine's byte order.
    """
    count = len(columns[0]) // _SIZES["thread"]
    return tuple(
        _batch(columns, start, min(BATCH, count - start))
        for start in range(0, count, BATCH)
    )


def _batch(columns: Sequence[bytes], start: int, count: int) -> Batch:
    made = []
    for (name, size), column in zip(_SIZES.items(), columns):
        data = column[start * size : (start + count) * size]
        if data.strip(b"\0"):
            kind = COLUMNS[name]
            made.append((name, packed(kind, data, differences=name == _GROWS)))
    return Batch(count, tuple(made))


def unpack(name: str, data: bytes, count: int) -> Values:
    """Return the values of a packed column of so many slices.

    ValueError unless `data` is exactly that: no more than that is unpacked.
    """
    try:
        return unpacked(COLUMNS[name], data, count, differences=name == _GROWS)
    except ValueError as error:
        raise ValueError(f"a column {name} {error}") from error


def columns_of(batch: Batch) -> tuple[Values, ...]:
    """Return the values of all COLUMNS of a batch; zeros for one that is left out."""
    data = dict(batch.columns)
    return tuple(
        unpack(name, data[name], batch.events)
        if name in data
        else array(kind, bytes(batch.events * _SIZES[name]))
        for name, kind in COLUMNS.items()
    )


def slices(trace: Trace) -> Iterator[Slice]:
    """Yield the slices in order of their start, the longer of two first.

    That takes the memory of one batch when they are kept in that order, as they
    are recorded, and 200 bytes a slice when not.
    """
    if _is_in_order(trace.batches):
        for batch in trace.batches:
            yield from _slices(trace, zip(*columns_of(batch)))
        return
    rows = [row for batch in trace.batches for row in zip(*columns_of(batch))]
    rows.sort(key=lambda row: (row[3], -row[4]))
    yield from _slices(trace, rows)


def _is_in_order(batches: Iterable[Batch]) -> bool:
    last = 0
    for batch in batches:
        data = dict(batch.columns)
        if _GROWS not in data:
            starts: Values = (0,)
        else:
            starts = unpack(_GROWS, data[_GROWS], batch.events)
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
