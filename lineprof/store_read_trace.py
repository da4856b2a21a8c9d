"""Reading the traces of a profile's file, which anyone may have made or damaged.

They stay packed; each batch is unpacked once, to see that it will be fit to use.
"""

from __future__ import annotations

from lineprof.records import UNKNOWN_THREAD
from lineprof.store_batches import Batches
from lineprof.store_rows import Damaged, known, natural, rows_of
from lineprof.store_schema import (
    TRACE_BATCHES,
    TRACE_COLUMNS,
    TRACE_FUNCTIONS,
    TRACE_THREADS,
    TRACES,
)
from lineprof.trace_columns import BATCH, COLUMNS, columns_of
from lineprof.trace_records import Trace

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping
    from typing import Any

    from lineprof.records import Key

    Places = Mapping[object, int]

_INTEGER_END = 1 << 63  # of those that SQLite can hold
_PACKED = Batches(TRACE_BATCHES, TRACE_COLUMNS, COLUMNS, BATCH, "trace", "slices")


def traces_of(
    db: sqlite3.Connection,
    keys: Mapping[object, Key],
    processes: Places,
    threads: Places,
) -> tuple[Trace, ...]:
    """Return the traces in an open and checked database; Damaged if they are.

    `keys`, `processes` and `threads` have the functions, and the indexes of
    the others, by their ids.
    """
    rows = rows_of(db, TRACES)
    places = {None: UNKNOWN_THREAD, **threads}
    functions = _PACKED.grouped(rows, rows_of(db, TRACE_FUNCTIONS))
    used = _PACKED.grouped(rows, rows_of(db, TRACE_THREADS))
    batches = _PACKED.read(db, rows)
    traces = []
    for index, process, count, left_out, origin_ns in rows:
        natural([left_out, origin_ns], "a trace")
        if sum(batch.events for batch in batches[index]) != count:
            raise Damaged(f"trace {index} has other than {count} slices")
        trace = Trace(
            process=known(processes, process, "process"),
            count=count,
            left_out=left_out,
            origin_ns=origin_ns,
            functions=tuple(
                [known(keys, id_, "function") for (id_,) in functions[index]]
            ),
            threads=tuple([known(places, id_, "thread") for (id_,) in used[index]]),
            batches=tuple(batches[index]),
        )
        _check(trace)
        traces.append(trace)
    return tuple(traces)


def _check(trace: Trace) -> None:
    """Raise Damaged or ValueError unless every slice makes sense."""
    ends = (
        *(len(trace.threads), len(trace.functions)),
        *(1 << 32, _INTEGER_END, _INTEGER_END),
    )
    for batch in trace.batches:
        columns: Iterable[Any] = columns_of(batch)
        for name, values, end in zip(COLUMNS, columns, ends):
            if max(values) >= end:
                raise Damaged(f"a slice has the {name} {max(values)}")
