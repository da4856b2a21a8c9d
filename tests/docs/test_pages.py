"""The pages of the site: each is in the contents, and their links have targets."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import pytest
from pages import DOCS, PAGES, README, ROOT, anchors_of, links_of

if TYPE_CHECKING:
    from pathlib import Path

sys.path.insert(0, str(ROOT))
try:
    from tools.docs.build import dead, fetched
    from tools.docs.pages import HELP, contents, for_site
finally:
    sys.path.remove(str(ROOT))

PAPERS = [*PAGES.values(), ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]
ELSEWHERE = re.compile(r"[a-z]+:")


def index() -> str:
    return (DOCS / "index.md").read_text(encoding="utf-8")


def test_every_page_is_once_in_the_contents() -> None:
    listed = [page for _, pages in contents(index()) for page in pages]
    pages = {path.stem for path in DOCS.glob("*.md")} - {"index"}
    assert sorted(listed) == sorted(pages)


def test_the_site_has_a_table_of_contents_for_each_section() -> None:
    trees = re.findall(
        r"```\{toctree\}\n:hidden:\n:caption: (.+)\n", for_site("index", index())
    )
    assert trees == [title for title, _ in contents(index())]
    assert len(trees) > 2


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_links_have_targets(paper: Path) -> None:
    broken = []
    for link in links_of(paper):
        if ELSEWHERE.match(link):
            continue
        name, _, anchor = link.partition("#")
        target = (paper.parent / name).resolve() if name else paper
        if not target.exists() or (anchor and anchor not in anchors_of(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_one_title_and_is_linked_relatively(page: str) -> None:
    text = PAGES[page].read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert not [link for link in links_of(PAGES[page]) if link.startswith("/")]


def test_the_help_of_every_command_is_put_into_its_page() -> None:
    from lineprof.cli.main import COMMANDS  # noqa: PLC0415

    page = (DOCS / "commands.md").read_text(encoding="utf-8")
    assert HELP in page
    made = for_site("commands", page)
    names = ["kernprof", "lineprof", *(f"lineprof {one}" for one in COMMANDS)]
    assert re.findall(r"^## (.+)$", made, re.MULTILINE) == [*names, "lineprof run"]
    listed = re.findall(r"^\| `([a-z ]+)` \|", page, re.MULTILINE)
    assert sorted(listed) == sorted({*names, "lineprof run"} - {"lineprof"})
    for name in names:
        assert re.search(
            rf"^usage: {name}\b|^Usage: {name}\b", made, re.MULTILINE | re.IGNORECASE
        )


def test_the_page_of_the_api_has_every_public_name() -> None:
    import lineprof  # noqa: PLC0415
    from lineprof import line_profiler  # noqa: PLC0415

    page = (DOCS / "api.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    for module in (lineprof, line_profiler):
        public = {name for name in module.__all__ if name != "__version__"}
        assert public <= named


def test_everything_public_has_a_docstring() -> None:
    import lineprof  # noqa: PLC0415
    from lineprof import line_profiler  # noqa: PLC0415

    lacking = []
    for module in (lineprof, line_profiler):
        for name in module.__all__:
            thing = getattr(module, name)
            home = thing if isinstance(thing, type) else type(thing)
            members = (
                [n for n in dir(home) if not n.startswith("_")]
                if isinstance(thing, type) or name == "profile"
                else []
            )
            if name != "__version__" and not thing.__doc__:
                lacking.append(name)
            lacking += [
                f"{name}.{n}"
                for n in members
                if callable(getattr(home, n)) and not getattr(home, n).__doc__
            ]
    assert lacking == []


def test_the_readme_links_the_site() -> None:
    assert "docs/index.md" in links_of(README)
    assert "docs/report.md" in links_of(README)


def test_the_page_of_the_report_has_every_tab_and_key() -> None:
    page = (DOCS / "report.md").read_text(encoding="utf-8")
    assets = ROOT / "lineprof" / "report" / "html" / "assets"
    code = (assets / "report.js").read_text(encoding="utf-8")
    tabs = re.findall(r'addTab\(.*?"([A-Z][\w ]*)"', code)
    tables = page[: page.index("## Keys")]
    assert re.findall(r"^\| ([A-Z][\w ]*) \|", tables, re.MULTILINE)[1:] == tabs
    keys = page[page.index("## Keys") : page.index("## What")]
    for script in assets.glob("*.js"):
        text = script.read_text(encoding="utf-8")
        for key in re.findall(
            r'event\.key === "([a-z/])"|^      ([a-z]): \(\) =>', text, re.MULTILINE
        ):
            assert f"`{key[0] or key[1]}`" in keys


@pytest.mark.parametrize(
    ("name", "text", "others"),
    [
        ("a.html", '<script src="https://cdn/a.js"></script>', ["https://cdn/a.js"]),
        ("a.html", '<link rel="stylesheet" href="//fonts/a.css">', ["//fonts/a.css"]),
        ("a.html", '<img alt="" src="http://images/a.png">', ["http://images/a.png"]),
        ("a.css", "@import 'https://fonts/a.css';", ["https://fonts/a.css"]),
        ("a.css", "b { background: url(//images/a) }", ["//images/a"]),
        ("a.html", '<a href="https://www.example">a link</a>', []),
        ("a.html", '<script src="_static/a.js"></script>', []),
        ("a.css", "b { background: url(data:image/png;base64,AAAA) }", []),
    ],
)
def test_a_site_that_loads_from_others_is_found(
    tmp_path: Path, name: str, text: str, others: list[str]
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert fetched(tmp_path) == [f"{name}: {address}" for address in others]


def test_a_dead_link_of_the_site_is_found(tmp_path: Path) -> None:
    page = '<a href="b%20c.html#top">1</a> <a href="https://a">2</a> <a href="#a">3</a>'
    (tmp_path / "a.html").write_text(f'{page} <img src="d.png">', encoding="utf-8")
    assert dead(tmp_path) == ["a.html: b%20c.html", "a.html: d.png"]
    (tmp_path / "b c.html").touch()
    (tmp_path / "d.png").touch()
    assert dead(tmp_path) == []
