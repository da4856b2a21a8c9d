"""The pictures of the pages: all are shown, small, and like what lineprof makes now.

A picture is never compared by its pixels, and times differ. Compared are: the lines of
a terminal that have no times; of a screenshot, by its description, the tabs, the titles
of columns, and the hits and the text of each line of source.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from as_python import run
from pages import DOCS, PAGES, README, ROOT, links_of, shape
from report_page import Page

from lineprof import load_stats

if TYPE_CHECKING:
    from collections.abc import Iterable

sys.path.insert(0, str(ROOT))
try:
    from tools.demo.docs_pictures import PICTURES, SESSIONS, printed
    from tools.demo.page_pictures import SHOTS, environment_of, typed, write_examples
    from tools.demo.terminal_picture import picture, plain
    from tools.docs import live
    from tools.docs.pages import LIVE, for_site
finally:
    sys.path.remove(str(ROOT))

pytestmark = pytest.mark.once

IMAGES = sorted((DOCS / "images").iterdir())
ASSETS = ROOT / "lineprof" / "report" / "html" / "assets"
MAX_PICTURE, MAX_ALL = 150_000, 700_000  # bytes; an sdist has them all
ALT = re.compile(
    r"!\[([^\]]*)\]\((images/[^)]+)\)|<img alt=\"([^\"]*)\" src=\"([^\"]+)"
)
SOURCES = {  # pictures with lines of source, and the run that they are of
    name: next(one for one in SHOTS[name].commands if one.startswith("kernprof"))
    for name in ("report", "first-page", "gpu-lines")
}


# Which there are.


def test_every_picture_is_shown_and_every_shown_one_is_made_by_the_tool() -> None:
    shown = {
        (page.parent / link).resolve()
        for page in PAGES.values()
        for link in links_of(page)
        if "images/" in link
    }
    assert sorted(shown) == IMAGES
    assert {image.stem.removesuffix("-dark") for image in IMAGES} == {*PICTURES}


def test_pictures_are_small() -> None:
    sizes = [image.stat().st_size for image in IMAGES]
    assert min(sizes) > 0
    assert max(sizes) < MAX_PICTURE
    assert sum(sizes) < MAX_ALL


def test_every_picture_has_a_text_that_says_what_is_seen() -> None:
    for page in PAGES.values():
        text = page.read_text(encoding="utf-8")
        found = ALT.findall(text)
        assert len(found) == text.count("](images/") + text.count("<img ")
        for markdown, _, tag, _ in found:
            assert len((markdown or tag).split()) > 5


# What is seen.


def seen(name: str) -> dict[str, Any]:
    """Return the description of a screenshot, from its chunk of compressed text."""
    data = (DOCS / "images" / f"{name}.png").read_bytes()
    start = data.index(b"zTXtDescription\0\0")
    size = int.from_bytes(data[start - 4 : start], "big")
    text = zlib.decompress(data[start + 17 : start + 4 + size])
    described: dict[str, Any] = json.loads(text)
    return described


@pytest.mark.parametrize("name", SHOTS)
def test_the_page_still_has_the_tabs_and_columns_of_the_picture(name: str) -> None:
    files = [*ASSETS.glob("*.js"), ROOT / "lineprof" / "report" / "gpu_idle.py"]
    code = "".join(file.read_text(encoding="utf-8") for file in files)
    titles = {re.sub(r" \(.*\)$", "", one) for one in seen(name)["tabs"]}
    titles |= {re.sub(r"\d+", "${one}", one) for one in seen(name)["titles"]}
    assert titles
    known = (rf'["`]{re.escape(one)}(?!\w)' for one in titles)
    assert [one for one in known if not re.search(one, code)] == []


def test_the_picture_of_the_report_has_every_tab_of_a_page_of_one_process() -> None:
    code = (ASSETS / "report.js").read_text(encoding="utf-8")
    tabs = re.findall(r'^  addTab\(.*?"([A-Z][\w ]*)"', code, re.MULTILINE)
    pictured = [re.sub(r" \(.*\)$", "", one) for one in seen("report")["tabs"]]
    tabs.append(tabs.pop(tabs.index("Timeline")))  # the last one if it has no slices
    assert pictured == tabs
    assert seen("report-dark")["lines"] == seen("report")["lines"]


@pytest.mark.parametrize("name", SOURCES)
def test_a_picture_of_source_has_the_hits_and_lines_of_a_run(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    write_examples(tmp_path)
    environment = environment_of(SOURCES[name])
    if "LINEPROF_CUDA" in environment:
        doubles = request.getfixturevalue("doubles")
        environment = {
            key: str(doubles / Path(value).name) if value.endswith(".so") else value
            for key, value in environment.items()
        }
    words = typed(SOURCES[name], Path(sys.executable))[1:]
    done = run(words, cwd=tmp_path, env=environment)
    assert done.status == 0, done.err
    hits: dict[int, set[int]] = {}
    for lines in load_stats(str(tmp_path / "run.lprof")).timings.values():
        for line, count, _ in lines:
            hits.setdefault(line, set()).add(count)
    source = (tmp_path / words[-1]).read_text(encoding="utf-8").splitlines()
    assert len(seen(name)["lines"]) > 5
    for line, count, text in seen(name)["lines"]:
        assert int(count.replace(",", "")) in hits[line]
        assert text == source[line - 1]


def lasting(lines: Iterable[str], varying: str) -> list[str]:
    """Return the lines of a terminal that are the same in each run."""
    return [
        line
        for line in shape("\n".join(map(plain, lines)), varying)
        if line
        and "#" not in line.replace("Line #", "")
        and not re.search("[█▓▚░]", line)
    ]


@pytest.mark.parametrize("name", SESSIONS)
def test_a_picture_of_a_terminal_has_what_the_commands_print(
    name: str, tmp_path: Path
) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    session = SESSIONS[name]
    svg = (DOCS / "images" / f"{name}.svg").read_text(encoding="utf-8")
    rows = re.findall("<text .*</text>", svg)
    texts = [html.unescape(re.sub("<[^>]+>", "", row)) for row in rows]
    pictured = lasting(texts, session.varies)
    assert len(pictured) > 5
    # A moment in which the machine does something else can bring a callee of a fraction
    # of a millisecond above the cut-off of 1 %: not in each of five runs.
    for _ in range(5):
        now = lasting(printed(session, Path(sys.executable), tmp_path), session.varies)
        if now == pictured:
            break
    assert pictured == now


def test_a_picture_of_a_terminal_has_its_colours() -> None:
    svg = picture(["$ view", "\x1b[1ma <b>\x1b[0m \x1b[2;31mc\x1b[0m", ""])
    assert '<tspan class="s1">a &lt;b&gt;</tspan> <tspan class="s2" style=' in svg
    assert svg.count("<text ") == 2


# The site.


def test_a_picture_in_two_colours_follows_the_switch_of_the_site() -> None:
    page = for_site("index", (DOCS / "index.md").read_text(encoding="utf-8"))
    assert "<picture>" not in page
    for theme, image in (("light", "report"), ("dark", "report-dark")):
        made = (
            rf"```\{{image\}} images/{image}\.png\n:alt: .+\n:class: only-{theme}\n```"
        )
        assert re.search(made, page)


@pytest.mark.parametrize("name", LIVE)
def test_a_live_report_is_linked_in_the_site_alone(name: str) -> None:
    comment, words = LIVE[name]
    for page in PAGES.values():
        text = page.read_text(encoding="utf-8")
        assert "live/" not in " ".join(links_of(page))
        assert f'href="live/{name}.html"' not in for_site(page.stem, text, ())
        if comment in text:
            assert f'href="live/{name}.html">{words}<' in for_site(page.stem, text)
    assert comment in PAGES["report.md"].read_text(encoding="utf-8")
    assert comment not in README.read_text(encoding="utf-8")


def test_a_live_report_has_neither_host_nor_folder_of_the_machine_that_made_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "SIMULATES", False)
    live.make(Path(sys.executable), tmp_path / "live")
    [page] = (tmp_path / "live").iterdir()
    [process] = Page(page.read_text(encoding="utf-8")).data["processes"]
    assert process["host"] == live.HOST
    assert str(ROOT) not in process["cwd"]
    assert set(LIVE) == set(live.LIVE)
