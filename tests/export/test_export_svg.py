"""Flame graphs: complete files, with boxes as wide as their time."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from example_calls import FORWARD, MAIN, PROCESS, deep, example, wide
from export_shapes import content, remarks, shapes

from lineprof.line_stats import LineStats
from lineprof.model.call_graph import function_totals
from lineprof.model.records import FunctionStats, SourceFile, ThreadLine

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.once  # files of fixed profiles

SVG = "{http://www.w3.org/2000/svg}"
HTML = "{http://www.w3.org/1999/xhtml}"


class Box:
    """Box of a flame graph."""

    def __init__(self, node: ET.Element) -> None:
        self.x, self.width = (float(node.attrib[a][:-1]) for a in ("x", "width"))
        assert node.attrib["x"].endswith("%")
        self.row = int(node.attrib["y"]) // int(node.attrib["height"])
        self.ns = int(node.attrib["data-ns"])
        self.name = node.findtext(f"{SVG}text", "")
        self.title = node.findtext(f"{SVG}title", "").split("\n")
        self.classes = node.attrib["class"].split()


def drawn(stats: LineStats) -> list[list[Box]]:
    """Return the boxes of each graph, in the order of the file."""
    root = ET.fromstring(content(stats, "svg"))  # noqa: S314  # our own
    assert root.tag == f"{SVG}svg"
    return [
        [Box(node) for node in graph.iter(f"{SVG}svg") if node is not graph]
        for graph in root.iter(f"{SVG}svg")
        if graph.attrib.get("class") == "graph"
    ]


def parents(boxes: list[Box]) -> Iterator[tuple[Box, Box]]:
    """Yield each box except the root's with the box above it."""
    path: list[Box] = []
    for box in boxes:
        del path[box.row :]
        if path:
            yield box, path[-1]
        path.append(box)


@pytest.mark.parametrize("shape", list(shapes()))
def test_widths_are_times_and_boxes_are_within_their_parents(shape: str) -> None:
    for boxes in drawn(shapes()[shape]):
        below, ends = Counter[Box](), dict[Box, float]()
        for box, above in parents(boxes):
            assert box.row == above.row + 1
            assert box.width == pytest.approx(100 * box.ns / boxes[0].ns, abs=1e-6)
            assert box.x >= ends.get(above, above.x) - 1e-5  # boxes do not overlap
            ends[above] = box.x + box.width
            assert ends[above] <= above.x + above.width + 1e-5
            below[above] += box.ns
        assert all(ns <= above.ns for above, ns in below.items())


def test_times_are_as_of_the_functions() -> None:
    time, gpu = drawn(example())
    assert (time[0].name, time[0].ns, time[0].width) == ("all", 7_826_348, 100)
    assert (gpu[0].name, gpu[0].ns) == ("all", 940_000)
    sums = Counter[str]()
    for box in time:
        sums[box.name] += box.ns
    numbers = function_totals(example())
    for key in (MAIN, FORWARD):
        assert sums[key[2]] == numbers[key].total_ns
    launched = Counter[str]()
    for box in gpu:
        if "work" in box.classes:
            launched[box.name] += box.ns
    assert launched == {"kernel(float*, int)": 850_000, "[CUDA memcpy HtoD]": 90_000}


def test_a_tooltip_describes_its_box() -> None:
    boxes, _ = drawn(example())
    (box, _) = (one for one in boxes if one.name == "Model.forward")
    assert box.title == [
        "Model.forward (model.py:12)",
        "4.565 ms, 58.33 % of all",
        "3.450 us of its own",
        "3 calls",
        "hottest line 15, 6.001 ms in all: return total + weights(self.sizes)",
    ]


def test_functions_of_one_file_have_one_colour() -> None:
    boxes, _ = drawn(example())
    colours = {box.name: box.classes for box in boxes}
    assert colours["main"] == colours["work"] != colours["Model.forward"]
    assert colours["all"] == ["f", "x"]


def test_tiny_boxes_are_not_drawn_and_are_remarked_on() -> None:
    stats = wide(1000, 10_000)
    (boxes,) = drawn(stats)
    assert min(box.ns for box in boxes) * 2000 >= boxes[0].ns == 10_000_000
    (said,) = remarks(stats, "svg")
    assert re.fullmatch(r"boxes of less than 0\.05 % are not drawn: \d+", said)
    assert said in content(stats, "svg").decode()


def test_deep_levels_are_not_drawn_and_are_remarked_on() -> None:
    (boxes,) = drawn(deep(1000))
    assert len(boxes) == 257
    assert remarks(deep(1000), "svg") == [
        "boxes below level 256 are not drawn: 744",
    ]


def test_names_with_any_character_are_valid_xml() -> None:
    name = "".join(map(chr, (*range(0x100), 0xD800, 0xDFFF, 0xFFFE, 0xFFFF, 0x1F600)))
    functions = [
        FunctionStats(
            f"/p/{name}.py", f"{name}]]></script>&lt;", 1, (ThreadLine(2, -1, 1, 7),)
        )
    ]
    ((_, box),) = drawn(LineStats.from_functions(functions))
    assert box.name.endswith("]]></script>&lt;")
    assert "\\x00" in box.name
    assert "\\ud800\\udfff\ufffd\ufffd\U0001f600" in box.name


def test_source_with_any_character_is_valid_xml() -> None:
    functions = [FunctionStats("/p/a.py", "f", 1, (ThreadLine(2, -1, 1, 7),))]
    text = "def f():\n    x = '\x00\x1b[2J <b>&\ufffe\udc80'\n"
    source = SourceFile("/p/a.py", text, "")
    stats = LineStats.from_functions(functions, sources={"/p/a.py": source})
    ((_, box),) = drawn(stats)
    assert box.title[-1] == (
        "hottest line 2, 7.000 ns in all: x = '\\x00\\x1b[2J <b>&\ufffd\\udc80'"
    )


@pytest.mark.parametrize("shape", ["nothing", "never called", "calls without lines"])
def test_an_empty_profile_says_why(shape: str) -> None:
    assert drawn(shapes()[shape]) == [[]]
    (why,) = remarks(shapes()[shape], "svg")
    assert why.startswith("the profile is empty")
    assert why in content(shapes()[shape], "svg").decode()


def test_the_text_of_an_empty_profile_is_valid_xml() -> None:
    stats = LineStats.from_functions([], processes=[PROCESS._replace(exit="<b> & ]]>")])
    assert drawn(stats) == [[]]
    (why,) = remarks(stats, "svg")
    assert "(the program ended by: <b> & ]]>)" in why
    root = ET.fromstring(content(stats, "svg"))  # noqa: S314  # our own
    assert why in [node.text for node in root.iter(f"{SVG}text")]


def test_the_file_loads_no_other_file() -> None:
    """The only addresses are the names of XML namespaces."""
    text = content(example(), "svg").decode()
    assert set(re.findall(r"https?://[^\"]+", text)) == {SVG[1:-1], HTML[1:-1]}
    assert not re.search(r"@import|url\(|href|src=|@font-face|fetch\(|XMLHttp", text)


def test_the_script_finds_its_elements() -> None:
    text = content(example(), "svg").decode()
    root = ET.fromstring(text)  # noqa: S314  # our own
    ids = {node.attrib["id"] for node in root.iter() if "id" in node.attrib}
    assert set(re.findall(r'byId\("(\w+)"\)', text)) == ids
    script = root.findtext(f"{SVG}script", "")
    for opening, closing in ("{}", "()", "[]"):
        assert script.count(opening) == script.count(closing)
