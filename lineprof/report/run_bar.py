"""The bar of a run: its parts drawn to scale, with their times below."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lineprof.report.text_grid import in_words, percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lineprof.console.terminal import Terminal
    from lineprof.model.run_parts import RunParts

_MAX_WIDTH = 80  # columns

_MIN_SHARE = 0.005  # of all: smaller parts are left out

_GAP = "   "  # between two parts of the legend


class _Look(NamedTuple):
    """The look of a part, and its name."""

    words: str
    box: str
    plain: str  # in place of the box, where the encoding lacks it
    colour: str


_LOOKS = {
    "lines_ns": _Look(words="computing", box="█", plain="#", colour="32"),
    "imports_ns": _Look(words="imports", box="▓", plain="%", colour="34"),
    "waits_ns": _Look(words="waits", box="▒", plain="=", colour="33"),
    "ready_ns": _Look(
        words="waits for a free processor", box="▚", plain="~", colour="91"
    ),
    "gpu_ns": _Look(words="waits for a GPU", box="▞", plain="+", colour="35"),
    "rest_ns": _Look(words="code not profiled", box="░", plain="-", colour="36"),
    "measuring_ns": _Look(words="measuring", box="·", plain=".", colour="2"),
}


def bar_lines(parts: RunParts, terminal: Terminal, width: int) -> Iterator[str]:
    """Yield a bar of at most `width` columns, and its legend.

    Shares are those in `parts.run_ns`; measuring is not part of it.
    """
    times = {_LOOKS[name]: ns for name, ns in parts._asdict().items()}
    whole_ns = sum(times.values())
    times = {look: ns for look, ns in times.items() if ns > _MIN_SHARE * whole_ns}
    sizes = _sizes([*times.values()], min(width, _MAX_WIDTH))
    yield terminal.coloured(
        (_box(look, terminal) * size, look.colour) for look, size in zip(times, sizes)
    )
    line: list[tuple[str, str]] = []
    for look, ns in times.items():
        text = f" {look.words} {in_words(ns)}"
        is_part = look is not _LOOKS["measuring_ns"]
        text += f" {percent(ns, parts.run_ns)}" if is_part else ", on top"
        used = sum(len(one) for one, _ in line)
        if line and used + len(_GAP) + 1 + len(text) > width:
            yield terminal.coloured(line)
            line = []
        line += [(_GAP, "")] * bool(line)
        line += [(_box(look, terminal), look.colour), (text, "")]
    yield terminal.coloured(line)


def _box(look: _Look, terminal: Terminal) -> str:
    return look.box if terminal.boxes else look.plain


def _sizes(times: Sequence[int], width: int) -> list[int]:
    """Return a number of columns for each time, at least 1, in all `width`."""
    whole_ns = sum(times)
    sizes = [max(1, round(ns * width / whole_ns)) for ns in times]
    if sizes:
        longest = sizes.index(max(sizes))
        sizes[longest] = max(1, sizes[longest] + width - sum(sizes))
    return sizes
