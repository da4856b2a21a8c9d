"""Reading the traces of a profile's file, which anyone may have made or damaged.

They stay packed; each batch is unpacked once, to see that it will be fit to use.
"""

from __future__ import annotations

from lineprof.gpu_records import Batch
from lineprof.records import UNKNOWN_THREAD
from lineprof.store_rows import Damaged, known, natural, places_of, rows_of
from lineprof.store_schema import (
    MOST_EVENTS,
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
    from lineprof.store_rows import Rows

    Places = Mapping[object, int]

_INTEGER_END = 1 << 63  # of those that SQLite can hold


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
    functions = _grouped(rows, rows_of(db, TRACE_FUNCTIONS), keys, "function")
    used = _grouped(rows, rows_of(db, TRACE_THREADS), places, "thread")
    batches = _batches(db, rows)
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
            functions=tuple(functions[index]),
            threads=tuple(used[index]),
            batches=tuple(batches[index]),
        )
        _check(trace)
        traces.append(trace)
    return tuple(traces)


def _grouped(
    rows: Rows, parts: Rows, found: Mapping[Any, Any], kind: str
) -> dict[object, list[Any]]:
    """Return by trace what the ids in the second column of `parts` stand for."""
    groups: dict[object, list[Any]] = {index: [] for index, *_ in rows}
    for trace, part in parts:
        known(groups, trace, "trace").append(known(found, part, kind))
    return groups


def _batches(db: sqlite3.Connection, traces: Rows) -> dict[object, list[Batch]]:
    """Return the batches of each trace in order, their columns still packed."""
    rows = rows_of(db, TRACE_BATCHES)
    columns: dict[object, dict[str, bytes]] = {index: {} for index in places_of(rows)}
    for index, name, data in rows_of(db, TRACE_COLUMNS):
        of_batch = known(columns, index, "batch")
        if name in of_batch:
            raise Damaged(f"a batch has two columns {name}")
        of_batch[name] = data
    most = MOST_EVENTS
    batches: dict[object, list[Batch]] = {index: [] for index, *_ in traces}
    for index, trace, count in rows:
        if not 0 < count <= BATCH:
            raise Damaged(f"a batch has {count} slices")
        most -= count
        if most < 0:
            raise Damaged(f"the traces have more than {MOST_EVENTS} slices")
        found = columns[index]  # later columns than of today are passed over
        made = tuple((name, found[name]) for name in COLUMNS if name in found)
        known(batches, trace, "trace").append(Batch(count, made))
    return batches


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
