"""The table of line_profiler, byte for byte, from a profile or from its numbers.

With the unit AUTO_UNIT each time has four digits and a unit of its own: the
times of one table, and time and time per hit of one line, can be a million
times apart, and the share of each line is there to compare them by.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineprof.errors import LineprofError
from lineprof.model.units import AUTO_UNIT, Ticks, format_seconds
from lineprof.report import line_table, options
from lineprof.report.line_table import (
    COLUMNS,
    EXTRA_COLUMNS,
    FunctionTable,
    Line,
    Scale,
    Table,
)
from lineprof.report.options import (
    ORDERS_OF_TABLES,
    RAW,
    SKIP_ZERO,
    SORT,
    Option,
    Options,
    View,
    uncalibrated,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from lineprof.model.profile import LineTicks, Profile, Timings
    from lineprof.model.records import FunctionStats, Key
    from lineprof.report.line_table import Paint
    from lineprof.source import Sources


# The usual tables of single functions, with more below their lines.


class FunctionTables:
    """The tables of a profile's functions, one at a time."""

    def __init__(self, stats: Profile, sources: Sources, options: Options) -> None:
        """Take a profile of no more functions than are to be shown."""
        self._layout = layout(stats.unit, options)
        self._sources = sources
        self._functions = {
            (one.file, one.line, one.name): one for one in functions_of(stats, options)
        }

    def heading(self) -> Iterator[str]:
        """Yield what stands above all of them."""
        yield from heading(self._layout)

    def of(self, key: Key, below: Mapping[int, list[str]]) -> Iterator[str]:
        """Yield the table of one function, `below` each line what is said of it."""
        function = self._functions[key]
        beside = function.beside
        both = {line: [*beside.below.get(line, ())] for line in (*beside.below, *below)}
        for line, words in below.items():
            both[line] += words
        function = function._replace(beside=beside._replace(below=both))
        block = self._sources.block(function.file, function.line, function.name)
        yield from self._layout.of(function, block)


_VIEWER_UNIT = 1e-6  # s, as line_profiler's viewer

# What functions are sorted by, the greatest last: by the names in OF_TABLES.
ORDERS: Mapping[str, Callable[[FunctionTable], tuple[object, ...]]] = {
    "gpu": lambda function: (function.gpu_ns,),
    "time": lambda function: (function.total,),
    "hits": lambda function: (sum(line.hits for line in function.lines),),
    "wait": lambda function: (function.wait_ns,),
    "line": lambda function: (function.file, function.line, function.name),
}


def parse_unit(text: str) -> float:
    """Return a unit in seconds, or AUTO_UNIT; LineprofError if it is neither."""
    if text == "auto":
        return AUTO_UNIT
    try:
        return Ticks(float(text)).unit
    except ValueError:
        raise LineprofError(
            f"{text!r} is not a unit of time",
            hint="give seconds above 0, like 1e-3, or auto",
        ) from None


def parse_columns(text: str) -> tuple[str, ...]:
    """Return the names of extra columns; LineprofError for one that is not known."""
    names = tuple(filter(None, text.split(",")))
    for name in names:
        if name not in EXTRA_COLUMNS:
            raise LineprofError(
                f"there is no column {name!r}",
                hint=f"known are: {', '.join(EXTRA_COLUMNS)}",
            )
    return names


def render(stats: Profile, sources: Sources, options: Options) -> Iterator[str]:
    """Yield the table of `stats`, line by line."""
    if options.raw:
        stats = uncalibrated(stats)
    yield from table_of(functions_of(stats, options), stats.unit, sources, options)
    below = list(footer_of(stats, options))
    if below and options.summarize:
        yield ""
    yield from below


def footer_of(stats: Profile, options: Options) -> Iterator[str]:
    """Yield what stands below the tables: GPU work as a whole, if any."""
    yield from line_table.waits_footer(stats, options)
    yield from line_table.split_footer(stats, options)
    if stats.gpu.sums or any(run.present for run in stats.gpu.runs):
        from lineprof.report.gpu_table import footer  # noqa: PLC0415  # few have GPUs

        yield from footer(stats, options)


def functions_of(stats: Profile, options: Options) -> list[FunctionTable]:
    """Return the functions of `stats` in its ticks, with what a GPU did for them."""
    ticks, timings = Ticks(stats.unit), stats.timings
    waited = line_table.waits_of(stats) if stats.waits else None
    split = line_table.parts_of(stats)
    functions = [
        _function(function, timings[function.key], ticks, waited, split, options)
        for function in stats.functions
    ]
    if not stats.gpu.sums:
        return functions
    from lineprof.report.gpu_table import with_gpu  # noqa: PLC0415  # few have GPUs

    unit = stats.unit if options.unit is None else options.unit
    return with_gpu(functions, stats.gpu, options, unit)


