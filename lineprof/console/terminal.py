"""What the reader's output can show: its width, its colours, its characters."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from lineprof.errors import DIRECTION_MARKS, printable

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TextIO


# The characters that trees and trails are drawn with, or their like in ASCII.


class BoxCharacters(NamedTuple):
    """One set of them: the first four are as wide as one another."""

    tee: str  # before a branch that others follow
    elbow: str  # before the last one
    bar: str  # beside what is below the former
    blank: str  # beside what is below the latter
    arrow: str
    dots: str  # for what is left out


_BOX_CHARACTERS = BoxCharacters("├─ ", "└─ ", "│  ", "   ", "→", "…")

_ASCII = BoxCharacters("|- ", "`- ", "|  ", "   ", "->", "...")


def box_characters_of(screen: Terminal) -> BoxCharacters:
    """Return those that `screen` can show."""
    return _BOX_CHARACTERS if screen.boxes else _ASCII


_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"

_BOX_SAMPLE = "│├└─→…"


class Terminal(NamedTuple):
    """A terminal, or (as made without arguments) a pipe, file or string."""

    terminal: bool = False
    width: int | None = None  # in columns; None: nothing is clipped
    colour: bool = False
    boxes: bool = True  # its encoding has what trees are drawn with

    def clean(self, text: str) -> str:
        r"""Return `text` without characters that would act on a terminal.

        They come as escapes (``\x1b``), into a pipe, too, for its other end
        is often a terminal. There tabs, form feeds and the marks of writing
        direction stay; on a terminal tabs become blanks.
        """
        if self.terminal:
            return printable(text, keep="\t").expandtabs()
        return printable(text, keep="\t\f" + DIRECTION_MARKS)

    def clipped(self, text: str, column: int) -> str:
        """Return of `text`, that starts at `column` (from 0), what fits the line."""
        text = self.clean(text)
        if self.width is None:
            return text
        room = max(0, self.width - column)
        return text[:room] if text.isascii() else _fitting(text, room)

    def emphasized(self, line: str) -> str:
        """Return `line` in bold where that can be shown."""
        return f"{_BOLD}{line}{_PLAIN}" if self.colour else line


PLAIN = Terminal()


def terminal_of(stream: TextIO) -> Terminal:
    """Return what `stream` can show.

    NO_COLOR (not empty) and TERM=dumb turn colour off; COLUMNS, where it is
    a number, is the width.
    """
    try:
        terminal = stream.isatty()
    except (AttributeError, ValueError):  # any object that can write; a closed one
        terminal = False
    boxes = _has_boxes(stream)
    if not terminal:
        return PLAIN if boxes else Terminal(boxes=False)
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    width = _width(stream)
    return Terminal(terminal=True, width=width, colour=not plain, boxes=boxes)


def _has_boxes(stream: TextIO) -> bool:
    """Tell whether the encoding of `stream`, if it has any, has `_BOXES`."""
    encoding = getattr(stream, "encoding", None)
    try:
        _BOX_SAMPLE.encode(encoding or "utf-8")
    except (LookupError, TypeError, ValueError):
        return False
    return True


def _width(stream: TextIO) -> int | None:
    """Return the terminal's width in columns, or None if it does not say."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size(stream.fileno()).columns or None
    except (AttributeError, OSError, ValueError):
        return None


def _fitting(text: str, room: int) -> str:
    """Return the longest start of `text` that takes at most `room` columns."""
    import unicodedata  # noqa: PLC0415  # most sources are ASCII

    used = 0
    for place, char in enumerate(text):
        if unicodedata.category(char) in {"Mn", "Me", "Cf"}:
            continue  # drawn onto the one before, or not at all
        used += 2 if unicodedata.east_asian_width(char) in "WF" else 1
        if used > room:
            return text[:place]
    return text


def write_lines(lines: Iterable[str], stream: TextIO) -> None:
    r"""Write `lines` to `stream`; what its encoding lacks comes as ``\u2014``."""
    encoding = getattr(stream, "encoding", None)
    for line in lines:
        if encoding and not line.isascii():
            line = line.encode(encoding, "backslashreplace").decode(encoding)  # noqa: PLW2901
        stream.write(f"{line}\n")
