"""A reader of Markdown: tables as a Markdown renderer sees them, and what is no text.

The renderer is markdown-it-py with HTML and the tables of GitHub Flavored Markdown. It
has no links of bare addresses, mentions and references, which code hosts find in the
rendered text outside of code: `check_inert` looks for them itself.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt

from lineprof.errors import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markdown_it.token import Token

READER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])

# Texts that are markup, links or commands somewhere, or break what is around them.
HOSTILE = (
    *(
        "a|b",
        r"a\|b",
        r"a\\|b",
        r"\|\|",
        r"x \| y",
        "|",
        "||",
        "| --- |",
        "\\",
        "\\`",
        "a\\",
    ),
    *("`", "``", "```", "`x`", "``x", "x`", "~~~", "````x````"),
    *("<b>x</b>", "<img src=x onerror=alert(1)>", "<script>", "<!--x-->", "</details>"),
    *("</summary>", "<details>", "&lt;", "&#60;b&#62;", "<http://evil.example>"),
    *("*em*", "**x**", "_em_", "__x__", "~~s~~", "==x==", "[^1]", "$x$", "$`x`$"),
    *("[x](javascript:alert(1))", "![x](http://evil.example/x.png)", "[x]: /url"),
    *(
        "http://evil.example/x",
        "www.evil.example",
        "www.",
        "WWW. x",
        "a@evil.example",
        "ftp://x",
    ),
    *("@octocat", "@org/team", "(@octocat)", "#123", "GH-12", "octo/cat#1", "ABC-1"),
    *("!12", "~label", "%1", "&1", ":smile:", "/close", "deadbeef1", "0123456abc"),
    *(
        "# h",
        "## h ##",
        "- item",
        "+ item",
        "* item",
        "1. item",
        "1) x",
        "> q",
        ">: q",
        ">",
    ),
    *("---", "===", "= =", "-", "+", "=", ">", "#", "    code", "\tcode", "1.", "1)"),
    *(
        "a\nb",
        "a\r\nb",
        "\n\n# h",
        "a\u2028b",
        "a\x85b",
        "a\x00b",
        "\x1b[31m",
        "\u202ea",
    ),
    *("\udc80", "a\udfffb", " a", "a ", " a ", " ` ", "\u00a0", "é", "日本語", "…"),
    *("x" * 5000, "|" * 300, "`" * 300, "<" * 300, "@a " * 900),
)

_OURS = re.compile(
    r"<!-- lineprof \w+ -->|</details>|<details><summary>[A-Z][a-z ]+</summary>"
)
_LINKED = re.compile(
    r"(?i)https?:|ftp:|www\.|\w@\w|@\w|#\w|\bGH-\d|[!~%$&]\w|:\w+:"
    r"|\b(?=\d*[a-f])[0-9a-f]{7,40}\b"
)
_TEXT = {"text", "softbreak", "code_inline"}


def plain(text: str) -> str:
    """Return what a reader sees of a text: controls and surrogates as escapes."""
    text = printable(text, keep="\t").expandtabs()
    text = re.sub("`{40,}", f"{'`' * 39}…", text)  # cmark has no longer ones than 80
    return text.encode("utf-8", "backslashreplace").decode()


def check_inert(text: str) -> None:
    """Fail if a document has markup, a link or a mention of a profile."""
    for token in _tokens(text):
        if token.type in {"html_block", "html_inline"}:
            assert all(map(_OURS.fullmatch, token.content.split("\n")[:-1])), token
        for child in token.children or ():
            assert child.type in _TEXT, child
            if child.type == "text":
                assert not _LINKED.search(child.content), child
        if token.type == "inline":
            assert not token.content.startswith("/"), token  # a command of GitLab
        assert not token.type.startswith(("code_block", "blockquote", "hr")), token
        assert not token.type.startswith("ordered_list"), token


def tables(text: str) -> list[list[list[str]]]:
    """Return the rows of each table, titles first, as the texts of their cells."""
    found: list[list[list[str]]] = []
    tokens = iter(_tokens(text))
    for token in tokens:
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            found[-1].append([])
        elif token.type in {"th_open", "td_open"}:
            found[-1][-1].append(shown(next(tokens)))
    return found


def headings(text: str) -> list[str]:
    """Return the texts of all headings."""
    return [
        shown(after)
        for token, after in pairwise(_tokens(text))
        if token.type == "heading_open"
    ]


def paragraphs(text: str) -> list[str]:
    """Return the texts of all paragraphs, and of the items of lists."""
    return [
        shown(after)
        for token, after in pairwise(_tokens(text))
        if token.type == "paragraph_open"
    ]


def drawings(text: str) -> list[str]:
    """Return what stands between fences."""
    return [token.content for token in _tokens(text) if token.type == "fence"]


def shown(token: Token) -> str:
    """Return the text that a reader sees of an inline token."""
    return "".join(child.content for child in token.children or ())


def code_in(text: str) -> list[str]:
    """Return the pieces of code in a document, which are not fenced."""
    return [child.content for child in _children(text) if child.type == "code_inline"]


def _children(text: str) -> Iterator[Token]:
    for token in _tokens(text):
        yield from token.children or ()


def _tokens(text: str) -> Sequence[Token]:
    return READER.parse(text)
