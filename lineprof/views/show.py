"""What prints tables: `show_text`, `show_func`, and a profile itself."""

from __future__ import annotations

import os
import sys

from lineprof.source import Sources
from lineprof.views.screen import screen_of, write
from lineprof.views.table import Scale, Table
from lineprof.views.text import functions_of_timings, paint_of, render, table_of
from lineprof.views.view import Options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TextIO, Union

    from lineprof.stats import LineStats
    from lineprof.stats_timings import Ticked, Timings
    from lineprof.toml_config import ConfigSource

    Config = Union[str, os.PathLike[str], ConfigSource, bool, None]


def print_stats(
    stats: LineStats, stream: TextIO | None, options: Options, *, config: Config = None
) -> None:
    """Print the table of `stats` to `stream` (default: standard output).

    `config` is a TOML file, or False for none: see `show_text`.
    """
    stream = sys.stdout if stream is None else stream
    options = _on(stream, options, config)
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
    rich: bool = False,  # noqa: FBT001, FBT002
    *,
    config: Config = None,
) -> None:
    """Print line_profiler's numbers as its table.

    `stats` maps (file, first line, function) to (line, hits, ticks) of each
    line; `unit` and `output_unit` (default: `unit`) are in seconds; `stream`
    is standard output by default; `stripzeros` leaves out functions that
    never ran; `details` are the lines, `summarize` adds one line a function;
    `sort` puts the greatest total last; `rich` highlights source on a terminal
    if that package is there. `config` is the TOML file with the least widths
    of columns; by default it is looked for, and with False not. Source is read
    from the disk.
    """
    stream = sys.stdout if stream is None else stream
    options = Options(
        unit=output_unit,
        skip_zero=stripzeros,
        sort=sort,
        details=details,
        summarize=summarize,
        rich=rich,
    )
    options = _on(stream, options, config)
    write(table_of(functions_of_timings(stats), unit, Sources({}), options), stream)


def show_func(  # noqa: PLR0913, PLR0917  # line_profiler's signature
    filename: str,
    start_lineno: int,
    func_name: str,
    timings: Sequence[Ticked],
    unit: float,
    output_unit: float | None = None,
    stream: TextIO | None = None,
    stripzeros: bool = False,  # noqa: FBT001, FBT002
    rich: bool = False,  # noqa: FBT001, FBT002
    *,
    config: Config = None,
) -> None:
    """Print the table of one function: its part of what `show_text` prints.

    `timings` are (line, hits, ticks); `unit` and `output_unit` are in
    seconds. Nothing is printed for a function that never ran if `stripzeros`.
    """
    stream = sys.stdout if stream is None else stream
    filename = os.fspath(filename)
    (function,) = functions_of_timings({(filename, start_lineno, func_name): timings})
    if stripzeros and not function.ran:
        return
    options = _on(stream, Options(rich=rich), config)
    scale = Scale(
        unit,
        unit if output_unit is None else output_unit,
        widths=options.column_widths or {},
    )
    table = Table(scale, screen=options.screen, paint=paint_of(options))
    block = Sources({}).block(filename, start_lineno, func_name)
    write(table.of(function, block), stream)


def _on(stream: TextIO, options: Options, config: Config) -> Options:
    """Return `options` with what `stream` and the configuration ask for."""
    return options._replace(
        screen=screen_of(stream), column_widths=column_widths(config)
    )


def column_widths(config: Config = None) -> Mapping[str, int]:
    """Return the least widths of columns that a TOML file asks for.

    `config` is the file; by default it is looked for, and with False not.
    The columns are line, hits, time, perhit and percent.
    """
    from lineprof.toml_config import ConfigSource  # noqa: PLC0415  # as few views

    file = os.fspath(config) if isinstance(config, os.PathLike) else config
    table = ConfigSource.from_config(file).get_subconfig("show", "column_widths")
    return {
        name: width for name, width in table.conf_dict.items() if isinstance(width, int)
    }
