"""line_profiler's tables of lines, of profiles and of line_profiler's plain numbers."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from lineprof.config import ConfigSource, column_widths
from lineprof.console.terminal import terminal_of, write_lines
from lineprof.report.line_table import function_tables_of_timings
from lineprof.report.options import Options
from lineprof.report.text import TableLayout, render, render_tables
from lineprof.source import Sources, sources_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

    from lineprof.model.profile import LineTicks, Profile, Timings

    Config = str | os.PathLike[str] | ConfigSource | bool | None


def show(
    profile: Profile,
    stream: TextIO | None,
    config: Config,
    **asked: Any,  # noqa: ANN401  # fields of Options
) -> None:
    """Print the tables of a profile, as `LineStats.print` does."""
    stream = sys.stdout if stream is None else stream
    options = _options(stream, config, **asked)
    write_lines(render(profile, sources_of(profile), options), stream)


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
    if that package is there. `config` is the TOML file with the minimum
    widths of columns; by default it is searched for, False means none. Source is read
    from the disk.
    """
    stream = sys.stdout if stream is None else stream
    options = _options(
        stream,
        config,
        unit=output_unit,
        skip_zero=stripzeros,
        sort=sort,
        details=details,
        summarize=summarize,
        rich=rich,
    )
    tables = function_tables_of_timings(stats)
    write_lines(render_tables(tables, unit, Sources({}), options), stream)


def show_func(  # noqa: PLR0913, PLR0917  # line_profiler's signature
    filename: str,
    start_lineno: int,
    func_name: str,
    timings: Sequence[LineTicks],
    unit: float,
    output_unit: float | None = None,
    stream: TextIO | None = None,
    stripzeros: bool = False,  # noqa: FBT001, FBT002
    rich: bool = False,  # noqa: FBT001, FBT002
    *,
    config: Config = None,
) -> None:
    """Print the table of one function, as `show_text` does for all.

    `timings` are (line, hits, ticks); `unit` and `output_unit` are in
    seconds. Nothing is printed for a function that never ran if `stripzeros`.
    """
    stream = sys.stdout if stream is None else stream
    key = (os.fspath(filename), start_lineno, func_name)
    (table,) = function_tables_of_timings({key: timings})
    if stripzeros and not table.ran:
        return
    options = _options(stream, config, unit=output_unit, rich=rich)
    layout = TableLayout(unit, options)
    write_lines(layout.table(table, Sources({}).block(*key)), stream)


def _options(stream: TextIO, config: Config, **asked: Any) -> Options:  # noqa: ANN401
    """Return the options of `asked`, of `stream` and of the configuration."""
    file = os.fspath(config) if isinstance(config, os.PathLike) else config
    widths = column_widths(ConfigSource.from_config(file))
    return Options(terminal=terminal_of(stream), column_widths=widths, **asked)
