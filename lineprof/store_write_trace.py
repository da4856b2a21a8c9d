"""The rows of a profile's file that hold traces."""

from __future__ import annotations

from lineprof.errors import LineprofError
from lineprof.records import UNKNOWN_THREAD
from lineprof.store_schema import (
    MOST_EVENTS,
    TRACE_BATCHES,
    TRACE_COLUMNS,
    TRACE_FUNCTIONS,
    TRACE_THREADS,
    TRACES,
)
from lineprof.store_write_calls import function_ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lineprof.stats import Profile
    from lineprof.store_schema import Table
    from lineprof.trace_records import Trace

    Row = Iterable[object]


def tables(stats: Profile) -> Iterator[tuple[Table, Iterable[Row]]]:
    """Yield each table of traces with its rows.

    IndexError when they speak of a thread that there is not; LineprofError when
    there are more slices than can be read again.
    """
    count = sum(trace.count for trace in stats.traces)
    if count > MOST_EVENTS:
        raise LineprofError(
            f"a profile can't hold {count} slices of time (at most {MOST_EVENTS})",
            hint="merge fewer profiles, or record less: kernprof -l --trace-memory MB",
        )
    yield TRACES, _traces(stats.traces)
    yield TRACE_FUNCTIONS, _functions(stats)
    yield TRACE_THREADS, _threads(stats)
    yield TRACE_BATCHES, _batches(stats.traces)
    yield TRACE_COLUMNS, _columns(stats.traces)


def _traces(traces: Iterable[Trace]) -> Iterator[Row]:
    for index, one in enumerate(traces):
        yield (index, one.process, one.count, one.left_out, one.origin_ns)


def _functions(stats: Profile) -> Iterator[Row]:
    ids = function_ids(stats)
    for index, one in enumerate(stats.traces):
        for key in one.functions:
            yield (index, ids[key])


def _threads(stats: Profile) -> Iterator[Row]:
    for index, one in enumerate(stats.traces):
        for thread in one.threads:
            if not UNKNOWN_THREAD <= thread < len(stats.threads):
                raise IndexError(f"there is no thread {thread} in the profile")
            yield (index, None if thread == UNKNOWN_THREAD else thread)


def _batches(traces: Iterable[Trace]) -> Iterator[Row]:
    index = 0
    for trace, one in enumerate(traces):
        for batch in one.batches:
            yield (index, trace, batch.events)
            index += 1


def _columns(traces: Iterable[Trace]) -> Iterator[Row]:
    batches = [batch for one in traces for batch in one.batches]
    for index, batch in enumerate(batches):
        for name, data in batch.columns:
            yield (index, name, data)
