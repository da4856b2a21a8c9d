"""Profiles as HTML: well-formed, safe, with all parts of the text."""

from __future__ import annotations

from html.parser import HTMLParser

import example_gpu
import example_stats
import report_page

from lineprof.line_stats import LineStats
from lineprof.model.records import FunctionStats, SourceFile, ThreadLine
from lineprof.report.notebook import html_of

VOID = {"br"}
LOADS = {"src", "href", "srcset", "data", "action", "background"}


class Page(HTMLParser):
    """Page, parsed as by a browser: rows of tables as text, and loaded addresses."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.loads: list[str] = []
        self.rows: list[list[str]] = []
        self.styles: list[str] = []  # of each row
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.loads += [name for name, _ in attrs if name in LOADS or name[:2] == "on"]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
            self.styles.append(dict(attrs).get("style") or "")
        if tag in {"td", "th"}:
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" in self.open:
            return
        self.text += data
        if "td" in self.open or "th" in self.open:
            self.rows[-1][-1] += data


def of_source(
    text: str, *cells: ThreadLine, name: str = "f", file: str = "f.py"
) -> LineStats:
    """Return the profile of one function, the only one of its file."""
    function = FunctionStats(file, name, 1, cells)
    sources = {file: SourceFile(file, text, "")}
    return LineStats.from_functions([function], sources=sources)


def test_each_line_has_its_numbers_and_its_source() -> None:
    stats = of_source(
        "def f(x):\n    x += 1\n    return x\n",
        ThreadLine(2, -1, 2, 3_000_000),
        ThreadLine(3, -1, 1, 9_000_000),
    )
    page = Page(html_of(stats))
    assert page.rows == [
        ["Line", "Hits", "Time", "Per Hit", "% Time", "Source"],
        ["1", "", "", "", "", "def f(x):"],
        ["2", "2", "3.000 ms", "1.500 ms", "25.0", "    x += 1"],
        ["3", "1", "9.000 ms", "9.000 ms", "75.0", "    return x"],
    ]


def test_lines_without_numbers_are_dim() -> None:
    html = html_of(of_source("def f(x):\n    x += 1\n", ThreadLine(2, -1, 2, 3)))
    assert '<td class="lp-src lp-dim"><pre>def f(x):</pre>' in html
    assert '<td class="lp-src"><pre>    x += 1</pre>' in html


def test_the_unit_can_be_chosen() -> None:
    stats = of_source("def f(): 1\n", ThreadLine(1, -1, 1, 3_000_000))
    assert Page(html_of(stats, unit=1e-3)).rows[0][2] == "Time (ms)"
    assert Page(html_of(stats, unit=2e-3)).rows[1][2] == "1.5"
    assert Page(html_of(stats, unit=2e-3)).rows[0][2] == "Time (0.002 s)"


def test_the_line_with_the_most_time_is_the_hottest() -> None:
    stats = of_source(
        "def f():\n    1\n    2\n    3\n",
        ThreadLine(2, -1, 1, 900),
        ThreadLine(3, -1, 1, 99),
        ThreadLine(4, -1, 1, 1),
    )
    _, begin, hot, warm, cold = Page(html_of(stats)).styles
    assert (begin, cold) == ("", "")
    strength = [float(style.split(",")[-1].rstrip(")")) for style in (hot, warm)]
    assert strength[0] > strength[1] > 0


def test_text_of_a_profile_is_escaped() -> None:
    evil = "<script>alert('x')</script>\"&\u202e\x1b[2J\ud800"
    text, line = f"def f():\n    {evil}\n", ThreadLine(2, -1, 1, 1)
    stats = of_source(text, line, name=evil, file=f"/{evil}.py")
    stats.warnings = (evil,)
    html = html_of(stats)
    page = Page(html)
    assert "script" not in page.tags
    assert page.rows[2][-1] == (
        "    <script>alert('x')</script>\"&\\u202e\\x1b[2J\\ud800"
    )
    assert page.text.count("<script>") == 4
    html.encode()


def test_a_page_loads_no_other_file() -> None:
    for stats in (example_stats.example(), example_gpu.example()):
        html = html_of(stats)
        assert Page(html).loads == []
        assert "url(" not in html
        assert "@import" not in html


def test_tabs_and_blanks_of_the_source_are_kept() -> None:
    page = Page(html_of(of_source("def f():\n\tx  =  1\n", ThreadLine(2, -1, 1, 1))))
    assert page.rows[2][-1] == "\tx  =  1"


def test_functions_that_never_ran_are_named_or_left_out() -> None:
    stats = example_stats.example()
    assert "never (/project/train.py:25)" in Page(html_of(stats)).text
    assert "never" not in Page(html_of(stats, skip_zero=True)).text


def test_waits_are_shown_if_there_are_any() -> None:
    stats = of_source("def f():\n    1\n", ThreadLine(2, -1, 1, 1_000, await_ns=5_000))
    assert Page(html_of(stats)).rows[0][5] == "Await"
    assert Page(html_of(stats)).rows[2][5] == "5.000 us"


def test_gpu_columns_and_totals_are_shown() -> None:
    page = Page(html_of(example_gpu.example()))
    assert "GPU Time" in page.rows[0]
    assert "GPU" in page.text.rpartition("Source")[2]
    assert "<b>        loss.backward()</b>" in html_of(example_gpu.example())


def test_a_function_without_source_shows_its_lines() -> None:
    function = FunctionStats("/nowhere/f.py", "f", 3, (ThreadLine(5, -1, 1, 10),))
    page = Page(html_of(LineStats.from_functions([function])))
    assert page.rows[1:] == [["5", "1", "10.00 ns", "10.00 ns", "100.0", ""]]


def test_a_cell_is_shown_whole() -> None:
    text = "def f():\n    1\nf()\n"
    stats = of_source(text, ThreadLine(3, -1, 1, 1), name="<lprof_cell>")
    assert [row[-1] for row in Page(html_of(stats)).rows[1:]] == text.splitlines()


def test_an_empty_profile_says_why() -> None:
    assert "no function was registered" in Page(html_of(LineStats({}, 1))).text


class Frame(HTMLParser):
    """The frame of an output, as a notebook takes it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.attributes: dict[str, str | None] = {}
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "iframe":
            self.attributes = dict(attrs)


def test_notebooks_show_the_report_in_a_sandbox_and_tables_below() -> None:
    stats = of_source("def f(): 1\n", ThreadLine(1, -1, 1, 3))
    html = stats._repr_html_()
    attributes = Frame(html).attributes
    assert attributes["sandbox"] == "allow-scripts"
    report = report_page.Page(attributes["srcdoc"] or "")
    assert [line["time"] for line in report.rows("lines")] == [3]
    assert report.addresses() == []
    assert html.endswith(f"{html_of(stats)}</details>")


def test_a_large_profile_has_no_tables_in_a_notebook() -> None:
    lines = [ThreadLine(line, -1, 1, 3) for line in range(1, 2002)]
    html = of_source("def f(): 1\n", *lines)._repr_html_()
    assert html.endswith("</iframe>")
