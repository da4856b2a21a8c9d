"""Output of a view, as lines of text and as rows of words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineprof.report import VIEWS
from lineprof.report.options import Options
from lineprof.source import Sources

if TYPE_CHECKING:
    from lineprof.line_stats import LineStats


def lines_of(stats: LineStats, view: str, **options: object) -> list[str]:
    """Return the lines that a view prints."""
    made = Options(**options)  # type: ignore[arg-type]
    return list(VIEWS[view].render(stats, Sources(stats.sources), made))


def text_of(stats: LineStats, view: str = "text", **options: object) -> str:
    """Return the text that a view prints."""
    return "".join(f"{line}\n" for line in lines_of(stats, view, **options))


def rows_below(lines: list[str], title: str) -> list[list[str]]:
    """Return the words of each line below the line that begins with `title`."""
    start = next(n for n, line in enumerate(lines) if line.lstrip().startswith(title))
    rest = lines[start + 1 :]
    return [line.split() for line in rest[: [*rest, ""].index("")]]
