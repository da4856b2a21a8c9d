"""The first screen of a profile at the end of a run of pytest."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from lineprof.console.output import clean_line, shell_path
from lineprof.console.terminal import Terminal, terminal_of
from lineprof.report import Options, default_view
from lineprof.report.notes import view_with_notes
from lineprof.source import sources_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

    from lineprof.line_stats import LineStats


def screen_of(
    stats: LineStats,
    file: str,
    reporter: pytest.TerminalReporter,
    config: pytest.Config,
) -> Iterator[str]:
    """Yield what `lineprof view` shows of a profile, which is in `file`."""
    if stats.why_empty:
        yield f"no function of {config.rootpath} was called"
        return
    writer = config.get_terminal_writer()
    options = Options(
        unit=1e-6,
        no_bodies=True,
        waiting=True,
        file=shell_path(file),
        terminal=Terminal(
            is_terminal=bool(reporter.isatty),
            width=writer.fullwidth if reporter.isatty else None,
            colour=writer.hasmarkup,
            boxes=sys.__stdout__ is None or terminal_of(sys.__stdout__).boxes,
        ),
    )
    sources = sources_of(stats)
    view = default_view(stats, sources, options)
    lines = view_with_notes(view, stats, sources, options, stats.warnings)
    yield from map(clean_line, lines)
