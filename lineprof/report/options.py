"""The options of the views, the flags that set them, and the `View` record."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lineprof.console.terminal import PLAIN, Terminal
from lineprof.errors import LineprofError
from lineprof.flags import (
    Flag,
    number,
    on_or_off,
    one_of,
    switch,
    unit,
    valued,
    whole,
)
from lineprof.report.line_table import EXTRA_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from lineprof.model.profile import Profile
    from lineprof.model.records import ThreadLine
    from lineprof.report.rows import Rows
    from lineprof.source import Sources

DEFAULT_HOT_LINES = 10

DEFAULT_WORDS = 60

MAX_CHOSEN = 200  # functions whose tables are printed, if a user chose them

_DEFAULT_MIN_PERCENT = 1.0

_VIEWER_UNIT = 1e-6  # s, as line_profiler's viewer

BY_RANK, BY_PROCESS = "rank", "process"

_ALL, _NONE = "all", "none"  # GPU columns


class Options(NamedTuple):
    """The options of a view, chosen by the reader of a profile."""

    unit: float | None = None  # s; None: the profile's own; AUTO_UNIT: each its own
    skip_zero: bool = False  # leave out functions that never ran
    sort: bool = False  # the greatest total last
    details: bool = True  # the lines of each function
    summarize: bool = False  # one line a function
    raw: bool = False  # times as measured, the profiler's own cost included
    columns: tuple[str, ...] = ()  # names of line_table.EXTRA_COLUMNS
    gpu_columns: tuple[str, ...] | None = None  # None: the usual ones that have data
    gpu_self: bool = False  # GPU numbers of a line without its callees'
    top_kernels: int = 0  # to list under each line
    sort_by: str = ""  # one of the view's orders; "": see `sort`
    kernel: str | None = None  # a pattern of names; kernels of others do not count
    graph_origin: bool = False  # a graph's kernels count where it was captured
    uvm: bool = True  # include migrations of managed memory
    occupancy: bool = False  # warps of a block, and theoretical occupancy
    csv: bool = False  # for spreadsheets and programs
    sarif: bool = False  # for code scanning and editors
    rich: bool = False  # colours by the package rich, if the terminal has colours
    column_widths: Mapping[str, int] | None = None  # minimum, by configuration key
    targets: tuple[str, ...] = ()  # functions and lines, as users name them
    limit: int = 0  # of rows; 0: all
    lines: int = DEFAULT_HOT_LINES  # rows of --hot
    words: int = DEFAULT_WORDS  # of --brief, at most
    depth: int = 0  # levels of calls; 0: the view's default
    min_percent: float | None = None  # of the whole, to be shown; None: see the view
    file: str = "FILE"  # of the profile, in commands for a shell
    named: bool = False  # the profile has the functions that were named alone
    no_bodies: bool = False  # leave out those of functions without numbers in a table
    all_functions: bool = False  # every table, however many
    by: str = BY_RANK  # the rows of --by
    matrix: bool = False  # each line by rank or process
    waiting: bool = False  # a line below each table about its function's waits
    terminal: Terminal = PLAIN


def _no_notes(_profile: Profile, _options: Options) -> Iterable[str]:
    return ()


class View(NamedTuple):
    """One way to look at a profile."""

    name: str
    help: str
    options: tuple[Flag, ...]
    render: Callable[[Profile, Sources, Options], Iterable[str]]
    notes: Callable[[Profile, Options], Iterable[str]] = _no_notes  # below the view
    value: Flag | None = None  # the value of the flag that chooses the view
    orders: Collection[str] = ()  # that --sort-by may name
    has_tables: bool = False  # with the source of all functions
    takes_names: bool = False  # of the functions to show
    of_ranks: bool = False  # its files are of one parallel program
    is_file: bool = False  # written to a file, and has all notes itself
    notes_apart: bool = False  # notes are no part of the output
    # For --json and --csv; None: the view has neither, or makes them itself.
    rows: Callable[[Profile, Sources, Options], Rows] | None = None


# Orders: the values of --sort-by, and of --sort if a name follows it.


_MEMORY_ORDERS = ("host-alloc", "host-live", "host-peak")

TABLE_ORDERS = ("gpu", "time", "hits", "wait", "line", *_MEMORY_ORDERS)

# The orders of --functions by all their names; `pstats` has most of these.
FUNCTION_ORDERS = {
    **dict.fromkeys(("calls", "ncalls"), "calls"),
    **dict.fromkeys(("primitive", "pcalls"), "primitive"),
    **dict.fromkeys(("self", "tottime", "time"), "self"),
    **dict.fromkeys(("cumulative", "cumtime"), "cumulative"),
    **dict.fromkeys(("per-call", "percall"), "per-call"),
    "gpu": "gpu",
    **{name: name for name in _MEMORY_ORDERS},
    "name": "name",
    **dict.fromkeys(("file", "filename", "module", "line", "nfl", "stdname"), "file"),
}

ALL_ORDERS = tuple(dict.fromkeys((*TABLE_ORDERS, *FUNCTION_ORDERS)))


# Names of GPU columns: those shown if they have data, and those shown if asked for.


USUAL_GPU_COLUMNS = (
    *("time", "percent", "kernels", "copy", "mb", "wait", "load"),
    *("alloc", "live", "peak"),
)

MORE_GPU_COLUMNS = (
    *("self", "adopted", "memset", "memsets", "max", "mean", "waits"),
    *("h2d", "h2d-mb", "d2h", "d2h-mb", "d2d", "d2d-mb", "uvm", "uvm-mb"),
    *("free", "idle"),
)


# Parsers of the flags' values. They raise LineprofError for an invalid value.


def _one_of(text: str, what: str, known: Iterable[str], listed: str = "") -> str:
    """Return `text`; LineprofError unless it is one of `known`.

    `listed` is the text of `known` in the hint, by default their names.
    """
    if text not in known:
        hint = f"known are: {listed or ', '.join(known)}"
        raise LineprofError(f"there is no {what} {text!r}", hint=hint)
    return text


def parse_order(text: str) -> str:
    """Return the name of an order of any view."""
    of_functions = ", ".join(dict.fromkeys(FUNCTION_ORDERS.values()))
    listed = f"{', '.join(TABLE_ORDERS)}; of --functions: {of_functions}"
    return _one_of(text, "order", ALL_ORDERS, listed)


def parse_columns(text: str) -> tuple[str, ...]:
    """Return the names of extra columns."""
    names = tuple(filter(None, text.split(",")))
    return tuple(_one_of(name, "column", EXTRA_COLUMNS) for name in names)


def parse_gpu_columns(text: str) -> tuple[str, ...]:
    """Return the names of GPU columns."""
    known = (*USUAL_GPU_COLUMNS, *MORE_GPU_COLUMNS)
    if text == _ALL:
        return known
    if text == _NONE:
        return ()
    names = [name for name in text.split(",") if name]
    for name in names:
        _one_of(name, "GPU column", (*known, _ALL, _NONE))
        if name in {_ALL, _NONE}:
            raise LineprofError(f"{name!r} cannot be combined", hint="name it alone")
    return tuple(dict.fromkeys(names))


parse_count = whole("number", "give one above 0, like 5", least=1)

parse_percent = number("percentage", "give a number from 0 to 100", most=100)


def _count(long: str, text: str) -> Flag:
    """Return a flag with a number above 0; without the flag it is 0."""
    return valued(long, text, "N", parse_count, default=0)


# Flags of the tables.


UNIT = valued(
    "--unit",
    "unit of the times in seconds, above 0, or auto: four digits of each"
    f" time, in the unit that suits it best (default: {_VIEWER_UNIT:g})",
    "UNIT",
    unit,
    short="-u",
    default=_VIEWER_UNIT,
)

SKIP_ZERO = switch("--skip-zero", "leave out functions that never ran", "-z")

SORT = switch("--sort", "sort functions by total time, the longest last", "-t")

SUMMARIZE = switch("--summarize", "end with one line for each function", "-m")

RICH = switch(
    "--rich",
    "highlight the source, on a terminal and if the package rich is installed",
    "-r",
)

RAW = switch("--raw", "times as measured, without subtracting the cost of measuring")

COLUMNS = valued(
    "--columns",
    f"columns to add, separated by commas: {', '.join(EXTRA_COLUMNS)}",
    "NAMES",
    parse_columns,
    words=tuple(EXTRA_COLUMNS),
    separator=",",
    default=(),
)

SORT_BY = valued(
    "--sort-by",
    "order of the functions, the greatest last: gpu, time, wait, hits,"
    f" {', '.join(_MEMORY_ORDERS)}, or line (file and line); with --functions the"
    " greatest first: calls, primitive, self, cumulative, per-call, gpu, those of"
    " memory, name or file. --sort ORDER is the same",
    "ORDER",
    parse_order,
    words=ALL_ORDERS,
    default="",
)


ALL_FUNCTIONS = switch(
    "--all-functions",
    "the tables of all functions, with every line, however long they are; without it a"
    " program that was profiled whole gets one screen",
)


# Flags of GPU data, in the tables and in the views of their own.


GPU_COLUMNS = valued(
    "--gpu-columns",
    "columns for functions that used a GPU, separated by commas:"
    f" {', '.join(USUAL_GPU_COLUMNS)} (by default those of them that have data),"
    f" {', '.join(MORE_GPU_COLUMNS)}; or all, or none",
    "NAMES",
    parse_gpu_columns,
    words=(*USUAL_GPU_COLUMNS, *MORE_GPU_COLUMNS, _ALL, _NONE),
    separator=",",
    default=None,
)

GPU_SELF = switch(
    "--gpu-self",
    "GPU numbers of the line itself, without those of the profiled functions that"
    " it called",
)

TOP_KERNELS = _count(
    "--top-kernels",
    "below each line list its N kernels with the most time",
)

KERNEL = valued(
    "--kernel",
    "count only kernels whose name (demangled or not) matches this pattern, like"
    " '*gemm*'; copies and memsets still count",
    "GLOB",
    default=None,
)

GRAPH_ORIGIN = switch(
    "--graph-origin",
    "charge the work of a CUDA graph to the line that captured it, instead of the"
    " line that launched it",
)

UVM = valued(
    "--uvm",
    "on or off: show migrations of managed memory, if they were recorded (default: on)",
    "on|off",
    on_or_off,
    default=True,
)

OCCUPANCY = switch(
    "--occupancy", "add the warps of a block and the theoretical occupancy"
)

CSV = switch(
    "--csv",
    "values separated by commas, below a row of titles; with --gpu-summary and the"
    " traces, also below a row of units",
)

SARIF = switch(
    "--sarif",
    "with --advice: a log of SARIF 2.1.0, for code scanning and editors; see also -o",
)


# Flags of the views of calls.


LIMIT = _count(
    "--limit",
    "show only the first N rows, or the tables of the N functions with the most time"
    " of their own",
)

DEPTH = _count(
    "--depth",
    "levels of calls to go down (default: all of --tree, one of --drill)",
)

MIN_PERCENT = valued(
    "--min-percent",
    "leave out rows, or tables, with a smaller share of the whole, in %%"
    f" (default: {_DEFAULT_MIN_PERCENT:g} with --tree and --drill, else 0)",
    "SHARE",
    parse_percent,
    default=None,
)

# The values of --drill and --callers, of --hot, and of --brief.
TARGETS = valued("", "", "NAME", attribute="targets", default=())

HOT_LINES = valued(
    "", "", "N", parse_count, attribute="lines", default=DEFAULT_HOT_LINES
)

WORDS = valued("", "", "N", parse_count, attribute="words", default=DEFAULT_WORDS)


# The value of --html.

PAGE = valued("", "", "[OUT.html]", attribute="page", default="")


# Flags of the views of ranks.


BY = valued(
    "",
    "",
    f"{BY_RANK}|{BY_PROCESS}",
    one_of(BY_RANK, BY_PROCESS),
    attribute="by",
    default=BY_RANK,
)

MATRIX = switch(
    "--matrix",
    "with --by: a table for each function, with a column of times for each rank or"
    " process; if not all fit, a column has the mean of several",
)


# Options of the tables, in the order of the help.
OF_TEXT = (
    *(UNIT, SKIP_ZERO, SORT, SUMMARIZE, RICH, RAW, COLUMNS, SORT_BY),
    *(GPU_COLUMNS, GPU_SELF, TOP_KERNELS, KERNEL, GRAPH_ORIGIN),
    *(LIMIT, MIN_PERCENT, ALL_FUNCTIONS),
)

# Options that change the tables of --drill, but not its rows.
OF_TABLES = (UNIT, RICH, COLUMNS, GPU_COLUMNS, GPU_SELF, TOP_KERNELS)


def min_percent_of_calls(options: Options) -> float:
    """Return the minimum share (%) of calls in --tree and --drill."""
    if options.min_percent is None:
        return _DEFAULT_MIN_PERCENT
    return options.min_percent


def uncalibrated(profile: Profile) -> Profile:
    """Return `profile` as --raw asks for it, with the times of lines as measured.

    The total of a recursive function is known only without the profiler's
    cost and stays.
    """

    def measured(cell: ThreadLine) -> ThreadLine:
        return cell._replace(time_ns=max(cell.time_ns, cell.raw_ns))

    return profile.with_functions(
        function._replace(thread_lines=tuple(map(measured, function.thread_lines)))
        for function in profile.functions
    )
