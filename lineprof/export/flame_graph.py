"""Flame graphs: one SVG file that a browser shows and zooms, and collapsed stacks.

The root is at the top; below a function are its callees, each as wide as its time.
Every box is an ``svg`` element inside the graph's, as these clip text that is too long.
Style and script are in `assets`; nothing is fetched from anywhere. Without the script,
as in an image viewer, the graph is complete, with the clipped text in the tooltips.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from lineprof.errors import printable
from lineprof.export import stacks
from lineprof.export.tables import csv_remarks
from lineprof.files import encoded
from lineprof.model.names import names_of_profile
from lineprof.model.records import NO_NODE
from lineprof.report.memory_format import marker
from lineprof.report.text_grid import in_bytes, in_words
from lineprof.source import sources_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lineprof.export.stacks import Frame
    from lineprof.model.names import ShortNames
    from lineprof.model.profile import Profile
    from lineprof.model.records import Key

_ROOT = ("", 0, "all")

# The tree of functions by call path, lines and threads merged.


class Flame:
    """One function at the end of one call path, from all lines and on all threads."""

    __slots__ = ("calls", "children", "key", "ns", "self_ns")

    def __init__(self, key: Key) -> None:
        self.key = key
        self.children: dict[Key, Flame] = {}  # callees, by function
        self.calls = 0
        self.self_ns = 0
        self.ns = 0  # with all callees

    def child(self, key: Key) -> Flame:
        """Return the flame of a callee; made at its first use."""
        flame = self.children.get(key)
        if flame is None:
            flame = self.children[key] = Flame(key)
        return flame


def time_flames(profile: Profile) -> Flame:
    """Return the root of all functions with their times."""
    root = Flame(_ROOT)
    nodes = profile.calls.nodes
    found: dict[int, Flame] = {NO_NODE: root}
    for path in stacks.call_path_shares(profile):
        parent = NO_NODE if path.node == NO_NODE else nodes[path.node].parent
        flame = found[parent].child(path.function)
        if path.node != NO_NODE:
            found[path.node] = flame
        flame.calls += path.calls
        flame.self_ns += sum([one.ns for one in path.lines])
    return _summed(root)


def gpu_flames(profile: Profile) -> Flame:
    """Return the root of all functions with GPU time, kernels below their launch."""
    root = Flame(_ROOT)
    for stack in stacks.gpu_stacks(profile):
        flame = root
        for key, _ in stack.frames:
            flame = flame.child(key)
        flame.child(("", 0, stack.work)).self_ns += stack.gpu_ns + stack.copy_ns
    return _summed(root)


def memory_flames(profile: Profile, part: str) -> Flame:
    """Return the root of all functions with a part of their memory (bytes, not ns).

    `part` is an attribute of `MemoryNumbers`.
    """
    root = Flame(_ROOT)
    for stack in stacks.memory_stacks(profile):
        flame = root
        for key, _ in stack.frames:
            flame = flame.child(key)
        flame.self_ns += getattr(stack.numbers, part)
    return _summed(root)


def _summed(root: Flame) -> Flame:
    """Return `root` with the `ns` of each flame.

    It is its own time and that of all flames below.
    """
    order = [root]
    for flame in order:  # it grows: parents come before their children
        flame.ns = flame.self_ns
        order += flame.children.values()
    for flame in reversed(order):
        flame.ns += sum([child.ns for child in flame.children.values()])
    return root


def walk(root: Flame) -> Iterator[tuple[int, Flame]]:
    """Yield each flame below `root` and its level, from 0; the longest first.

    Children follow their parent.
    """
    todo = [(0, flame) for flame in _longest_last(root)]
    while todo:
        level, flame = todo.pop()
        yield level, flame
        todo += [(level + 1, child) for child in _longest_last(flame)]


def _longest_last(flame: Flame) -> list[Flame]:
    return sorted(flame.children.values(), key=lambda child: (child.ns, child.key))


# Collapsed stacks, one a line, for flamegraph.pl and its kind: functions from the root
# on with semicolons between them, a blank, and the last one's self time in ns.


TIME, GPU = "time", "gpu"

# Parts of `MemoryNumbers`; what else the numbers of collapsed stacks are.
MEMORY_METRICS = {
    "host-alloc": "alloc_bytes",
    "host-live": "live_bytes",
    "host-peak": "peak_bytes",
}


def collapsed_content(profile: Profile, metric: str = TIME) -> Iterator[bytes]:
    """Yield the stacks: ``main (a.py:1);fit (b.py:7) 1200`` and so on."""
    root = _flames_of(profile, metric)
    names = names_of_profile(profile)
    labels: dict[Key, str] = {}
    limit = stacks.max_frames(profile.calls)
    path: list[Frame] = []
    for level, flame in walk(root):
        del path[level:]
        if flame.self_ns:
            keys = [key for key, _ in (*stacks.cut(path, limit), (flame.key, 0))]
            for key in keys:
                if key not in labels:  # a semicolon would end the name
                    labels[key] = names.full_label(key).replace(";", ",")
            frames = ";".join([labels[key] for key in keys])
            yield from encoded([f"{frames} {flame.self_ns}"])
        path.append((flame.key, 0))


def _flames_of(profile: Profile, metric: str) -> Flame:
    if metric in MEMORY_METRICS:
        return memory_flames(profile, MEMORY_METRICS[metric])
    return gpu_flames(profile) if metric == GPU else time_flames(profile)


def collapsed_remarks(profile: Profile, metric: str = TIME) -> Iterator[str]:
    """Yield how the file differs from the profile."""
    if metric in MEMORY_METRICS:
        if not profile.memory.sums:
            yield "memory was not measured: kernprof -l --memory measures it"
        yield "the numbers are bytes"
        return
    yield from stacks.remarks(profile)
    yield "the numbers are nanoseconds"
    if metric == GPU:
        return
    if profile.gpu.sums:
        yield "GPU time is left out: --metric gpu has it"
    metrics = ", ".join(MEMORY_METRICS)
    yield from stacks.remarks_of_memory(profile, f"--metric {metrics} have it")


# The layout: one row for each level, widths by time.


MAX_LEVELS = 256  # that are drawn

SMALLEST = 2_000  # boxes of less than one part in so many of the graph are not drawn


@dataclass(frozen=True)
class Box:
    """One function in a graph."""

    flame: Flame
    level: int  # 0 for the root
    start_ns: int  # from the left edge


@dataclass(frozen=True)
class Layout:
    """Boxes of one graph, and the number of functions that are not drawn."""

    root: Flame
    boxes: list[Box]  # from the root on down, the longest first; none without time
    tiny: int
    deep: int

    @property
    def rows(self) -> int:
        """The number of rows, the root's included."""
        return 1 + max((box.level for box in self.boxes), default=0)


