"""Picture of a terminal: an SVG of its text and colours, without a script or a font."""

from __future__ import annotations

import os
import pty
import re
from html import escape
from typing import TYPE_CHECKING

from tools.checks.findings import Mismatch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

CELL_WIDTH, LINE_HEIGHT, FONT_SIZE, MARGIN = 7.8, 17, 13, 14  # px
PROMPT = "$ "
HUES = ["#ff7b72", "#7ee787", "#ffb454", "#79c0ff", "#d2a8ff", "#56d4dd", "#f0f6fc"]
PALE = ["#ffa198", "#aff5b4", "#ffdf5d", "#a5d6ff", "#e2c5ff", "#b3f0ff", "#ffffff"]
COLOURS = {  # by number of an SGR sequence
    **dict(zip(range(31, 38), HUES)),
    90: "#8b949e",
    **dict(zip(range(91, 98), PALE)),
}
STYLE = f"""
rect {{ fill: #1c2128 }}
text {{ fill: #d5dbe3; white-space: pre;
       font: {FONT_SIZE}px ui-monospace, 'DejaVu Sans Mono', Menlo, monospace }}
.typed {{ fill: #8ddb8c; font-weight: bold }}
.s1 {{ fill: #ffffff; font-weight: bold }}
.s2 {{ opacity: 0.65 }}
.s3 {{ font-style: italic }}
.s4 {{ text-decoration: underline }}
"""
STYLES = (1, 2, 3, 4)  # of SGR: bold, dim, italic, underlined
LINK = re.compile(r"\x1b]8;[^\x07\x1b]*(?:\x07|\x1b\\)")
SGR = re.compile(r"\x1b\[([\d;]*)m")


def on_terminal(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], columns: int
) -> str:
    """Return what a command prints on a terminal; Mismatch if it fails."""
    child, terminal = pty.fork()
    if child == 0:
        changes = {"TERM": "xterm-256color", "COLUMNS": str(columns)}
        variables = {**environment, **changes}
        try:
            os.chdir(folder)
            os.execve(command[0], list(command), variables)  # noqa: S606  # no shell
        finally:
            os._exit(127)
    output = b""
    try:
        while part := os.read(terminal, 1 << 16):
            output += part
    except OSError:  # Linux: the command has ended
        pass
    os.close(terminal)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    text = output.decode(errors="replace").replace("\r\n", "\n")
    if status:
        raise Mismatch(f"`{' '.join(command)}` gives status {status}: {text[-300:]}")
    return text


def pieces(line: str) -> Iterator[tuple[str, frozenset[int]]]:
    """Yield the parts of a line, each with the numbers of its SGR sequences."""
    on: frozenset[int] = frozenset()
    text, *rest = SGR.split(LINK.sub("", line))
    yield text, on
    for codes, text in zip(rest[::2], rest[1::2]):
        for code in map(int, codes.split(";") if codes else ["0"]):
            if code in {0, *COLOURS}:
                on = frozenset() if code == 0 else on - COLOURS.keys()
            if code in {*COLOURS, *STYLES}:
                on |= {code}
        yield text, on


def plain(line: str) -> str:
    """Return a line without its colours."""
    return "".join(text for text, _ in pieces(line)).rstrip()


def spans(line: str) -> str:
    """Return the text of a line with its colours, as SVG."""
    made = []
    room = len(plain(line))
    for piece, on in pieces(line):
        text = piece[:room]
        room -= len(text)
        words = escape(text, quote=False)
        names = " ".join(f"s{code}" for code in sorted(on & {*STYLES}))
        fill = "".join(f' style="fill: {COLOURS[code]}"' for code in on & {*COLOURS})
        style = (f' class="{names}"' if names else "") + fill
        made.append(f"<tspan{style}>{words}</tspan>" if style and text else words)
    return "".join(made)


def picture(lines: Sequence[str]) -> str:
    """Return an SVG of lines of a terminal.

    The width of a line depends only on its number of characters, not on the font.
    """
    width = max(len(plain(line)) for line in lines) * CELL_WIDTH + 2 * MARGIN
    height = len(lines) * LINE_HEIGHT + 2 * MARGIN
    size = f'width="{width:.0f}" height="{height}" viewBox="0 0 {width:.0f} {height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>',
        f"<style>{STYLE}</style>",
        '<rect width="100%" height="100%" rx="6"/>',
    ]
    for number, line in enumerate(lines, 1):
        text = plain(line)
        if not text:
            continue
        y = MARGIN + number * LINE_HEIGHT - 4
        place = f'x="{MARGIN}" y="{y}" textLength="{len(text) * CELL_WIDTH:.1f}"'
        style = ' class="typed"' if text.startswith(PROMPT) else ""
        words = spans(line)
        parts.append(f'<text {place} xml:space="preserve"{style}>{words}</text>')
    return "\n".join([*parts, "</svg>", ""])
