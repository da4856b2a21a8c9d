"""Markdown as GitHub's renderer (cmark-gfm) and GitLab's (comrak) show it.

Both find links of bare addresses, and differ from `markdown_reader` in long runs of
backticks and in backslashes before pipes.
"""

from __future__ import annotations

import random
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest
from markdown_reader import HOSTILE, plain

from lineprof.report import markdown

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.once

PIECES = (*"|\\`<>&*_[]()#@!~-+= \t$:/.a1", "\n", "é", "http://", "www.", "@x", "#1")
OURS = {
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "code",
    "p",
    "h3",
    "ul",
    "li",
    "pre",
}


class Reader(HTMLParser):
    """The elements of a document, and the texts of its cells."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.cells: list[str] = []
        self.elements: set[str] = set()
        self._in_cell = False

    def handle_starttag(self, tag: str, _: object) -> None:
        """Begin an element."""
        self.elements.add(tag)
        if tag in {"th", "td"}:
            self.cells.append("")
            self._in_cell = True

    def handle_endtag(self, tag: str) -> None:
        """End an element."""
        self._in_cell &= tag not in {"th", "td"}

    def handle_data(self, data: str) -> None:
        """Take text."""
        if self._in_cell:
            self.cells[-1] += data


def github() -> Callable[[str], str]:
    """Return the renderer of GitHub."""
    cmarkgfm = pytest.importorskip("cmarkgfm", reason="it has no wheel for this Python")
    unsafe = cmarkgfm.cmark.Options.CMARK_OPT_UNSAFE
    return lambda text: cmarkgfm.github_flavored_markdown_to_html(text, options=unsafe)


def gitlab() -> Callable[[str], str]:
    """Return the renderer of GitLab."""
    comrak = pytest.importorskip("comrak", reason="it has no wheel for this Python")
    extensions = comrak.ExtensionOptions()
    for name in ("table", "strikethrough", "autolink", "tasklist", "footnotes"):
        setattr(extensions, name, True)
    return lambda text: comrak.render_markdown(text, extension_options=extensions)


@pytest.mark.parametrize("host", [github, gitlab])
def test_a_code_host_shows_every_text_as_it_is(
    host: Callable[[], Callable[[str], str]],
) -> None:
    render = host()
    choose = random.Random(5).choices  # noqa: S311
    texts = ["".join(choose(PIECES, k=1 + n % 14)) for n in range(1500)]
    for text in (*HOSTILE, *texts):
        rows = [["1", text, text], ["2", "a", f"{text} {text}"]]
        blocks = [
            f"Before {text}",
            text,
            markdown.title(text),
            markdown.table(["N", "Name", "Line"], rows, words=2),
            markdown.listed([text]),
            markdown.fenced([text]),
        ]
        reader = Reader()
        reader.feed(render("\n".join(markdown.document(blocks))))
        cells = ["N", "Name", "Line", *rows[0], *rows[1]]
        expected = [plain(cell) if plain(cell).strip() else "" for cell in cells]
        assert reader.cells == expected, text
        assert reader.elements <= OURS, text
