"""The table of line_profiler, byte for byte, from a profile or from its numbers."""

from __future__ import annotations

import sys

from lineprof.errors import LineprofError
from lineprof.source import Sources
from lineprof.units import Ticks, readable_unit
from lineprof.values import replace
from lineprof.views import gpu_flags
from lineprof.views.screen import screen_of, write
from lineprof.views.table import (
    COLUMNS,
    EXTRA_COLUMNS,
    Function,
    Line,
    Scale,
    Table,
)
from lineprof.views.view import (
    AUTO_UNIT,
    RAW,
    SKIP_ZERO,
    SORT,
    Option,
    Options,
    View,
    uncalibrated,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import TextIO

    from lineprof.stats import LineStats, Timings

_VIEWER_UNIT = 1e-6  # s, as line_profiler's viewer

# What functions are sorted by, the greatest last: by the names of --sort-by.
ORDERS: Mapping[str, Callable[[Function], tuple[object, ...]]] = {
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


def render(stats: LineStats, sources: Sources, options: Options) -> Iterator[str]:
    """Yield the table of `stats`, line by line."""
    if options.raw:
        stats = uncalibrated(stats)
    functions = _functions(stats)
    if stats.gpu.sums:
        from lineprof.views.gpu_table import with_gpu  # noqa: PLC0415  # few have GPUs

        unit = _output_unit(functions, stats.unit, options)
        functions = with_gpu(functions, stats.gpu, options, unit)
    yield from _render(functions, stats.unit, sources, options)
    if stats.gpu.sums or any(run.present for run in stats.gpu.runs):
        from lineprof.views.gpu_footer import footer  # noqa: PLC0415

        below = list(footer(stats, options))
        if below and options.summarize:
            yield ""
        yield from below


def _functions(stats: LineStats) -> list[Function]:
    """Return the functions of `stats` in its ticks."""
    ticks = Ticks(stats.unit)
    return [
        Function(
            function.file,
            function.line,
            function.name,
            tuple(
                Line(
                    row.line,
                    row.hits,
                    ticks.from_ns(row.time_ns),
                    ticks.from_ns(row.await_ns),
                )
                for row in function.rows
            ),
            ticks.from_ns(function.total_ns),
        )
        for function in stats.functions
    ]


def _of_timings(timings: Timings) -> list[Function]:
    """Return the functions of line_profiler's numbers."""
    return [
        Function(
            file,
            line,
            name,
            tuple(Line(*numbers) for numbers in lines),
            sum(time for _, _, time in lines),
        )
        for (file, line, name), lines in timings.items()
    ]


def _output_unit(functions: list[Function], unit: float, options: Options) -> float:
    """Return the unit of the table's times, in seconds."""
    if options.unit == AUTO_UNIT:
        times = (line.time for function in functions for line in function.lines)
        return readable_unit(max(times, default=0) * unit)
    return options.unit or unit


def _render(
    functions: list[Function], unit: float, sources: Sources, options: Options
) -> Iterator[str]:
    output_unit = _output_unit(functions, unit, options)
    extra = tuple(EXTRA_COLUMNS[name] for name in dict.fromkeys(options.columns))
    table = Table(Scale(unit, output_unit), COLUMNS + extra, options.screen)
    order = options.sort_by or ("time" if options.sort else "")
    if order:
        functions = sorted(functions, key=ORDERS[order])
    yield f"Timer unit: {output_unit:g} s"
    yield ""
    if options.details:
        for function in functions:
            if function.ran or not options.skip_zero:
                block = sources.block(function.file, function.line)
                yield from table.of(function, block)
    if options.summarize:
        for function in functions:
            if function.total or not options.skip_zero:
                yield _summary(function, unit, options)


def _summary(function: Function, unit: float, options: Options) -> str:
    clean = options.screen.clean
    place = f"{clean(function.file)}:{function.line} - {clean(function.name)}"
    return f"{function.total * unit:6.2f} seconds - {place}"


def print_stats(stats: LineStats, stream: TextIO | None, options: Options) -> None:
    """Print the table of `stats` to `stream` (default: standard output)."""
    stream = sys.stdout if stream is None else stream
    options = replace(options, screen=screen_of(stream))
    write(render(stats, Sources(stats.sources), options), stream)


def show_text(  # noqa: PLR0913, PLR0917  # line_profiler's signature
    stats: Timings,
    unit: float,
    output_unit: float | None = None,
    stream: TextIO | None = None,
    stripzeros: bool = False,  # noqa: FBT001, FBT002
    details: bool = True,  # noqa: FBT001, FBT002
    summarize: bool = False,  # noqa: FBT001, FBT002
    sort: bool = False,  # noqa: FBT001, FBT002
) -> None:
    """Print line_profiler's numbers as its table.

    `stats` maps (file, first line, function) to (line, hits, ticks) of each
    line; `unit` and `output_unit` (default: `unit`) are in seconds; `stream`
    is standard output by default; `stripzeros` leaves out functions that
    never ran; `details` are the lines, `summarize` adds one line a function;
    `sort` puts the greatest total last. Source is read from the disk.
    """
    stream = sys.stdout if stream is None else stream
    options = Options(
        unit=output_unit,
        skip_zero=stripzeros,
        sort=sort,
        details=details,
        summarize=summarize,
        screen=screen_of(stream),
    )
    write(_render(_of_timings(stats), unit, Sources({}), options), stream)


def show_func(  # noqa: PLR0913, PLR0917  # line_profiler's signature
    filename: str,
    start_lineno: int,
    func_name: str,
    timings: Sequence[tuple[int, int, int | float]],
    unit: float,
    output_unit: float | None = None,
    stream: TextIO | None = None,
    stripzeros: bool = False,  # noqa: FBT001, FBT002
) -> None:
    """Print the table of one function: its part of what `show_text` prints.

    `timings` are (line, hits, ticks); `unit` and `output_unit` are in
    seconds. Nothing is printed for a function that never ran if `stripzeros`.
    """
    stream = sys.stdout if stream is None else stream
    (function,) = _of_timings({(filename, start_lineno, func_name): timings})
    if stripzeros and not function.ran:
        return
    table = Table(Scale(unit, output_unit or unit), screen=screen_of(stream))
    write(table.of(function, Sources({}).block(filename, start_lineno)), stream)


VIEW = View(
    name="text",
    suffix=".txt",
    help="the table of line_profiler (the default)",
    options=(
        Option(
            "unit",
            ("-u", "--unit"),
            "unit of the times in seconds, above 0, or auto: one that reads well"
            f" (default: {_VIEWER_UNIT:g})",
            default=_VIEWER_UNIT,
            metavar="UNIT",
            parse=parse_unit,
        ),
        SKIP_ZERO,
        SORT,
        Option("summarize", ("-m", "--summarize"), "add one line a function"),
        RAW,
        Option(
            "columns",
            ("--columns",),
            f"columns to add, with commas between: {', '.join(EXTRA_COLUMNS)}",
            default=(),
            metavar="NAMES",
            parse=parse_columns,
        ),
        *gpu_flags.TABLE,
    ),
    render=render,
)