def layout(root: Flame) -> Layout:
    """Return the boxes of `root` and of all flames below it."""
    boxes = [Box(flame=root, level=0, start_ns=0)] if root.ns else []
    tiny = deep = 0
    starts = [0]  # by level: the left edge of the next box
    for level, flame in walk(root):
        start = starts[level]
        starts[level:] = [start + flame.ns, start]  # also of its first child
        if flame.ns * SMALLEST < root.ns:
            tiny += bool(flame.ns)  # without time there is no box
        elif level >= MAX_LEVELS:
            deep += 1
        elif flame.ns:
            boxes.append(Box(flame=flame, level=level + 1, start_ns=start))
    return Layout(root=root, boxes=boxes, tiny=tiny, deep=deep)


# The SVG file.


HUES = 12  # colours of files: the classes .c0 to .c11 of flamegraph.css

_ROW = 18  # pixels, of a level

_TOP, _BETWEEN, _BOTTOM = 76, 40, 30

_NOT_XML = {0xFFFE: 0xFFFD, 0xFFFF: 0xFFFD}  # not allowed even as references

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

_BOX = """\
<svg class="f {kind}" x="{x:.6f}%" y="{y}" width="{width:.6f}%" height="{row}"\
 data-ns="{ns}"><title>{title}</title><rect width="100%" height="100%"/>\
<text x="4" y="13">{name}</text></svg>
"""


def svg_content(profile: Profile) -> Iterator[bytes]:
    """Yield the file: a graph of the time, and of GPU time and memory, if any."""
    graphs = _graphs(profile)
    notes = list(_remarks(profile, graphs))
    heights = [one.layout.rows * _ROW + _BETWEEN for one in graphs]
    command = " ".join(profile.processes[0].argv) if profile.processes else ""
    yield _bytes(
        _HEAD.format(
            height=_TOP + sum(heights) + _BOTTOM + _ROW * len(notes),
            style=_asset("flamegraph.css"),
            title=_xml_text(f"lineprof {command}".rstrip()),
            hint=_HINT,
        )
    )
    names = names_of_profile(profile)
    top = _TOP
    for one, height in zip(graphs, heights):
        heading = f"{one.title}: {one.in_words(one.layout.root.ns)}"
        yield _bytes(f'<text class="note" x="10" y="{top + 24}">{heading}</text>\n')
        tooltips = Tooltips(profile, names, one.layout.root, one.in_words)
        yield from _graph(one.layout, tooltips, top + 32)
        top += height
    for note in notes:
        top += _ROW
        yield _bytes(f'<text class="note" x="10" y="{top}">{_xml_text(note)}</text>\n')
    script = _asset("flamegraph.js")
    yield _bytes(f"<script><![CDATA[\n{script}]]></script>\n</svg>\n")


