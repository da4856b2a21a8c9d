"""Numbers of memory of the HTML report: by line, by call path, over the run.

Sizes are in bytes, times in nanoseconds (ns) since the start of measuring.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineprof.model.host_memory import (
    NO_BYTES,
    memory_of_functions,
    memory_of_lines,
    sums_of_processes,
)
from lineprof.model.relation import NONE
from lineprof.report.html.paths import Paths
from lineprof.report.memory_format import holders

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from lineprof.model.host_memory import (
        HostMemory,
        MemoryCurve,
        MemoryNumbers,
        MemorySum,
    )
    from lineprof.model.records import Key
    from lineprof.report.html.paths import Table

    Index = Callable[[Key | None], int]

BYTES = {  # names of columns, as in lines.js
    "hostPeak": "peak_bytes",
    "hostLive": "live_bytes",
    "hostAlloc": "alloc_bytes",
    "hostAllocs": "allocs",
    "hostFreed": "freed_bytes",
    "hostTemp": "temp_bytes",
}

# In place of the function of a call path, as in frames.js.
_OWN_BLOCKS = -(2**31)  # blocks that a line allocated itself
_OUTSIDE = _OWN_BLOCKS + 1  # blocks outside of profiled lines


def columns_of_lines(memory: HostMemory, places: Sequence[tuple[Key, int]]) -> Table:
    """Return the columns of lines in which anything is known."""
    if not memory.sums:
        return {}
    every, own = memory_of_lines(memory), memory_of_lines(memory, alone=True)
    return _columns(
        [every.get(key, {}).get(line, NO_BYTES) for key, line in places],
        [own.get(key, {}).get(line, NO_BYTES) for key, line in places],
    )


def columns_of_functions(memory: HostMemory, keys: Sequence[Key]) -> Table:
    """Return the columns of functions in which anything is known."""
    if not memory.sums:
        return {}
    every, own = memory_of_functions(memory), memory_of_functions(memory, alone=True)
    return _columns(
        [every.get(key, NO_BYTES) for key in keys],
        [own.get(key, NO_BYTES) for key in keys],
    )


def _columns(every: Sequence[MemoryNumbers], own: Sequence[MemoryNumbers]) -> Table:
    """Return numbers as columns; those whose names end in Own are without callees."""
    columns: Table = {
        f"{name}{ending}": [getattr(numbers, field) for numbers in rows]
        for ending, rows in (("", every), ("Own", own))
        for name, field in BYTES.items()
    }
    return {name: column for name, column in columns.items() if any(column)}


def tables_of_processes(memory: HostMemory, index: Index) -> list[dict[str, object]]:
    """Return the memory of each process; `index` returns that of a function.

    Paths of processes that were added up are in a table whose process is NONE.
    """
    sums = sums_of_processes(memory)
    runs = {run.process: run._asdict() for run in memory.runs}
    curves = {curve.process: _curve(curve, index) for curve in memory.curves}
    return [
        {
            "process": process,
            "run": runs.get(process),
            "curve": curves.get(process),
            "holder": _holder(memory, sums.get(process) or sums.get(NONE) or (), index),
            "paths": _paths(memory, sums.get(process, ()), index),
        }
        for process in {**runs, **sums}
    ]


def _holder(
    memory: HostMemory, sums: Iterable[MemorySum], index: Index
) -> dict[str, int]:
    """Return the line of the program with the most bytes at the peak, and its bytes.

    Line 0 stands for blocks outside of profiled lines.
    """
    [(place, size)] = holders(memory, sums).most_common(1) or [(None, 0)]
    key, line = place or (None, 0)
    return {"function": index(key), "line": line, "bytes": size}


def _curve(curve: MemoryCurve, index: Index) -> dict[str, object]:
    return {
        "times": curve.times_ns,
        "live": curve.live_bytes,
        "function": [index(key) for key, _ in curve.lines],
        "line": [line for _, line in curve.lines],
        "bytes": curve.line_bytes,
    }


def _paths(memory: HostMemory, sums: Iterable[MemorySum], index: Index) -> Table:
    """Return the call paths of blocks as columns, callers before callees.

    Blocks that a line allocated itself have a path below that of its function.
    """
    paths = Paths()
    indexes: list[int] = []
    rows: list[MemoryNumbers] = []
    for record in sums:
        parent, line = NONE, 0  # of the call
        for key, next_line in memory.paths[record.path].lines:
            parent = paths.add((parent, line, index(key)))
            line = next_line
        end = _OUTSIDE if parent == NONE else _OWN_BLOCKS
        indexes.append(paths.add((parent, line, end)))
        rows.append(record.numbers)
    table = paths.table()
    return {
        **{name: table[name] for name in ("parent", "line", "function")},
        **{
            name: [*paths.sums(indexes, [getattr(numbers, field) for numbers in rows])]
            for name, field in BYTES.items()
        },
    }
