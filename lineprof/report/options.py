"""What a view is: a name, the options it takes, and a function that yields lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lineprof.console.terminal import PLAIN, Terminal
from lineprof.errors import LineprofError
from lineprof.model.profile import Profile

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from lineprof.model.records import ThreadLine
    from lineprof.source import Sources


# What --sort-by, and --sort with a name after it, may be given.


ORDERS_OF_TABLES = ("gpu", "time", "hits", "wait", "line")

# Of --functions, by each of its names: those of `pstats` are taken, too.
ORDERS_OF_FUNCTIONS = {
    **dict.fromkeys(("calls", "ncalls"), "calls"),
    **dict.fromkeys(("primitive", "pcalls"), "primitive"),
    **dict.fromkeys(("self", "tottime", "time"), "self"),
    **dict.fromkeys(("cumulative", "cumtime"), "cumulative"),
    **dict.fromkeys(("per-call", "percall"), "per-call"),
    "gpu": "gpu",
    "name": "name",
    **dict.fromkeys(("file", "filename", "module", "line", "nfl", "stdname"), "file"),
}

ALL_ORDERS = tuple(dict.fromkeys((*ORDERS_OF_TABLES, *ORDERS_OF_FUNCTIONS)))


def parse_order(text: str) -> str:
    """Return the name of an order; LineprofError for one that no view knows."""
    if text not in ALL_ORDERS:
        raise LineprofError(
            f"there is no order {text!r}",
            hint=f"known are: {', '.join(ORDERS_OF_TABLES)};"
            f" of --functions: {', '.join(dict.fromkeys(ORDERS_OF_FUNCTIONS.values()))}",
        )
    return text


class Options(NamedTuple):
    """How the reader wants to see a profile."""

    unit: float | None = None  # s; None: the profile's own; AUTO_UNIT: each its own
    skip_zero: bool = False  # leave out functions that never ran
    sort: bool = False  # the greatest total last
    details: bool = True  # the lines of each function
    summarize: bool = False  # one line a function
    raw: bool = False  # times as measured, the profiler's own cost included
    columns: tuple[str, ...] = ()  # beyond the usual ones
    gpu_columns: tuple[str, ...] | None = None  # None: the usual ones that have data
    gpu_self: bool = False  # GPU numbers of a line without what it called
    top_kernels: int = 0  # to list under each line
    sort_by: str = ""  # one of the view's orders; "": see `sort`
    kernel: str | None = None  # a pattern of names; kernels of others do not count
    graph_origin: bool = False  # a graph's kernels count where it was captured
    uvm: bool = True  # migrations of managed memory, too
    occupancy: bool = False  # warps of a block, and theoretical occupancy
    csv: bool = False  # for spreadsheets and programs
    rich: bool = False  # colours by the package rich, where the screen has any
    column_widths: Mapping[str, int] | None = None  # least ones
    targets: tuple[str, ...] = ()  # functions and lines, as users name them
    limit: int = 0  # of rows; 0: all
    lines: int = 10  # of those that took most time
    depth: int = 0  # levels of calls; 0: as many as the view sees fit
    min_percent: float = 1  # calls with a smaller share in the whole are left out
    waiting: bool = False  # say below a table what its function waited for
    screen: Terminal = PLAIN


class Option(NamedTuple):
    """One flag of the command line that sets a field of Options."""

    field: str
    flags: tuple[str, ...]
    help: str
    default: object = False
    metavar: str | None = None
    parse: Callable[[str], object] | None = None  # None: a switch; else LineprofError


def _nothing(*_: object) -> Iterable[str]:
    """Have nothing to remark."""
    return ()


class View(NamedTuple):
    """One way to look at a profile."""

    name: str
    suffix: str  # of a file with it
    help: str
    options: tuple[Option, ...]
    render: Callable[[Profile, Sources, Options], Iterable[str]]
    remarks: Callable[[Profile, Options], Iterable[str]] = _nothing  # beside it
    value: Option | None = None  # what its own flag is given
    orders: Collection[str] = ()  # that it knows, for --sort-by
    has_tables: bool = True  # with the source of all functions


RAW = Option(
    "raw", ("--raw",), "times as measured, the profiler's own cost not taken out"
)

SKIP_ZERO = Option(
    "skip_zero", ("-z", "--skip-zero"), "leave out functions that never ran"
)

SORT = Option("sort", ("-t", "--sort"), "sort by total time, the greatest last")


def uncalibrated(stats: Profile) -> Profile:
    """Return `stats` with the times of lines as they were measured.

    The total of a recursive function is known only without the profiler's
    cost and stays.
    """

    def measured(cell: ThreadLine) -> ThreadLine:
        return cell._replace(time_ns=max(cell.time_ns, cell.raw_ns))

    return Profile.from_functions(
        (
            function._replace(thread_lines=tuple(map(measured, function.thread_lines)))
            for function in stats.functions
        ),
        processes=stats.processes,
        threads=stats.threads,
        sources=stats.sources,
        warnings=stats.warnings,
        unit=stats.unit,
        gpu=stats.gpu,
        calls=stats.calls,
        waits=stats.waits,
        traces=stats.traces,
        breakdowns=stats.breakdowns,
    )


# The flags of all views of GPU data. What obeys them is imported when asked.


USUAL_COLUMNS = ("time", "percent", "kernels", "copy", "mb", "wait")

MORE_COLUMNS = (
    *("self", "adopted", "memset", "memsets", "max", "mean", "waits"),
    *("h2d", "h2d-mb", "d2h", "d2h-mb", "d2d", "d2d-mb", "uvm", "uvm-mb"),
    *("alloc", "free"),
)

ALL, NONE = "all", "none"

_COUNT_DIGITS = 9

_SWITCH = {"on": True, "off": False}


def _one_of(text: str, what: str, known: Iterable[str]) -> str:
    """Return `text`; LineprofError unless it is one of `known`."""
    if text not in known:
        raise LineprofError(
            f"there is no {what} {text!r}", hint=f"known are: {', '.join(known)}"
        )
    return text


def parse_gpu_columns(text: str) -> tuple[str, ...]:
    """Return names of columns; LineprofError for one that is not known."""
    known = (*USUAL_COLUMNS, *MORE_COLUMNS)
    if text == ALL:
        return known
    if text == NONE:
        return ()
    names = [name for name in text.split(",") if name]
    for name in names:
        _one_of(name, "GPU column", (*known, ALL, NONE))
        if name in {ALL, NONE}:
            raise LineprofError(f"{name!r} stands for itself", hint="name no others")
    return tuple(dict.fromkeys(names))


def parse_count(text: str) -> int:
    """Return a number above 0; LineprofError if it is none."""
    if text.isascii() and text.isdigit() and len(text) <= _COUNT_DIGITS and int(text):
        return int(text)
    raise LineprofError(f"{text!r} is not a number above 0", hint="give one like 5")


def parse_switch(text: str) -> bool:
    """Return whether `text` is on; LineprofError if it is not off either."""
    if text not in _SWITCH:
        raise LineprofError(f"{text!r} is neither on nor off", hint="give one of them")
    return _SWITCH[text]


KERNEL = Option(
    "kernel",
    ("--kernel",),
    "count only kernels whose name (demangled or not) matches, as of files:"
    " '*gemm*'; copies and memsets stay",
    default=None,
    metavar="GLOB",
    parse=str,
)

GRAPH_ORIGIN = Option(
    "graph_origin",
    ("--graph-origin",),
    "charge what a CUDA graph did to the line that captured it, not to the one"
    " that launched it",
)

CSV = Option("csv", ("--csv",), "values with commas between, and a row of units")

UVM = Option(
    "uvm",
    ("--uvm",),
    "on or off: migrations of managed memory, if they were recorded (default: on)",
    default=True,
    metavar="on|off",
    parse=parse_switch,
)

OCCUPANCY = Option(
    "occupancy",
    ("--occupancy",),
    "add the warps of a block and the theoretical occupancy",
)

SORT_BY = Option(
    "sort_by",
    ("--sort-by",),
    "order the functions, the greatest last: by gpu, time or wait (of the"
    " function), hits (of its lines), or by line (file and line); of --functions,"
    " the greatest first: by calls, primitive, self, cumulative, per-call, gpu, name"
    " or file. --sort with one of these names is the same",
    default="",
    metavar="ORDER",
    parse=parse_order,
)

GPU_COLUMNS = Option(
    "gpu_columns",
    ("--gpu-columns",),
    "columns where a function used a GPU, with commas between:"
    f" {', '.join(USUAL_COLUMNS)} (those that have data are the default),"
    f" {', '.join(MORE_COLUMNS)}; or all, or none",
    default=None,
    metavar="NAMES",
    parse=parse_gpu_columns,
)

GPU_SELF = Option(
    "gpu_self",
    ("--gpu-self",),
    "GPU numbers of the line itself, without what it called in other"
    " profiled functions",
)

TOP_KERNELS = Option(
    "top_kernels",
    ("--top-kernels",),
    "list the N kernels that took longest under each line",
    default=0,
    metavar="N",
    parse=parse_count,
)

TABLE = (SORT_BY, GPU_COLUMNS, GPU_SELF, TOP_KERNELS, KERNEL, GRAPH_ORIGIN)


# The flags of the views of calls. What obeys them is imported when asked.


USUAL_HOT = 10  # lines

USUAL_PERCENT = 1.0

_MOST_PERCENT = 100


def parse_percent(text: str) -> float:
    """Return a share from 0 to 100; LineprofError if it is none."""
    try:
        percent = float(text)
    except ValueError:
        percent = -1.0
    if not 0 <= percent <= _MOST_PERCENT:
        raise LineprofError(
            f"{text!r} is not a percentage", hint="give a number from 0 to 100"
        )
    return percent


LIMIT = Option(
    "limit",
    ("--limit",),
    "show the first N rows alone",
    default=0,
    metavar="N",
    parse=parse_count,
)

DEPTH = Option(
    "depth",
    ("--depth",),
    "levels of calls to go down (default: all of --tree, one of --drill)",
    default=0,
    metavar="N",
    parse=parse_count,
)

MIN_PERCENT = Option(
    "min_percent",
    ("--min-percent",),
    "leave out calls with a smaller share in the whole, in %%"
    f" (default: {USUAL_PERCENT:g})",
    default=USUAL_PERCENT,
    metavar="SHARE",
    parse=parse_percent,
)

# What two views take behind their own flag, and what --hot may take.
TARGETS = Option("targets", (), "", default=(), metavar="WHAT", parse=str)

COUNT = Option("lines", (), "", default=USUAL_HOT, metavar="N", parse=parse_count)
