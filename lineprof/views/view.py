"""What a view is: a name, the options it takes, and a function that yields lines."""

from __future__ import annotations

from lineprof.stats import LineStats
from lineprof.values import Value, replace
from lineprof.views.screen import PIPE, Screen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lineprof.records import Cell
    from lineprof.source import Sources

AUTO_UNIT = 0.0


class Options(Value):
    """How the reader wants to see a profile."""

    unit: float | None = None  # s; None: the profile's own; AUTO_UNIT: what reads well
    skip_zero: bool = False  # leave out functions that never ran
    sort: bool = False  # the greatest total last
    details: bool = True  # the lines of each function
    summarize: bool = False  # one line a function
    raw: bool = False  # times as measured, the profiler's own cost included
    columns: tuple[str, ...] = ()  # beyond the usual ones
    screen: Screen = PIPE


class Option(Value):
    """One flag of the command line that sets a field of Options."""

    field: str
    flags: tuple[str, ...]
    help: str
    default: object = False
    metavar: str | None = None
    parse: Callable[[str], object] | None = None  # None: a switch; else LineprofError


class View(Value):
    """One way to look at a profile."""

    name: str
    suffix: str  # of a file with it
    help: str
    options: tuple[Option, ...]
    render: Callable[[LineStats, Sources, Options], Iterable[str]]


RAW = Option(
    "raw", ("--raw",), "times as measured, the profiler's own cost not taken out"
)
SKIP_ZERO = Option(
    "skip_zero", ("-z", "--skip-zero"), "leave out functions that never ran"
)
SORT = Option("sort", ("-t", "--sort"), "sort by total time, the greatest last")


def uncalibrated(stats: LineStats) -> LineStats:
    """Return `stats` with the times of lines as they were measured.

    The total of a recursive function is known only without the profiler's
    cost and stays.
    """

    def measured(cell: Cell) -> Cell:
        return replace(cell, time_ns=max(cell.time_ns, cell.raw_ns))

    return LineStats.from_functions(
        (
            replace(function, cells=tuple(map(measured, function.cells)))
            for function in stats.functions
        ),
        processes=stats.processes,
        threads=stats.threads,
        sources=stats.sources,
        warnings=stats.warnings,
        unit=stats.unit,
    )
