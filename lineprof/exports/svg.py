"""A profile as a flame graph: one SVG file that a browser shows and zooms.

The root is at the top; below a function is what it called, as wide as that took.
Each is an ``svg`` element in the graph's, for those cut off what does not fit.
"""

from __future__ import annotations

from html import escape
from zlib import crc32

from lineprof.errors import printable
from lineprof.exports import stacks
from lineprof.exports.flames import flames, gpu_flames
from lineprof.exports.svg_layout import MOST_LEVELS, SMALLEST, drawing
from lineprof.exports.svg_page import HUES, SCRIPT, STYLE
from lineprof.exports.svg_titles import Titles
from lineprof.log_file import encoded
from lineprof.short_names import names_of_profile
from lineprof.units import readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.exports.svg_layout import Box, Drawing
    from lineprof.records import Key
    from lineprof.stats import Profile

_ROW = 18  # pixels, of a level
_TOP, _BETWEEN, _BOTTOM = 76, 40, 30
_NO_XML = {0xFFFE: 0xFFFD, 0xFFFF: 0xFFFD}  # even as references these are none
_HEAD = """\
<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="100%" height="{height}">
<title>{title}</title>
<style>
{style}</style>
<text class="head" x="10" y="24">{title}</text>
<text id="say" x="10" y="46">{hint}</text>
<text id="reset" class="button" x="270" y="66" style="display:none">whole graph</text>
<text id="found" x="380" y="66"/>
<foreignObject id="tools" x="10" y="50" width="245" height="24" style="display:none">\
<input xmlns="http://www.w3.org/1999/xhtml" id="search" type="search"\
 placeholder="search" aria-label="search"/></foreignObject>
"""
_HINT = "click: zoom; double click: find everywhere; Esc: the whole graph"
_FRAME = """\
<svg class="f {kind}" x="{x:.6f}%" y="{y}" width="{width:.6f}%" height="{row}"\
 data-ns="{ns}"><title>{title}</title><rect width="100%" height="100%"/>\
<text x="4" y="13">{name}</text></svg>
"""


def content(stats: Profile) -> Iterator[bytes]:
    """Yield the file of `stats`: a graph of the time, and one of GPU time if any."""
    graphs = _graphs(stats)
    notes = list(_remarks(stats, graphs))
    heights = [drawn.levels * _ROW + _BETWEEN for _, drawn in graphs]
    height = _TOP + sum(heights) + _BOTTOM + _ROW * len(notes)
    command = " ".join(stats.processes[0].argv) if stats.processes else ""
    head = {"title": _text(f"lineprof {command}".rstrip()), "hint": _HINT}
    yield _bytes(_HEAD.format(height=height, style=STYLE, **head))
    names = names_of_profile(stats)
    top = _TOP
    for (what, drawn), size in zip(graphs, heights):
        heading = f"{what}: {readable(drawn.root.ns / 1e9).strip()}"
        yield _bytes(f'<text class="note" x="10" y="{top + 24}">{heading}</text>\n')
        yield from _graph(drawn, Titles(stats, names, drawn.root.ns), top + 32)
        top += size
    for note in notes:
        top += _ROW
        yield _bytes(f'<text class="note" x="10" y="{top}">{_text(note)}</text>\n')
    yield _bytes(f"<script><![CDATA[\n{SCRIPT}]]></script>\n</svg>\n")


def remarks(stats: Profile) -> Iterator[str]:
    """Yield what is not drawn."""
    yield from _remarks(stats, _graphs(stats))


def _graphs(stats: Profile) -> list[tuple[str, Drawing]]:
    """Return the graphs that the profile has numbers for, with what they show."""
    graphs = [("time", drawing(flames(stats)))]
    on_gpu = drawing(gpu_flames(stats))
    if on_gpu.root.ns:
        graphs.append(("GPU time, copies too, by what launched it", on_gpu))
    return graphs


def _remarks(stats: Profile, graphs: list[tuple[str, Drawing]]) -> Iterator[str]:
    yield from stacks.remarks_of_calls(stats)
    tiny = sum(drawn.tiny for _, drawn in graphs)
    deep = sum(drawn.deep for _, drawn in graphs)
    if tiny:
        yield f"boxes of less than {100 / SMALLEST:g} % are not drawn: {tiny}"
    if deep:
        yield f"boxes below level {MOST_LEVELS} are not drawn: {deep}"


def _graph(drawn: Drawing, titles: Titles, top: int) -> Iterator[bytes]:
    """Yield one graph, that starts `top` pixels from the page's top edge."""
    height = drawn.levels * _ROW
    yield _bytes(f'<svg class="graph" y="{top}" width="100%" height="{height}">\n')
    whole = drawn.root.ns
    if whole:
        yield _frame(0, 100, 0, "x", (whole, titles.of_all(), "all"))
    for box in drawn.boxes:
        flame = box.flame
        x, width = 100 * box.start_ns / whole, 100 * flame.ns / whole
        about = (flame.ns, titles.of(flame), titles.name(flame))
        yield _frame(x, width, box.level + 1, _kind(box, flame.key), about)
    yield b"</svg>\n"


def _frame(
    x: float, width: float, level: int, kind: str, about: tuple[int, str, str]
) -> bytes:
    """Return a box: its place (%), its class; and its time, title and name."""
    ns, title, name = about
    texts = {"title": _text(title, keep="\n"), "name": _text(name)}
    y, row = level * _ROW, _ROW
    place = {"x": x, "y": y, "width": width, "row": row, "kind": kind, "ns": ns}
    return _bytes(_FRAME.format(**place, **texts))


def _kind(box: Box, key: Key) -> str:
    """Return the class of a box: its file's colour, or that of what has no file."""
    if key[0]:
        return f"c{crc32(key[0].encode('utf-8', 'surrogatepass')) % HUES}"
    return "x" if box.flame.below or box.flame.calls else "work"


def _text(text: str, *, keep: str = "") -> str:
    """Return `text` as XML can hold it."""
    return escape(printable(text, keep=keep)).translate(_NO_XML)


def _bytes(text: str) -> bytes:
    return b"".join(encoded([text]))[:-1]
