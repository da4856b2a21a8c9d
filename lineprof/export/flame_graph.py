"""A profile as a flame graph: one SVG file that a browser shows and zooms.

The root is at the top; below a function is what it called, as wide as that took.
Each is an ``svg`` element in the graph's, for those cut off what does not fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING
from zlib import crc32

from lineprof.errors import printable
from lineprof.export import stacks
from lineprof.export.stacks import call_paths, gpu_stacks
from lineprof.files import encoded
from lineprof.model.names import ShortNames, names_of_profile
from lineprof.model.records import NO_NODE
from lineprof.model.units import format_seconds
from lineprof.source import Sources

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.model.profile import Profile
    from lineprof.model.records import Key


# A profile as collapsed stacks, one a line, for flamegraph.pl and its kind.
#
# Functions from the root on, semicolons between them, a blank and a number: here
# the time in the last one's own lines, in nanoseconds.


def collapsed_content(stats: Profile) -> Iterator[bytes]:
    """Yield the stacks of `stats`: ``main (a.py:1);fit (b.py:7) 1200`` and so on."""
    names = names_of_profile(stats)
    known: dict[Key, str] = {}
    most = stacks.most_frames(stats.calls)
    way: list[tuple[Key, int]] = []
    for level, flame in walk(flames(stats)):
        del way[level:]
        if flame.own_ns:
            frames = (*stacks.cut(way, most), (flame.key, 0))
            texts = [
                known.get(key) or _frame_name(known, names, key) for key, _ in frames
            ]
            yield from encoded([f"{';'.join(texts)} {flame.own_ns}"])
        way.append((flame.key, 0))


def _frame_name(known: dict[Key, str], names: ShortNames, key: Key) -> str:
    """Return a function's name without what has a meaning in the file."""
    name = known[key] = names.full(key).replace(";", ",")
    return name


def collapsed_remarks(stats: Profile) -> Iterator[str]:
    """Yield what the file does not say itself."""
    yield from stacks.remarks(stats)
    yield "the numbers are nanoseconds"
    if stats.gpu.sums:
        yield "GPU time is not in it: collapsed stacks have one number"


# A profile as a tree of functions by the way they were called, lines merged.


_ALL = ("", 0, "all")


class Flame:
    """One function by one way, from whatever lines and on all threads."""

    __slots__ = ("below", "calls", "key", "ns", "own_ns")

    def __init__(self, key: Key) -> None:
        self.key = key
        self.below: dict[Key, Flame] = {}  # what it called, by function
        self.calls = 0
        self.own_ns = 0  # in its own lines
        self.ns = 0  # with all below

    def child(self, key: Key) -> Flame:
        """Return the function `key` as this one called it."""
        flame = self.below.get(key)
        if flame is None:
            flame = self.below[key] = Flame(key)
        return flame


def flames(stats: Profile) -> Flame:
    """Return the time of all functions, below one root: the sum of `ways`."""
    root = Flame(_ALL)
    nodes = stats.calls.nodes
    found: dict[int, Flame] = {NO_NODE: root}
    for way in call_paths(stats):
        parent = NO_NODE if way.node == NO_NODE else nodes[way.node].parent
        flame = found[parent].child(way.function)
        if way.node != NO_NODE:
            found[way.node] = flame
        flame.calls += way.calls
        flame.own_ns += sum([ns for _, ns, _ in way.lines])
    return _summed(root)


def gpu_flames(stats: Profile) -> Flame:
    """Return the GPU time of all functions, kernels below what launched them."""
    root = Flame(_ALL)
    for stack in gpu_stacks(stats):
        flame = root
        for key, _ in stack.frames:
            flame = flame.child(key)
        flame.child(("", 0, stack.work)).own_ns += stack.gpu_ns + stack.copy_ns
    return _summed(root)


