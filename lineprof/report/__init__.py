"""The registry of views: each flag of `lineprof view`, and the module behind it.

| flag                      | module                  |
|---------------------------|-------------------------|
| (none)                    | text, line_table        |
| (none), a whole program   | overview                |
| --json                    | json_report             |
| --json, --csv of a view   | rows                    |
| --html                    | html                    |
| --hot                     | functions               |
| --functions               | functions               |
| --callers                 | functions               |
| --tree                    | call_tree               |
| --drill                   | drill_down, lookup      |
| --advice                  | advice                  |
| --ranks                   | ranks                   |
| --by                      | by_process              |
| --gpu-summary             | gpu_summary, gpu_format |
| --gpu-idle                | gpu_idle                |
| --gpu-trace, --api-trace  | gpu_trace, gpu_format   |
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from lineprof.later import Later
from lineprof.patterns import FORMS, listed
from lineprof.report.options import (
    ALL_FUNCTIONS,
    BY,
    COLUMNS,
    CSV,
    DEPTH,
    FUNCTION_ORDERS,
    GPU_COLUMNS,
    GPU_SELF,
    GRAPH_ORIGIN,
    HOT_LINES,
    KERNEL,
    LIMIT,
    MATRIX,
    MIN_PERCENT,
    OCCUPANCY,
    PAGE,
    RAW,
    RICH,
    SKIP_ZERO,
    SORT,
    SORT_BY,
    SUMMARIZE,
    TABLE_ORDERS,
    TARGETS,
    TOP_KERNELS,
    UNIT,
    UVM,
    Options,
    View,
)

if TYPE_CHECKING:
    from lineprof.model.profile import Profile
    from lineprof.report import overview
    from lineprof.source import Sources
else:
    overview = Later("lineprof.report.overview")

__all__ = ["TEXT", "VIEWS", "Options", "View", "default_view"]


def _call(module: str, function: str, *arguments: Any) -> Any:  # noqa: ANN401
    """Call a function of one of this package's modules, and import that now."""
    return getattr(import_module(f"{__name__}.{module}"), function)(*arguments)


_CALL_NOTES = partial(_call, "functions", "call_notes")

TEXT = View(
    name="text",
    suffix=".txt",
    help="the table of line_profiler (the default)",
    options=(
        *(UNIT, SKIP_ZERO, SORT, SUMMARIZE, RICH, RAW, COLUMNS, SORT_BY),
        *(GPU_COLUMNS, GPU_SELF, TOP_KERNELS, KERNEL, GRAPH_ORIGIN),
        *(LIMIT, MIN_PERCENT, ALL_FUNCTIONS),
    ),
    render=partial(_call, "text", "render"),
    orders=TABLE_ORDERS,
    takes_names=True,
)

# In place of TEXT for the long tables of a whole program; it has no flag.
_OVERVIEW = View(
    name="overview",
    suffix=".txt",
    help="",
    options=(),
    render=partial(_call, "overview", "render"),
    notes=_CALL_NOTES,
    has_tables=False,
)

HTML = View(
    name="html",
    suffix=".html",
    help="write a page for browsers, in one file that needs no network (default name:"
    " FILE.html)",
    options=(RAW,),
    render=partial(_call, "html", "render"),
    value=PAGE,
    takes_names=True,
    is_file=True,
)

HOT = View(
    name="hot",
    suffix=".hot.txt",
    help="the N lines with the most self time, of all files (default: 10)",
    options=(LIMIT, MIN_PERCENT, CSV),
    render=partial(_call, "functions", "hot"),
    rows=partial(_call, "functions", "hot_rows"),
    notes=_CALL_NOTES,
    has_tables=False,
    value=HOT_LINES,
)

FUNCTIONS = View(
    name="functions",
    suffix=".functions.txt",
    help="each function with its calls, self time and cumulative time, like cProfile",
    options=(SKIP_ZERO, SORT_BY, LIMIT, MIN_PERCENT, CSV),
    render=partial(_call, "functions", "functions"),
    rows=partial(_call, "functions", "function_rows"),
    notes=_CALL_NOTES,
    has_tables=False,
    orders=FUNCTION_ORDERS,
)

TREE = View(
    name="tree",
    suffix=".tree.txt",
    help="the calls as a tree, those with the most time first",
    options=(DEPTH, LIMIT, MIN_PERCENT, CSV),
    render=partial(_call, "call_tree", "tree"),
    rows=partial(_call, "call_tree", "tree_rows"),
    notes=_CALL_NOTES,
    has_tables=False,
)

