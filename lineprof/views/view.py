"""What a view is: a name, the options it takes, and a function that yields lines."""

from __future__ import annotations

from typing import NamedTuple

from lineprof.stats import Profile
from lineprof.units import AUTO_UNIT
from lineprof.views.screen import PIPE, Screen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from lineprof.records import Cell
    from lineprof.source import Sources

__all__ = [
    "AUTO_UNIT",
    "RAW",
    "SKIP_ZERO",
    "SORT",
    "Option",
    "Options",
    "View",
    "uncalibrated",
]


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
    screen: Screen = PIPE


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

    def measured(cell: Cell) -> Cell:
        return cell._replace(time_ns=max(cell.time_ns, cell.raw_ns))

    return Profile.from_functions(
        (
            function._replace(cells=tuple(map(measured, function.cells)))
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
        own_times=stats.own_times,
    )