def walk(root: Flame) -> Iterator[tuple[int, Flame]]:
    """Yield each flame below `root` and its level, from 0; the longest first.

    Those below one follow it.
    """
    todo = [(0, flame) for flame in _longest_last(root)]
    while todo:
        level, flame = todo.pop()
        yield level, flame
        todo += [(level + 1, one) for one in _longest_last(flame)]


def _longest_last(flame: Flame) -> list[Flame]:
    return sorted(flame.below.values(), key=lambda one: (one.ns, one.key))


def _summed(root: Flame) -> Flame:
    """Give each flame its time with all below; return `root`."""
    order = [root]
    for flame in order:  # it grows: parents come before what is below them
        flame.ns = flame.own_ns
        order += flame.below.values()
    for flame in reversed(order):
        flame.ns += sum([below.ns for below in flame.below.values()])
    return root


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


def svg_content(stats: Profile) -> Iterator[bytes]:
    """Yield the file of `stats`: a graph of the time, and one of GPU time if any."""
    graphs = _graphs(stats)
    notes = list(_remarks(stats, graphs))
    heights = [drawn.levels * _ROW + _BETWEEN for _, drawn in graphs]
    height = _TOP + sum(heights) + _BOTTOM + _ROW * len(notes)
    command = " ".join(stats.processes[0].argv) if stats.processes else ""
    head = {"title": _xml_text(f"lineprof {command}".rstrip()), "hint": _HINT}
    yield _bytes(_HEAD.format(height=height, style=STYLE, **head))
    names = names_of_profile(stats)
    top = _TOP
    for (what, drawn), size in zip(graphs, heights):
        heading = f"{what}: {format_seconds(drawn.root.ns / 1e9).strip()}"
        yield _bytes(f'<text class="note" x="10" y="{top + 24}">{heading}</text>\n')
        yield from _graph(drawn, Tooltips(stats, names, drawn.root.ns), top + 32)
        top += size
    for note in notes:
        top += _ROW
        yield _bytes(f'<text class="note" x="10" y="{top}">{_xml_text(note)}</text>\n')
    yield _bytes(f"<script><![CDATA[\n{SCRIPT}]]></script>\n</svg>\n")


def svg_remarks(stats: Profile) -> Iterator[str]:
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


def _graph(drawn: Drawing, titles: Tooltips, top: int) -> Iterator[bytes]:
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
    texts = {"title": _xml_text(title, keep="\n"), "name": _xml_text(name)}
    y, row = level * _ROW, _ROW
    place = {"x": x, "y": y, "width": width, "row": row, "kind": kind, "ns": ns}
    return _bytes(_FRAME.format(**place, **texts))


def _kind(box: Box, key: Key) -> str:
    """Return the class of a box: its file's colour, or that of what has no file."""
    if key[0]:
        return f"c{crc32(key[0].encode('utf-8', 'surrogatepass')) % HUES}"
    return "x" if box.flame.below or box.flame.calls else "work"


def _xml_text(text: str, *, keep: str = "") -> str:
    """Return `text` as XML can hold it."""
    return escape(printable(text, keep=keep)).translate(_NO_XML)


def _bytes(text: str) -> bytes:
    return b"".join(encoded([text]))[:-1]


# Where each function stands in a flame graph: a row a level, widths by time.


MOST_LEVELS = 256  # that are drawn

SMALLEST = 2_000  # what takes less than one in so many of the whole is not drawn


@dataclass(frozen=True)
class Box:
    """One function as it is drawn."""

    flame: Flame
    level: int  # 0 below the root
    start_ns: int  # from the left edge


@dataclass(frozen=True)
class Drawing:
    """All that is drawn of one tree, and how many functions of it are not."""

    root: Flame
    boxes: list[Box]  # from the root down, the longest first
    tiny: int
    deep: int

    @property
    def levels(self) -> int:
        """How many rows it has, that of the root among them."""
        return 1 + max((box.level + 1 for box in self.boxes), default=0)