DRILL = View(
    name="drill",
    suffix=".drill.txt",
    help=f"the tables of the functions that a line or a function calls ({FORMS});"
    " repeat it to go further down",
    options=(
        *(DEPTH, LIMIT, MIN_PERCENT, CSV, UNIT, RICH),
        *(COLUMNS, GPU_COLUMNS, GPU_SELF, TOP_KERNELS),
    ),
    render=partial(_call, "drill_down", "drill"),
    rows=partial(_call, "drill_down", "drill_rows"),
    notes=_CALL_NOTES,
    has_tables=False,
    value=TARGETS,
)

CALLERS = View(
    name="callers",
    suffix=".callers.txt",
    help="the callers of a function, with the number of calls and their time",
    options=(LIMIT, MIN_PERCENT, CSV),
    render=partial(_call, "functions", "callers"),
    rows=partial(_call, "functions", "caller_rows"),
    notes=_CALL_NOTES,
    has_tables=False,
    value=TARGETS,
)

ADVICE = View(
    name="advice",
    suffix=".advice.txt",
    help="what the numbers prove, the most time first, and what usually helps: loops,"
    " waits, imports, repeated calls, GPU work",
    options=(LIMIT, MIN_PERCENT, CSV),
    render=partial(_call, "advice", "advice"),
    rows=partial(_call, "advice", "rows"),
    notes=partial(_call, "advice", "advice_notes"),
    has_tables=False,
)

RANKS = View(
    name="ranks",
    suffix=".ranks.txt",
    help="ranks of a parallel program: its efficiency, the lines for which ranks wait"
    " for the slowest one, and the spread of every line over the ranks",
    options=(LIMIT, MIN_PERCENT, ALL_FUNCTIONS, CSV),
    render=partial(_call, "ranks", "ranks"),
    rows=partial(_call, "ranks", "rows"),
    notes=partial(_call, "ranks", "rank_notes"),
    has_tables=False,
    takes_names=True,
    of_ranks=True,
)

BY_VIEW = View(
    name="by",
    suffix=".by.txt",
    help="each rank, or each process, with its host, command and times; with --matrix"
    " its lines",
    options=(MATRIX, LIMIT, CSV),
    render=partial(_call, "by_process", "by"),
    rows=partial(_call, "by_process", "rows"),
    notes=partial(_call, "ranks", "rank_notes"),
    has_tables=False,
    value=BY,
    takes_names=True,
    of_ranks=True,
)

GPU_SUMMARY = View(
    name="gpu-summary",
    suffix=".gpu-summary.txt",
    help="each kernel, copy, memset and CUDA call with its time, like nvprof",
    options=(KERNEL, GRAPH_ORIGIN, UVM, CSV, LIMIT, MIN_PERCENT),
    render=partial(_call, "gpu_summary", "gpu_summary"),
    notes=partial(_call, "gpu_summary", "summary_notes"),
)

GPU_IDLE = View(
    name="gpu-idle",
    suffix=".gpu-idle.txt",
    help="the lines that left a GPU idle, and why",
    options=(CSV, LIMIT, MIN_PERCENT),
    render=partial(_call, "gpu_idle", "gpu_idle"),
    rows=partial(_call, "gpu_idle", "rows"),
    notes=partial(_call, "gpu_idle", "idle_notes"),
    has_tables=False,
)

GPU_TRACE = View(
    name="gpu-trace",
    suffix=".gpu-trace.txt",
    help="each activity of a GPU in order of its start, like nvprof",
    options=(KERNEL, GRAPH_ORIGIN, UVM, OCCUPANCY, CSV, LIMIT),
    render=partial(_call, "gpu_trace", "gpu_trace"),
    notes=partial(_call, "gpu_trace", "gpu_trace_notes"),
)

API_TRACE = View(
    name="api-trace",
    suffix=".api-trace.txt",
    help="each CUDA call in order of its start, like nvprof",
    options=(CSV, LIMIT),
    render=partial(_call, "gpu_trace", "api_trace"),
    notes=partial(_call, "gpu_trace", "api_trace_notes"),
)

_OTHERS = (
    *(HTML, HOT, FUNCTIONS, TREE, DRILL, CALLERS, ADVICE, RANKS, BY_VIEW),
    *(GPU_SUMMARY, GPU_IDLE, GPU_TRACE, API_TRACE),
)

JSON = View(
    name="json",
    suffix=".json",
    help="JSON for other programs, times in nanoseconds; also of "
    + listed([f"--{view.name}" for view in _OTHERS if view.rows], " and ", 99),
    options=(SKIP_ZERO, SORT, RAW, LIMIT, MIN_PERCENT),
    render=partial(_call, "json_report", "render"),
    takes_names=True,
)

VIEWS = {view.name: view for view in (TEXT, JSON, *_OTHERS)}


def default_view(profile: Profile, sources: Sources, options: Options) -> View:
    """Return the view of `profile` for a reader who chose none."""
    return _OVERVIEW if overview.is_large(profile, sources, options) else TEXT
