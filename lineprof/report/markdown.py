"""Markdown of reports, as GitHub and GitLab show it in summaries and comments.

A view that is given a `Document` in place of a terminal yields tables, headings and
drawings as `Block`s, and sentences as text; `document` makes the lines of a file of it.

A word of a sentence that is more than letters or a number becomes code, and so do
names, places and source: in code there are no links, mentions (``@name``), references
(``#1``), quick actions of GitLab, or HTML. What is escaped is what GitHub Flavored
Markdown (https://github.github.com/gfm/, 4.10 and 6.3) gives a meaning: pipes in
tables, in code too, and backticks, by a longer fence.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lineprof.console.terminal import Terminal, box_characters_of
from lineprof.errors import printable, without_surrogates

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

# GitHub takes 65,536 characters in a comment and 1 MiB in a step's summary, GitLab a
# million characters in a note.
MAX_CHARACTERS = 60_000

_MAX_SENTENCE, _MAX_DRAWN = 1000, 200  # characters, of a sentence and a drawn line

_REST = (
    "The rest is left out, because a comment takes no more: other forms of this report"
    " have all"
)

_RESERVED = len(_REST) + 200  # characters, with the ends of what is open

# Patterns are compiled at their first use: every view imports this module, and few
# reports are Markdown.

_TICKS, _CODE = "`+", "`([^`]+)`"

_MAX_TICKS = 40  # side by side; cmark, GitHub's renderer, closes no longer ones than 80
_MANY_TICKS = rf"`{{{_MAX_TICKS},}}"

# Words that Markdown and the code hosts take for nothing else, without the punctuation
# around them: numbers, and letters with single hyphens, apostrophes and strokes.
_PUNCTUATED = r"""(?s)([("']*)(.*?)([)"',;:.!?]*)"""
_DIGITS, _LETTERS = r"\d[\d,.]*", r"[^\W\d_]+"
_PLAIN = (
    rf"[+-]?{_DIGITS}(?:(?:[-/]|e[+-]){_DIGITS})?(?:%|[^\W\d_]{{1,2}})?"
    rf"|{_LETTERS}(?:[-'/]{_LETTERS})*|[^\W_]+"
    r"|[-+=%<>→…·—]|<=|>=|->|\.\.\."
)
# By GitHub: an address that begins so, and a commit.
_LINKED = r"(?i)www|(?=.*[a-f])[0-9a-f]{7,40}"
_STARTS_BLOCK = r"[-+=>](?!\d).*|\d+[.)]"  # as the first word of a line

_FLAG_AND_NUMBER = r"`(--[a-z-]+)` (\d+)(?=\s|$)"

_ESCAPED_PIPE = r"(?<=\\)\|"


class Block(str):
    """A block of Markdown, of one or more lines, whose texts are escaped."""

    __slots__ = ()


class Document(Terminal):
    """A Markdown document in place of a terminal."""

    __slots__ = ()

    def clean(self, text: str) -> str:
        """Return `text` in one line, with escapes for what no document can have."""
        return _clean(text)

    def emphasized(self, line: str) -> str:
        """Return a heading of a section."""
        return Block(f"#### {prose(line, inside=True)}")


def title(text: str) -> Block:
    """Return the first heading of a document."""
    return Block(f"### {prose(text, inside=True)}")


def marker(name: str) -> Block:
    """Return a comment that nobody sees, by which a program finds its document."""
    return Block(f"<!-- lineprof {name} -->")


def code(text: str, *, inside: bool = False) -> str:
    """Return `text` as code, "" for blanks.

    A cell can have it, which is `inside`: there a pipe behind a backslash stands
    between two pieces of code, because renderers do not agree how to escape it.
    """
    text = _clean(text)
    if inside and r"\|" in text:
        return "&#124;".join(map(code, re.split(_ESCAPED_PIPE, text)))
    if not text.strip():
        return ""
    ticks = _ticks([text], least=1)
    # One blank at both ends is taken away where there is one at both.
    has_pads = "`" in {text[0], text[-1]} or text[0] == text[-1] == " "
    pad = " " if has_pads else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def prose(text: str, *, inside: bool = False) -> str:
    """Return a sentence, with code for each word that may have another meaning.

    It starts a line, unless it is `inside` of a heading or a cell.
    """
    words = _cut(_clean(text), _MAX_SENTENCE).split()
    done = [_word(word, inside=inside) for word in words]
    if done and not inside and re.fullmatch(_STARTS_BLOCK, done[0]):
        done[0] = code(done[0])
    return re.sub(_FLAG_AND_NUMBER, r"`\1 \2`", " ".join(done))


def _word(word: str, *, inside: bool) -> str:
    before, core, after = re.fullmatch(_PUNCTUATED, word).groups()  # type: ignore[union-attr]
    if "(" in core and after.startswith(")"):
        core, after = f"{core})", after[1:]
    is_linked = re.fullmatch(_LINKED, core)
    if not core or (re.fullmatch(_PLAIN, core) and not is_linked):
        return word
    is_code = re.fullmatch(_CODE, core)  # as sentences write it already
    text = is_code[1] if is_code else core
    return f"{before}{code(text, inside=inside)}{after}"


def table(
    titles: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    words: int = 1,
    sentences: Collection[int] = (),
) -> Block:
    """Return a table, whose last `words` columns are code, but for the `sentences`.

    The `titles` are words of ours.
    """
    numbers = len(titles) - words
    plain = {*range(numbers), *sentences}
    lines = [
        titles,
        ["--:" if index < numbers else ":--" for index in range(len(titles))],
        *(
            [
                prose(text, inside=True) if index in plain else code(text, inside=True)
                for index, text in enumerate(row)
            ]
            for row in rows
        ),
    ]
    escaped = ([cell.replace("|", r"\|") for cell in line] for line in lines)
    return Block("\n".join(f"| {' | '.join(line)} |" for line in escaped))


def fenced(lines: Iterable[str]) -> Block:
    """Return lines as they are, in one letter width."""
    shown = [_cut(_clean(line).rstrip(), _MAX_DRAWN) for line in lines]
    fence = _ticks(shown, least=3)
    return Block("\n".join([f"{fence}text", *shown, fence]))


def listed(sentences: Iterable[str]) -> Block:
    """Return sentences as a list."""
    return Block("\n".join(f"- {prose(one)}" for one in sentences))


def details(summary: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield `lines` as a part that is closed at first; `summary` is a word of ours."""
    yield Block(f"<details><summary>{summary}</summary>")
    yield from lines
    yield _END


_END = Block("</details>")


def document(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a document of at most `MAX_CHARACTERS`.

    `lines` are blocks, and sentences, each of which is a paragraph. What does not fit
    is left out, as a sentence says. The last line is blank, so that another document
    may follow in the same file.
    """
    room, opened = MAX_CHARACTERS - _RESERVED, 0
    for line in lines:
        block = line if isinstance(line, Block) else prose(line)
        if not block:
            continue
        kept = _fitting(block.split("\n"), room)
        yield from kept
        if kept:
            yield ""
        if len("\n".join(kept)) < len(block):
            yield from (_REST, "", *[_END, ""] * opened)
            return
        room -= len(block) + 2
        opened += block.startswith("<details>") - (block is _END)


def _fitting(lines: Sequence[str], room: int) -> Sequence[str]:
    """Return the first lines of a block that fit, and its end if that is a fence."""
    used, count = 2, 0
    while count < len(lines) and used + len(lines[count]) + 1 <= room:
        used += len(lines[count]) + 1
        count += 1
    is_fenced = len(lines) > 1 and lines[0].startswith("```")
    if count == len(lines) or not count:
        return lines[:count]
    return [*lines[:count], lines[-1]] if is_fenced else lines[:count]


def _clean(text: str) -> str:
    text = printable(text, keep="\t").expandtabs()
    text = re.sub(_MANY_TICKS, "`" * (_MAX_TICKS - 1) + "…", text)
    return without_surrogates(text)


def _cut(text: str, width: int) -> str:
    """Return a text with dots at its end if it is longer than `width`."""
    if len(text) <= width:
        return text
    dots = box_characters_of(DOCUMENT).dots
    return text[: width - len(dots)] + dots


def _ticks(texts: Iterable[str], *, least: int) -> str:
    """Return more backticks than stand side by side in one of `texts`."""
    runs = [len(run) for text in texts for run in re.findall(_TICKS, text)]
    return "`" * max([least, *(size + 1 for size in runs)])


DOCUMENT = Document()
