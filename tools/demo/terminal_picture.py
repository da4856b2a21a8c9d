"""Picture of a terminal: an SVG of its text, without a script or a font."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

CELL_WIDTH, LINE_HEIGHT, FONT_SIZE, MARGIN = 7.8, 17, 13, 14  # px
PROMPT = "$ "
STYLE = """
rect { fill: #1c2128 }
text { fill: #d5dbe3; font: %dpx ui-monospace, 'DejaVu Sans Mono', Menlo, monospace;
       white-space: pre }
.typed { fill: #8ddb8c; font-weight: bold }
.hot { fill: #ffb454 }
"""


def css_class(line: str, hot: Sequence[str]) -> str:
    """Return the CSS class of a line: typed, highlighted or neither."""
    if line.startswith(PROMPT):
        return "typed"
    return "hot" if any(mark in line for mark in hot) else ""


def picture(lines: Sequence[str], hot: Sequence[str] = ()) -> str:
    """Return an SVG of lines of text; those that contain one of `hot` stand out.

    The width of a line depends only on its number of characters, not on the font.
    """
    width = max(map(len, lines)) * CELL_WIDTH + 2 * MARGIN
    height = len(lines) * LINE_HEIGHT + 2 * MARGIN
    size = f'width="{width:.0f}" height="{height}" viewBox="0 0 {width:.0f} {height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>',
        f"<style>{STYLE % FONT_SIZE}</style>",
        '<rect width="100%" height="100%" rx="6"/>',
    ]
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        text = line.rstrip()
        y = MARGIN + number * LINE_HEIGHT - 4
        name = css_class(line, hot)
        place = f'x="{MARGIN}" y="{y}" textLength="{len(text) * CELL_WIDTH:.1f}"'
        style = f' class="{name}"' if name else ""
        words = escape(text, quote=False)
        parts.append(f'<text {place} xml:space="preserve"{style}>{words}</text>')
    return "\n".join([*parts, "</svg>", ""])
