"""The profile of a program that has ended: its tables and its page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineprof.config import column_widths
from lineprof.console.output import shell_path
from lineprof.console.terminal import terminal_of, write_lines
from lineprof.files import write_file
from lineprof.report import TEXT, VIEWS, Options, default_view
from lineprof.report.notes import view_with_notes
from lineprof.source import sources_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TextIO

    from kernprof.output_file import OutputFile
    from kernprof.run_options import RunOptions
    from lineprof.line_stats import LineStats

# Flags of -v that ask for tables, in place of the first screen of a long profile.
_TABLE_FLAGS = {"unit", "skip_zero", "summarize"}


def write_page(stats: LineStats, file: OutputFile) -> None:
    """Write the page of a profile for browsers to `file`; LineprofError."""
    write_file(VIEWS["html"].render(stats, sources_of(stats), Options()), file.path)


def show_whole(
    stats: LineStats,
    asked: RunOptions,
    stream: TextIO,
    path: str,
    warnings: Iterable[str],
) -> None:
    """Print the profile of a whole program, as `lineprof view` does."""
    options = Options(
        unit=asked.unit,
        skip_zero=asked.skip_zero,
        summarize=asked.summarize,
        rich=asked.rich,
        column_widths=column_widths(asked.settings) if asked.settings else None,
        no_bodies=True,
        waiting=True,
        file=shell_path(path),
        terminal=terminal_of(stream),
    )
    sources = sources_of(stats)
    view = TEXT
    if _TABLE_FLAGS.isdisjoint(asked.given):
        view = default_view(stats, sources, options)
    write_lines(view_with_notes(view, stats, sources, options, warnings), stream)