def drawing(root: Flame) -> Drawing:
    """Return what to draw of all below `root`."""
    boxes: list[Box] = []
    tiny = deep = 0
    starts = [0]  # by level: where the next one there starts
    for level, flame in walk(root):
        start = starts[level]
        starts[level:] = [start + flame.ns, start]  # the first below starts there, too
        if flame.ns * SMALLEST < root.ns:
            tiny += bool(flame.ns)  # without time it has no width at all
        elif level >= MOST_LEVELS:
            deep += 1
        elif flame.ns:
            boxes.append(Box(flame, level, start))
    return Drawing(root, boxes, tiny, deep)


# The looks of a flame graph, and what it does when it is clicked: CSS and script.
#
# Nothing is fetched from anywhere. Without the script, as in a viewer of
# pictures, all stands there; what is cut off is in the titles.


HUES = 12  # colours of files

STYLE = """\
svg { font: 12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
:root { background: #fff; }
text { fill: #111; pointer-events: none; }
.head { font-size: 16px; font-weight: bold; }
.note, #say, #found { fill: #444; }
.button { fill: #0550ae; pointer-events: auto; cursor: pointer; }
.f { cursor: pointer; }
.f rect { fill: hsl(var(--h), 70%, 76%); stroke: #fff; }
.f.x rect { fill: #cfcfcf; }
.f.work rect { fill: #b9dc8f; }
.f:hover rect { stroke: #000; }
.f.above rect { fill-opacity: .55; }
.f.hit rect { fill: #ffdf3d; }
input { box-sizing: border-box; width: 100%; font: inherit; }
@media (prefers-color-scheme: dark) {
  :root { background: #16181c; }
  text { fill: #f2f2f2; }
  .note, #say, #found { fill: #b8bcc4; }
  .button { fill: #79b8ff; }
  .f rect { fill: hsl(var(--h), 38%, 34%); stroke: #16181c; }
  .f.x rect { fill: #4a4d52; }
  .f.work rect { fill: #48701c; }
  .f:hover rect { stroke: #fff; }
  .f.hit rect { fill: #8a6d00; }
  input { color-scheme: dark; }
}
""" + "".join(f".c{i} {{ --h: {i * 360 // HUES}; }}\n" for i in range(HUES))

