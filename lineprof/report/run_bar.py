"""The bar of a run: its parts drawn to scale, with their times below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineprof.console.terminal import box_characters_of
from lineprof.report.text_grid import in_words, percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lineprof.console.terminal import Terminal
    from lineprof.model.run_parts import RunParts

_MAX_WIDTH = 80  # columns

_MIN_SHARE = 0.005  # of all: smaller parts are left out

_GAP = "   "  # between two parts of the legend


# The name and the colour (SGR) of each part.
_PARTS = {
    "lines_ns": ("computing", "32"),
    "imports_ns": ("imports", "34"),
    "waits_ns": ("waits", "33"),
    "ready_ns": ("waits for a free processor", "91"),
    "gpu_ns": ("waits for a GPU", "35"),
    "rest_ns": ("code not profiled", "36"),
    "measuring_ns": ("measuring", "2"),
}


def bar_lines(parts: RunParts, terminal: Terminal, width: int) -> Iterator[str]:
    """Yield a bar of at most `width` columns, and its legend.

    Shares are those in `parts.run_ns`; measuring is not part of it.
    """
    fills = box_characters_of(terminal).fills
    by_name = dict(zip(_PARTS, fills))
    shown = [(name, by_name[name], ns) for name, _, ns in shown_parts(parts)]
    sizes = _sizes([ns for *_, ns in shown], min(width, _MAX_WIDTH))
    yield terminal.coloured(
        (fill * size, _PARTS[name][1]) for (name, fill, _), size in zip(shown, sizes)
    )
    line: list[tuple[str, str]] = []
    for name, fill, ns in shown:
        words, colour = _PARTS[name]
        text = f" {words} {in_words(ns)}"
        is_part = name != "measuring_ns"
        text += f" {percent(ns, parts.run_ns)}" if is_part else ", on top"
        used = sum(len(one) for one, _ in line)
        if line and used + len(_GAP) + 1 + len(text) > width:
            yield terminal.coloured(line)
            line = []
        line += [(_GAP, "")] * bool(line)
        line += [(fill, colour), (text, "")]
    yield terminal.coloured(line)


def shown_parts(parts: RunParts) -> list[tuple[str, str, int]]:
    """Return the name, the words and the time (ns) of each part that can be seen."""
    least_ns = _MIN_SHARE * sum(parts)
    times = parts._asdict()
    return [
        (name, words, times[name])
        for name, (words, _) in _PARTS.items()
        if times[name] > least_ns
    ]


def _sizes(times: Sequence[int], width: int) -> list[int]:
    """Return a number of columns for each time, at least 1, in all `width`."""
    whole_ns = sum(times)
    sizes = [max(1, round(ns * width / whole_ns)) for ns in times]
    if sizes:
        longest = sizes.index(max(sizes))
        sizes[longest] = max(1, sizes[longest] + width - sum(sizes))
    return sizes
