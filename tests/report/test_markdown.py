"""Markdown: every text is shown as it is, and means nothing to a code host."""

from __future__ import annotations

import pytest
from markdown_reader import (
    HOSTILE,
    check_inert,
    code_in,
    drawings,
    headings,
    paragraphs,
    plain,
    tables,
)

from lineprof.console.terminal import PLAIN
from lineprof.report import markdown
from lineprof.report.markdown import DOCUMENT, MAX_CHARACTERS
from lineprof.report.text_grid import grid


def page(*lines: str) -> str:
    """Return a document."""
    return "".join(f"{line}\n" for line in markdown.document(lines))


@pytest.mark.parametrize("text", HOSTILE)
def test_code_has_the_text_itself(text: str) -> None:
    shown = f"before {markdown.code(text)} after\n"
    assert code_in(shown) == ([plain(text)] if plain(text).strip() else [])
    assert paragraphs(shown) == [f"before {plain(text) if text.strip() else ''} after"]
    check_inert(shown)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_cell_has_the_text_itself(text: str) -> None:
    rows = [["1", text, text], ["2", "a", f"{text} {text}"]]
    block = markdown.table(["N", "Name", "Line"], rows, words=2)
    shown = page("Before", block, "After")
    expected = [[cell if plain(cell).strip() else "" for cell in row] for row in rows]
    assert tables(shown) == [
        [["N", "Name", "Line"], *([*map(plain, row)] for row in expected)]
    ]
    assert paragraphs(shown) == ["Before", "After"]
    check_inert(shown)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_sentence_has_the_text_itself(text: str) -> None:
    if text == "`x`":
        pytest.skip("a name that a sentence has as code")
    words = " ".join(plain(text).split())
    long = words if len(words) <= 1000 else f"{plain(text)[:999]}…"
    for line in (text, f"The file {text}, which is {text}."):
        shown = page("Before", line, "After")
        check_inert(shown)
        if len(plain(line)) <= 1000:
            middle = " ".join(plain(line).split())
            assert paragraphs(shown) == [
                "Before",
                *([middle] if middle else []),
                "After",
            ]
    assert headings(f"{markdown.title(text)}\n") == [" ".join(long.split())]
    assert headings(f"{DOCUMENT.emphasized(text)}\n") == [" ".join(long.split())]
    check_inert(f"{markdown.title(text)}\n\n{markdown.listed([text])}\n")
    assert paragraphs(f"{markdown.listed([text, 'b'])}\n")[-1] == "b"


@pytest.mark.parametrize("text", HOSTILE)
def test_a_drawing_has_the_lines_themselves(text: str) -> None:
    shown = page(markdown.fenced(["a", text, "b"]), "After")
    line = plain(text).rstrip()
    line = line if len(line) <= 200 else f"{line[:199]}…"
    assert drawings(shown) == [f"a\n{line}\nb\n"]
    assert paragraphs(shown) == ["After"]
    check_inert(shown)


def test_words_without_another_meaning_stay_plain() -> None:
    line = (
        "In all: CPU time 90.17 ms before, +17.8 ms after (12.5 %), 5.1 times faster;"
        " waits 0 s, 3/4 of 2,000 calls, 1e-06 s, I/O of one's per-call H200 <= 3."
    )
    assert markdown.prose(line) == line
    assert code_in(markdown.prose("most at a.py:3 f_x, with --limit 3 (a_b)")) == [
        *("a.py:3", "f_x", "--limit 3", "a_b")
    ]
    assert markdown.prose("--limit 0 lists all") == "`--limit 0` lists all"
    assert markdown.prose("it makes `parts` again") == "it makes `parts` again"


def test_long_names_are_cut_in_the_middle_and_source_at_its_end() -> None:
    name, source = "n" * 300, "s" * 300
    titles = ["Time", "Function", "Line Contents"]
    (block,) = grid(titles, [["1", name, source]], DOCUMENT, words=2)
    ((_, row),) = tables(block)
    assert row == ["1", f"{'n' * 40}…{'n' * 39}", f"{'s' * 119}…"]


def test_a_document_is_no_longer_than_a_comment() -> None:
    rows = [[f"{number}", "|" * 100] for number in range(5000)]
    for lines in (
        [markdown.table(["N", "Line"], rows)],
        [*markdown.details("Tables", [markdown.table(["N", "Line"], rows)])],
        [*markdown.details("Tables", [markdown.fenced(["x" * 150] * 5000)])],
        ["a b c " * 100] * 5000,
        [markdown.fenced(["x" * 150] * 5000), "never"],
        [markdown.Block("x" * MAX_CHARACTERS), "never"],
    ):
        shown = page("First", *lines, "Last")
        assert MAX_CHARACTERS * (len(lines[0]) < MAX_CHARACTERS) * 0.95 < len(shown)
        assert len(shown) <= MAX_CHARACTERS
        assert "The rest is left out" in paragraphs(shown)[-1]
        assert "--" not in paragraphs(shown)[-1]  # no flag is taken everywhere
        assert shown.count("<details>") == shown.count("</details>")
        assert "Last" not in paragraphs(shown)
        check_inert(shown)
    shown = page(*[markdown.table(["N", "Line"], rows[:100])] * 2, "Last")
    assert [len(table) for table in tables(shown)] == [101, 101]
    assert paragraphs(shown) == ["Last"]


def test_a_document_is_no_terminal() -> None:
    assert DOCUMENT == PLAIN
    assert (DOCUMENT.width, DOCUMENT.colour, DOCUMENT.is_terminal) == (
        None,
        False,
        False,
    )


def test_documents_may_follow_each_other_in_a_file() -> None:
    parts = [*markdown.details("More", ["text"])]
    one = page(markdown.title("One"), markdown.table(["N", "L"], [["1", "x"]]), *parts)
    both = one + page(markdown.title("Two"))
    assert headings(both) == ["One", "Two"]
    long = page(*markdown.details("More", [markdown.fenced(["x" * 150] * 5000)]))
    assert headings(long + page(markdown.title("Two"))) == ["Two"]
    check_inert(long + both)