SCRIPT = """\
(function () {
  "use strict";
  const SLACK = 1e-5;  // of per cents, as they are rounded in the file
  const byId = (id) => document.getElementById(id);
  const percent = (node, name) => parseFloat(node.getAttribute(name));
  const graphs = Array.from(document.querySelectorAll(".graph"), (graph) =>
    Array.from(graph.querySelectorAll(".f"), (node) => ({
      node,
      x: percent(node, "x"),
      w: percent(node, "width"),
      y: percent(node, "y"),
      title: node.querySelector("title").textContent,
    })));
  const frames = new Map();  // by node: the frame, and all of its graph
  for (const graph of graphs) {
    for (const frame of graph) { frames.set(frame.node, { frame, graph }); }
  }

  function put(frame, x, w, isAbove) {
    frame.node.setAttribute("x", x + "%");
    frame.node.setAttribute("width", w + "%");
    frame.node.classList.toggle("above", isAbove);
  }

  // Frames below `to` grow with it, those above are as wide as all.
  function zoom(graph, to) {
    const end = to.x + to.w;
    for (const frame of graph) {
      const last = frame.x + frame.w;
      const above = frame.y <= to.y && frame.x <= to.x + SLACK && last >= end - SLACK;
      const below = frame.y > to.y && frame.x >= to.x - SLACK && last <= end + SLACK;
      frame.node.style.display = above || below ? "" : "none";
      if (above) {
        put(frame, 0, 100, frame !== to);
      } else if (below) {
        put(frame, 100 * (frame.x - to.x) / to.w, 100 * frame.w / to.w, false);
      }
    }
    byId("reset").style.display = to.w < 100 - SLACK ? "" : "none";
  }

  function reset() {
    for (const graph of graphs) { zoom(graph, graph[0]); }
    search("");
    byId("search").value = "";
  }

  // What is below another one that was found counts once.
  function share(hits) {
    let end = 0, sum = 0;
    for (const frame of hits.sort((a, b) => a.x - b.x || a.y - b.y)) {
      const start = Math.max(end, frame.x);
      end = Math.max(end, frame.x + frame.w);
      sum += Math.max(0, end - start);
    }
    return sum;
  }

  function search(text) {
    const wanted = text.toLowerCase();
    const said = graphs.map((graph) => {
      const hits = [];
      for (const frame of graph) {
        const isHit = wanted !== "" && frame.title.toLowerCase().includes(wanted);
        frame.node.classList.toggle("hit", isHit);
        if (isHit) { hits.push(frame); }
      }
      return share(hits).toFixed(2) + " %";
    });
    byId("found").textContent = wanted === "" ? "" : "found: " + said.join(", GPU: ");
  }

  function frameAt(event) {
    const node = event.target.closest(".f");
    return node === null ? undefined : frames.get(node);
  }

  document.addEventListener("click", (event) => {
    const at = frameAt(event);
    if (at !== undefined) { zoom(at.graph, at.frame); }
  });
  document.addEventListener("dblclick", (event) => {
    const at = frameAt(event);
    if (at === undefined) { return; }
    byId("search").value = at.frame.title.split("\\n")[0];
    search(byId("search").value);
  });
  document.addEventListener("mouseover", (event) => {
    const at = frameAt(event);
    if (at === undefined) { return; }
    byId("say").textContent = at.frame.title.split("\\n").join("  |  ");
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { reset(); }
  });
  byId("reset").addEventListener("click", reset);
  byId("search").addEventListener("input", (event) => search(event.target.value));
  byId("tools").style.display = "";
}());
"""


# What is said of each box of a flame graph when the mouse is on it.


_LONGEST = 100  # characters of a line of source


class Tooltips:
    """The titles of a graph, of which all takes `whole_ns`."""

    def __init__(self, stats: Profile, names: ShortNames, whole_ns: int) -> None:
        self._names = names
        self._whole_ns = whole_ns
        self._sources = Sources(stats.sources)
        self._hottest = _hottest(stats)

    def name(self, flame: Flame) -> str:
        """Return what stands in the box."""
        return self._names.alone(flame.key)

    def of_all(self) -> str:
        """Return the title of the root."""
        return f"all\n{_duration(self._whole_ns)}"

    def of(self, flame: Flame) -> str:
        """Return name and place, times, calls and the hottest line: one a line."""
        lines = [self._names.full(flame.key)]
        share = 100 * flame.ns / self._whole_ns
        lines.append(f"{_duration(flame.ns)}, {share:.2f} % of all")
        if flame.below:
            lines.append(f"{_duration(flame.own_ns)} of its own")
        if flame.calls:
            lines.append(f"{flame.calls:,} call{'s' if flame.calls > 1 else ''}")
        hottest = self._hottest.get(flame.key)
        if hottest is not None:
            ns, line = hottest
            source = (self._sources.line(flame.key[0], line) or "").strip()[:_LONGEST]
            text = f"hottest line {line}, {_duration(ns)} in all: {source}"
            lines.append(text.removesuffix(": "))
        return "\n".join(lines)


def _duration(ns: int) -> str:
    return format_seconds(ns / 1e9).strip()


def _hottest(stats: Profile) -> dict[Key, tuple[int, int]]:
    """Return each function's line that took longest: (ns with what it called, line)."""
    found: dict[Key, tuple[int, int]] = {}
    for function in stats.functions:
        lines: dict[int, int] = {}
        for cell in function.thread_lines:
            lines[cell.line] = lines.get(cell.line, 0) + cell.time_ns
        if any(lines.values()):
            ns, line = max((ns, -line) for line, ns in lines.items())
            found[function.key] = (ns, -line)
    return found