def svg_remarks(profile: Profile) -> Iterator[str]:
    """Yield which boxes are not drawn, and how the file differs from the profile."""
    yield from _remarks(profile, _graphs(profile))
    yield from csv_remarks(profile)


class _Graph(NamedTuple):
    """One graph of the file."""

    title: str
    layout: Layout
    in_words: Callable[[int], str] = in_words  # writes its numbers


def _graphs(profile: Profile) -> list[_Graph]:
    """Return each graph that the profile has data for."""
    graphs = [_Graph(title="time", layout=layout(time_flames(profile)))]
    gpu = layout(gpu_flames(profile))
    if gpu.root.ns:
        title = "GPU time, copies too, by what launched it"
        graphs.append(_Graph(title=title, layout=gpu))
    memory = layout(memory_flames(profile, "peak_bytes"))
    mark = marker(profile.memory)

    def in_size(size: int) -> str:
        return in_bytes(mark(size))

    if memory.root.ns:
        title = "memory at the peak, by what allocated it"
        graphs.append(_Graph(title=title, layout=memory, in_words=in_size))
    return graphs


def _remarks(profile: Profile, graphs: list[_Graph]) -> Iterator[str]:
    yield from stacks.remarks_of_calls(profile)
    tiny = sum(one.layout.tiny for one in graphs)
    deep = sum(one.layout.deep for one in graphs)
    if tiny:
        yield f"boxes of less than {100 / SMALLEST:g} % are not drawn: {tiny}"
    if deep:
        yield f"boxes below level {MAX_LEVELS} are not drawn: {deep}"


def _graph(graph: Layout, tooltips: Tooltips, top: int) -> Iterator[bytes]:
    """Yield one graph whose top edge is `top` pixels below the page's."""
    height = graph.rows * _ROW
    yield _bytes(f'<svg class="graph" y="{top}" width="100%" height="{height}">\n')
    for box in graph.boxes:
        flame = box.flame
        yield _bytes(
            _BOX.format(
                x=100 * box.start_ns / graph.root.ns,
                y=box.level * _ROW,
                width=100 * flame.ns / graph.root.ns,
                row=_ROW,
                kind=_kind(flame),
                ns=flame.ns,
                title=_xml_text(tooltips.of(flame), keep="\n"),
                name=_xml_text(tooltips.name(flame)),
            )
        )
    yield b"</svg>\n"


def _kind(flame: Flame) -> str:
    """Return the class of a box: the colour of its file, or of C or GPU work."""
    file = flame.key[0]
    if file:
        return f"c{crc32(file.encode('utf-8', 'surrogatepass')) % HUES}"
    return "x" if flame.children or flame.calls else "work"


def _asset(name: str) -> str:
    """Return the text of a file in `assets`."""
    return (files("lineprof.export") / "assets" / name).read_text(encoding="utf-8")


def _xml_text(text: str, *, keep: str = "") -> str:
    """Return `text` for XML; control characters except `keep` come as escapes."""
    return escape(printable(text, keep=keep)).translate(_NOT_XML)


def _bytes(text: str) -> bytes:
    return b"".join(encoded([text]))[:-1]


# Tooltips of the boxes.


_MAX_SOURCE = 100  # characters of a line of source


class Tooltips:
    """Names and tooltips of the boxes of one graph; the time of `root` is 100 %.

    `words` writes the numbers of a graph, in which they may be bytes.
    """

    def __init__(
        self,
        profile: Profile,
        names: ShortNames,
        root: Flame,
        words: Callable[[int], str] = in_words,
    ) -> None:
        self._names = names
        self._root = root
        self._words = words
        self._sources = sources_of(profile)
        self._hottest: dict[Key, tuple[int, int]] = {}  # line, its time (ns)
        for function in profile.functions if words is in_words else ():
            line = function.hottest_line
            if line is not None:
                self._hottest[function.key] = (line, function.line_ns[line])

    def name(self, flame: Flame) -> str:
        """Return the text in the box."""
        return self._names.label(flame.key)

    def of(self, flame: Flame) -> str:
        """Return name and place, times, calls and the hottest line: one a line."""
        lines = [self._names.full_label(flame.key)]
        if flame is self._root:
            return f"{lines[0]}\n{self._words(flame.ns)}"
        share = 100 * flame.ns / self._root.ns
        lines.append(f"{self._words(flame.ns)}, {share:.2f} % of all")
        if flame.children:
            lines.append(f"{self._words(flame.self_ns)} of its own")
        if flame.calls:
            lines.append(f"{flame.calls:,} call{'s' if flame.calls > 1 else ''}")
        hottest = self._hottest.get(flame.key)
        if hottest is not None:
            line, ns = hottest
            source = self._sources.line(flame.key[0], line) or ""
            source = source.strip()[:_MAX_SOURCE]
            text = f"hottest line {line}, {in_words(ns)} in all: {source}"
            lines.append(text.removesuffix(": "))
        return "\n".join(lines)