def _function(  # noqa: PLR0913, PLR0917  # what there is to say of one
    function: FunctionStats,
    lines: Sequence[LineTicks],
    ticks: Ticks,
    waited: Mapping[Key, line_table.ByLine] | None,
    split: Mapping[Key, line_table.ByLine],
    options: Options,
) -> FunctionTable:
    """Return one function; its `lines` are exact where nanoseconds are not."""
    rows = {row.line: row for row in function.rows}
    of_lines = None if waited is None else waited.get(function.key, {})
    split_lines = split.get(function.key, {})

    def line(number: int, hits: int, time: float) -> Line:
        row = rows[number]
        least, most = [
            None if ns is None else ticks.from_ns(ns) for ns in (row.min_ns, row.max_ns)
        ]
        waiting = None
        if of_lines is not None:
            of_line = of_lines.get(number, {})
            waiting = {cause: ticks.from_ns(ns) for cause, ns in of_line.items()}
        awaited = ticks.from_ns(row.await_ns)
        split_line = line_table.in_ticks(split_lines.get(number), ticks)
        return Line(number, hits, time, awaited, least, most, waiting, split_line)

    wall_ns = function.recursive_ns
    wanted = options.waiting or line_table.are_wanted(options.columns)
    said = (
        line_table.waits_below_table(function, of_lines) if of_lines and wanted else ()
    )
    return FunctionTable(
        function.file,
        function.line,
        function.name,
        tuple(line(*numbers) for numbers in lines),
        sum(t for *_, t in lines) if wall_ns is None else ticks.from_ns(wall_ns),
        after=(*said, *line_table.mpi_below_table(function, split_lines)),
    )


def functions_of_timings(timings: Timings) -> list[FunctionTable]:
    """Return the functions of line_profiler's numbers."""
    return [
        FunctionTable(
            file,
            line,
            name,
            tuple(Line(*numbers) for numbers in lines),
            sum(time for _, _, time in lines),
        )
        for (file, line, name), lines in timings.items()
    ]


def table_of(
    functions: list[FunctionTable], unit: float, sources: Sources, options: Options
) -> Iterator[str]:
    """Yield the tables of `functions`, whose times are in ticks of `unit` (s)."""
    table = layout(unit, options)
    order = options.sort_by or ("time" if options.sort else "")
    if order:
        functions = sorted(functions, key=ORDERS[order])
    yield from heading(table)
    if options.details:
        for function in functions:
            if function.ran or not options.skip_zero:
                yield from table.of(
                    function,
                    sources.block(function.file, function.line, function.name),
                )
    if options.summarize:
        for function in functions:
            if function.total or not options.skip_zero:
                yield _summary(function, table)


def layout(unit: float, options: Options) -> Table:
    """Return how a table is laid out whose times are in ticks of `unit` (s)."""
    output_unit = unit if options.unit is None else options.unit
    scale = Scale(unit, output_unit, widths=options.column_widths or {})
    extra = tuple(EXTRA_COLUMNS[name] for name in dict.fromkeys(options.columns))
    return Table(scale, COLUMNS + extra, options.screen, paint_of(options))


def heading(table: Table) -> Iterator[str]:
    """Yield what stands above all tables."""
    unit = table.scale.output_unit
    auto = unit == AUTO_UNIT
    yield f"Timer unit: {'beside each time' if auto else f'{unit:g} s'}"
    yield ""


def _summary(function: FunctionTable, table: Table) -> str:
    """Return one line about a function."""
    clean, paint, scale = table.screen.clean, table.paint, table.scale
    total = f"{function.total * scale.unit:6.2f} seconds"
    if scale.output_unit == AUTO_UNIT:
        total = format_seconds(function.total * scale.unit).rjust(11)
    file = clean(function.file)
    file = paint.place(file, function.file) if paint else file
    return f"{total} - {file}:{function.line} - {clean(function.name)}"


def paint_of(options: Options) -> Paint | None:
    """Return how rows are coloured, or None where they are not to be, or cannot."""
    if not (options.rich and options.screen.colour):
        return None
    from lineprof.report.text_grid import painter  # noqa: PLC0415  # imports rich

    return painter()


UNIT = Option(
    "unit",
    ("-u", "--unit"),
    "unit of the times in seconds, above 0, or auto: four digits of each"
    f" time, and the unit that it reads best in (default: {_VIEWER_UNIT:g})",
    default=_VIEWER_UNIT,
    metavar="UNIT",
    parse=parse_unit,
)

RICH = Option(
    "rich",
    ("-r", "--rich"),
    "highlight the source, on a terminal and if the package rich is installed",
)

MORE_COLUMNS = Option(
    "columns",
    ("--columns",),
    f"columns to add, with commas between: {', '.join(EXTRA_COLUMNS)}",
    default=(),
    metavar="NAMES",
    parse=parse_columns,
)

VIEW = View(
    name="text",
    suffix=".txt",
    help="the table of line_profiler (the default)",
    options=(
        UNIT,
        SKIP_ZERO,
        SORT,
        Option("summarize", ("-m", "--summarize"), "add one line a function"),
        RICH,
        RAW,
        MORE_COLUMNS,
        *options.TABLE,
    ),
    render=render,
    orders=ORDERS_OF_TABLES,
)
