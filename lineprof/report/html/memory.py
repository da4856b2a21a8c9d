"""The numbers of memory of the HTML report: by line, by call path, over the run.

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
_OWN_BLOCKS = -(2**31)  # what a line allocated itself
_OUTSIDE = _OWN_BLOCKS + 1  # what no line of the profile allocated


def columns_of_lines(memory: HostMemory, places: Sequence[tuple[Key, int]]) -> Table:
    """Return the columns of lines in which anything is known."""
    if not memory.sums:
        return {}
    every, alone = (memory_of_lines(memory, alone=alone) for alone in (False, True))
    return _columns(
        [every.get(key, {}).get(line, NO_BYTES) for key, line in places],
        [alone.get(key, {}).get(line, NO_BYTES) for key, line in places],
    )


def columns_of_functions(memory: HostMemory, keys: Sequence[Key]) -> Table:
    """Return the columns of functions in which anything is known."""
    if not memory.sums:
        return {}
    every, alone = (memory_of_functions(memory, alone=alone) for alone in (False, True))
    return _columns(
        [every.get(key, NO_BYTES) for key in keys],
        [alone.get(key, NO_BYTES) for key in keys],
    )


def _columns(every: Sequence[MemoryNumbers], alone: Sequence[MemoryNumbers]) -> Table:
    """Return numbers as columns; those whose names end in Own are without callees."""
    columns: Table = {
        f"{name}{ending}": [getattr(one, field) for one in numbers]
        for ending, numbers in (("", every), ("Own", alone))
        for name, field in BYTES.items()
    }
    return {name: column for name, column in columns.items() if any(column)}


def tables_of_processes(memory: HostMemory, index: Index) -> list[dict[str, object]]:
    """Return the memory of each process; `index` is that of a function.

    The paths of processes that were added up are those of a process of index -1.
    """
    sums = sums_of_processes(memory)
    runs = {one.process: one._asdict() for one in memory.runs}
    curves = {one.process: _curve(one, index) for one in memory.curves}
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
    """Return the line of the program with the most bytes at the peak, and these.

    Line 0 are blocks outside of all lines.
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

    What a line allocated itself is a path below that of its function.
    """
    paths = Paths()
    at: list[int] = []
    numbers: list[MemoryNumbers] = []
    for one in sums:
        above, line = NONE, 0
        for key, below in memory.paths[one.path].lines:
            above = paths.add((above, line, index(key)))
            line = below
        end = _OUTSIDE if above == NONE else _OWN_BLOCKS
        at.append(paths.add((above, line, end)))
        numbers.append(NO_BYTES.plus(one))
    table = paths.table()
    return {
        **{name: table[name] for name in ("parent", "line", "function")},
        **{
            name: [*paths.sums(at, [getattr(one, field) for one in numbers])]
            for name, field in BYTES.items()
        },
    }
