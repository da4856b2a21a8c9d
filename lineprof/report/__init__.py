"""The registry of views: each flag of `lineprof view`, and the module behind it.

| flag                      | module                  |
|---------------------------|-------------------------|
| (none)                    | text, line_table        |
| (none), a whole program   | overview                |
| --json                    | json_report             |
| --json, --csv of a view   | rows                    |
| --markdown of each        | markdown                |
| --html                    | html                    |
| --hot                     | functions               |
| --functions               | functions               |
| --callers                 | functions               |
| --tree                    | call_tree               |
| --drill                   | drill_down, lookup      |
| --brief                   | brief                   |
| --advice                  | advice, advice_sarif    |
| --ranks                   | ranks                   |
| --by                      | by_process              |
| --memory                  | memory, memory_format   |
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
from lineprof.report import options as flags
from lineprof.report.markdown import Document
from lineprof.report.options import FUNCTION_ORDERS, TABLE_ORDERS, Options, View

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

_OF_ROWS = (flags.LIMIT, flags.MIN_PERCENT, flags.CSV)  # which rows, and their form

_OF_WORK = (flags.KERNEL, flags.GRAPH_ORIGIN, flags.UVM)  # which work counts, and where

TEXT = View(
    name="text",
    help="the table of line_profiler (the default)",
    options=flags.OF_TEXT,
    render=partial(_call, "text", "render"),
    orders=TABLE_ORDERS,
    takes_names=True,
    has_tables=True,
)

# In place of TEXT for the long tables of a whole program; it has no flag.
_OVERVIEW = View(
    name="overview",
    help="",
    options=(),
    render=partial(_call, "overview", "render"),
    notes=_CALL_NOTES,
)

HTML = View(
    name="html",
    help="write a page for browsers, in one file that needs no network (default name:"
    " FILE.html)",
    options=(flags.RAW,),
    render=partial(_call, "html", "render"),
    value=flags.PAGE,
    takes_names=True,
    is_file=True,
)

HOT = View(
    name="hot",
    help="the N lines with the most self time, of all files (default: 10)",
    options=_OF_ROWS,
    render=partial(_call, "functions", "hot"),
    rows=partial(_call, "functions", "hot_rows"),
    notes=_CALL_NOTES,
    value=flags.HOT_LINES,
)

FUNCTIONS = View(
    name="functions",
    help="each function with its calls, self time and cumulative time, like cProfile",
    options=(flags.SKIP_ZERO, flags.SORT_BY, *_OF_ROWS),
    render=partial(_call, "functions", "functions"),
    rows=partial(_call, "functions", "function_rows"),
    notes=_CALL_NOTES,
    orders=FUNCTION_ORDERS,
)

TREE = View(
    name="tree",
    help="the calls as a tree, those with the most time first",
    options=(flags.DEPTH, *_OF_ROWS),
    render=partial(_call, "call_tree", "tree"),
    rows=partial(_call, "call_tree", "tree_rows"),
    notes=_CALL_NOTES,
)

DRILL = View(
    name="drill",
    help="the table of a function with the functions that each of its lines calls;"
    f" of a line, the tables of the functions that it calls ({FORMS}); repeat the flag"
    " to go further down",
    options=(flags.DEPTH, *_OF_ROWS, *flags.OF_TABLES),
    render=partial(_call, "drill_down", "drill"),
    rows=partial(_call, "drill_down", "drill_rows"),
    notes=_CALL_NOTES,
    value=flags.TARGETS,
)

CALLERS = View(
    name="callers",
    help="the callers of a function, with the number of calls and their time",
    options=_OF_ROWS,
    render=partial(_call, "functions", "callers"),
    rows=partial(_call, "functions", "caller_rows"),
    notes=_CALL_NOTES,
    value=flags.TARGETS,
)

ADVICE = View(
    name="advice",
    help="lines that are slow for a known reason (loops, waits, imports, repeated"
    " calls, GPU work), with their numbers and what usually helps",
    options=(*_OF_ROWS, flags.SARIF),
    render=partial(_call, "advice", "advice"),
    rows=partial(_call, "advice", "rows"),
    notes=partial(_call, "advice", "advice_notes"),
)

BRIEF = View(
    name="brief",
    help="the answer in at most N words, for chat bots and agents: the hottest line,"
    " its callers, why, and the next command to type (default:"
    f" {flags.DEFAULT_WORDS})",
    options=(),
    render=partial(_call, "brief", "render"),
    notes=_CALL_NOTES,
    value=flags.WORDS,
    takes_names=True,
    notes_apart=True,
)

MEMORY = View(
    name="memory",
    help="the peak of the run's memory, the lines that held it, what was live at the"
    " end, and what lines freed before they ended, after kernprof -l --memory",
    options=_OF_ROWS,
    render=partial(_call, "memory", "memory"),
    rows=partial(_call, "memory", "memory_rows"),
    notes=partial(_call, "memory", "memory_notes"),
)

RANKS = View(
    name="ranks",
    help="ranks of a parallel program: its efficiency, the lines for which ranks wait"
    " for the slowest one, and the spread of every line over the ranks",
    options=(flags.LIMIT, flags.MIN_PERCENT, flags.ALL_FUNCTIONS, flags.CSV),
    render=partial(_call, "ranks", "ranks"),
    rows=partial(_call, "ranks", "rows"),
    notes=partial(_call, "ranks", "rank_notes"),
    takes_names=True,
    of_ranks=True,
)

BY_VIEW = View(
    name="by",
    help="each rank, or each process, with its host, command and times; with --matrix"
    " its lines",
    options=(flags.MATRIX, flags.LIMIT, flags.CSV),
    render=partial(_call, "by_process", "by"),
    rows=partial(_call, "by_process", "rows"),
    notes=partial(_call, "ranks", "rank_notes"),
    value=flags.BY,
    takes_names=True,
    of_ranks=True,
)

GPU_SUMMARY = View(
    name="gpu-summary",
    help="each kernel, copy, memset and CUDA call with its time, like nvprof",
    options=(*_OF_WORK, *_OF_ROWS),
    render=partial(_call, "gpu_summary", "gpu_summary"),
    notes=partial(_call, "gpu_summary", "summary_notes"),
    has_tables=True,
)

GPU_IDLE = View(
    name="gpu-idle",
    help="the lines that left a GPU idle, and why",
    options=_OF_ROWS,
    render=partial(_call, "gpu_idle", "gpu_idle"),
    rows=partial(_call, "gpu_idle", "rows"),
    notes=partial(_call, "gpu_idle", "idle_notes"),
)

GPU_TRACE = View(
    name="gpu-trace",
    help="each activity of a GPU in order of its start, like nvprof",
    options=(*_OF_WORK, flags.OCCUPANCY, flags.CSV, flags.LIMIT),
    render=partial(_call, "gpu_trace", "gpu_trace"),
    notes=partial(_call, "gpu_trace", "gpu_trace_notes"),
    has_tables=True,
)

API_TRACE = View(
    name="api-trace",
    help="each CUDA call in order of its start, like nvprof",
    options=(flags.CSV, flags.LIMIT),
    render=partial(_call, "gpu_trace", "api_trace"),
    notes=partial(_call, "gpu_trace", "api_trace_notes"),
    has_tables=True,
)

_OTHERS = (
    *(HTML, BRIEF, HOT, FUNCTIONS, TREE, DRILL, CALLERS, ADVICE, MEMORY, RANKS),
    *(BY_VIEW, GPU_SUMMARY, GPU_IDLE, GPU_TRACE, API_TRACE),
)

JSON = View(
    name="json",
    help="JSON for other programs, times in nanoseconds; also of "
    + listed([f"--{view.name}" for view in _OTHERS if view.rows], " and ", 99),
    options=(flags.SKIP_ZERO, flags.SORT, flags.RAW, flags.LIMIT, flags.MIN_PERCENT),
    render=partial(_call, "json_report", "render"),
    takes_names=True,
    has_tables=True,
)

VIEWS = {view.name: view for view in (TEXT, JSON, *_OTHERS)}


def default_view(profile: Profile, sources: Sources, options: Options) -> View:
    """Return the view of `profile` for a reader who chose none.

    A Markdown document has the first screen also above short tables, which are closed.
    """
    if isinstance(options.terminal, Document) and profile.processes:
        return _OVERVIEW
    return _OVERVIEW if overview.is_large(profile, sources, options) else TEXT
