"""Tables of a ``.lprof`` file that few profiles have.

They are of GPUs, traces, ranks, and the memory of lines.
"""

from __future__ import annotations

from typing import NamedTuple

from lineprof.model import gpu, gpu_memory, host_memory, records, timelines
from lineprof.storage import schema
from lineprof.storage.schema import Column, Table, ints, table_of, texts

MAX_EVENTS = 100_000_000  # of all timelines together; of all traces, slices


class BatchTables(NamedTuple):
    """The tables of packed columns: of events in timelines, or of slices in traces."""

    batches: Table
    columns: Table
    owner: str  # "timeline": `batches` has its id as timeline_id
    items: str  # "events": the column of `batches` with their number


def _batches(prefix: str, owner: str, items: str) -> BatchTables:
    return BatchTables(
        batches=Table(f"{prefix}_batches", ints("id", f"{owner}_id", items)),
        columns=Table(
            f"{prefix}_columns",
            (*ints("batch_id"), *texts("name"), Column("data", bytes)),
        ),
        owner=owner,
        items=items,
    )


GPU_RUNS = table_of(gpu.GPU_RUNS)
GPU_DEVICES = table_of(gpu.GPU_DEVICES, "id")
GPU_NAMES = Table("gpu_names", (*ints("id"), *texts("name")))
GPU_PATHS = table_of(gpu.GPU_PATHS, "id")
GPU_PATH_LINES = Table("gpu_path_lines", ints("path_id", "function_id", "line"))
GPU_SUMS = table_of(gpu.GPU_SUMS)
GPU_TIMELINES = table_of(timelines.GPU_TIMELINES, "id")
GPU_TIMELINE_NAMES = Table("gpu_timeline_names", ints("timeline_id", "name_id"))
GPU_LAUNCHES = table_of(timelines.GPU_LAUNCHES, "timeline_id")
EVENT_BATCHES = _batches("gpu", "timeline", "events")

# Only profiles with the memory of devices by line have these.

GPU_MEMORY_SUMS = table_of(gpu_memory.GPU_MEMORY_SUMS)
GPU_MEMORY_PEAKS = table_of(gpu_memory.GPU_MEMORY_PEAKS)
GPU_MEMORY_RUNS = table_of(gpu_memory.GPU_MEMORY_RUNS)

# The functions of traces are those of the calls.

TRACES = table_of(timelines.TRACES, "id")
TRACE_FUNCTIONS = Table("trace_functions", ints("trace_id", "function_id"))
TRACE_THREADS = Table(
    "trace_threads", (*ints("trace_id"), Column("thread_id", int, optional=True))
)
SLICE_BATCHES = _batches("trace", "trace", "slices")

# Only profiles that were merged from many files have these. Line 0 is a function.

RANK_LINES = Table("rank_lines", ints("id", "function_id", "line"))
RANK_RUNS = table_of(records.RANK_RUNS, "id")
RANK_LINE_BATCHES = _batches("rank", "rank", "lines")

# Only profiles with the memory of lines have these. A path is the way from a root to a
# node: paths have most of their lines in common.

MEMORY_NODES = Table(
    "memory_nodes",
    (
        *(*ints("id"), Column("parent_id", int, optional=True)),
        *ints("function_id", "line"),
    ),
)
MEMORY_PATHS = table_of(
    host_memory.MEMORY_PATHS, "id", last=(Column("node_id", int, optional=True),)
)
MEMORY_SUMS = table_of(host_memory.MEMORY_SUMS)
MEMORY_RUNS = table_of(
    host_memory.MEMORY_RUNS,
    last=(
        Column("moments", int, optional=True),  # NULL: there is no curve
        *(Column(name, bytes, optional=True) for name in ("times", "live")),
    ),
)
MEMORY_CURVE_LINES = Table(
    "memory_curve_lines",
    (*ints("process_id", "function_id", "line"), Column("live", bytes)),
)

GPU_TABLES = (
    *(GPU_RUNS, GPU_DEVICES, GPU_NAMES, GPU_PATHS, GPU_PATH_LINES, GPU_SUMS),
    *(GPU_TIMELINES, GPU_TIMELINE_NAMES, GPU_LAUNCHES, *EVENT_BATCHES[:2]),
)
GPU_MEMORY_TABLES = (GPU_MEMORY_SUMS, GPU_MEMORY_PEAKS, GPU_MEMORY_RUNS)
TRACE_TABLES = (TRACES, TRACE_FUNCTIONS, TRACE_THREADS, *SLICE_BATCHES[:2])
RANK_TABLES = (RANK_LINES, RANK_RUNS, *RANK_LINE_BATCHES[:2])
MEMORY_TABLES = (
    *(MEMORY_NODES, MEMORY_PATHS, MEMORY_SUMS),
    *(MEMORY_RUNS, MEMORY_CURVE_LINES),
)
# A file has all tables of such a group, or none of them.
OPTIONAL_TABLES = (
    GPU_TABLES,
    GPU_MEMORY_TABLES,
    schema.CALL_TABLES,
    (schema.MERGED_CALLS,),
    (schema.OWN_TIMES,),
    (schema.CUTS,),
    TRACE_TABLES,
    RANK_TABLES,
    MEMORY_TABLES,
)
