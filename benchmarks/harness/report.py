"""Table of the figures of one Python, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    Figures = dict[str, dict[str, dict[str, float]]]

FIRST = 28
WIDTH = 16


def cell(figure: dict[str, float] | None) -> str:
    """Render a slow-down with the ns that it adds to each line event."""
    if figure is None:
        return "-".rjust(WIDTH)
    ratio, added = figure["ratio"], figure["added_ns"]
    text = f"{ratio:.2f}x" if ratio < 100 else f"{ratio:.0f}x"
    return f"{text} {added:+8.1f}".rjust(WIDTH)


def heads(names: list[str]) -> Iterator[str]:
    """Yield the two lines of column heads: a tool's name is one or two words."""
    words = [name.partition(" ") for name in names]
    top = "".join((first if rest else "").rjust(WIDTH) for first, _, rest in words)
    low = "".join((rest or first).rjust(WIDTH) for first, _, rest in words)
    yield " " * (FIRST + 9) + top
    yield "workload".ljust(FIRST) + "plain ns".rjust(9) + low


def table(figures: Figures) -> Iterator[str]:
    """Yield the table of one Python: a row a workload, a column a tool."""
    names: list[str] = []
    for row in figures.values():
        names += [name for name in row if name not in {"plain", *names}]
    yield from heads(names)
    for title, row in figures.items():
        plain = f"{row['plain']['event_ns']:9.1f}"
        yield title.ljust(FIRST) + plain + "".join(cell(row.get(n)) for n in names)
