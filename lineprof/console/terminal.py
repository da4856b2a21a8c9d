"""Terminals and other output streams: their width, colours and characters."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, NamedTuple

from lineprof.console.output import Styled, clean_line
from lineprof.errors import printable

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TextIO

_BOLD, _DIM = "1", "2"  # SGR

_RESET = "\x1b[0m"

# Looks of a row by the minimum share (%) of its time in the whole.
_HEAT = ((50, "1;31"), (20, "1;33"), (5, "32"))

_PLACES = re.compile(r"\(?[^\s()]+\.py\w?:\d+\)?")  # file.py:12

_MAX_SIZE_DIGITS = 9


class Terminal(NamedTuple):
    """A terminal, or (as made without arguments) a pipe, file or string."""

    is_terminal: bool = False
    width: int | None = None  # in columns; None: nothing is clipped
    colour: bool = False
    boxes: bool = True  # its encoding has the characters of `BoxCharacters`

    def clean(self, text: str) -> str:
        r"""Return `text` without characters that would act on a terminal.

        They become escapes (``\x1b``). In a pipe tabs stay, on a terminal they
        become blanks.
        """
        text = printable(text, keep="\t")
        return text.expandtabs() if self.is_terminal else text

    def clipped(self, text: str, column: int) -> str:
        """Return the part of `text` that fits the line from `column` (from 0) on."""
        text = self.clean(text)
        if self.width is None:
            return text
        room = max(0, self.width - column)
        return text[:room] if text.isascii() else _fitting(text, room)

    def cut(self, text: str, column: int) -> str:
        """Return `clipped` text with dots at its end if it does not fit."""
        text = self.clean(text)
        shown = self.clipped(text, column)
        dots = box_characters_of(self).dots
        if shown == text or len(shown) <= len(dots):
            return shown
        return self.clipped(text, column + len(dots)) + dots

    def emphasized(self, line: str) -> str:
        """Return `line`, in bold if the terminal has colours."""
        if not self.colour:
            return line
        return self.coloured([(line, _BOLD)])

    def coloured(self, parts: Iterable[tuple[str, str]]) -> str:
        """Return a line of texts, each in a colour (of SGR, "" for none) behind it."""
        return Styled(
            "".join(self._in(colour, clean_line(text)) for text, colour in parts)
        )

    def _in(self, colour: str, text: str) -> str:
        """Return clean `text` in a colour, if the terminal has colours."""
        return f"\x1b[{colour}m{text}{_RESET}" if self.colour and colour else text

    def heated(self, numbers: str, share: float, rest: str = "") -> str:
        """Return `numbers` in the colour of the `share` (%) of their time, and `rest`.

        Files with a line in `rest` are dim.
        """
        if not self.colour:
            return numbers + rest
        look = next((look for least, look in _HEAT if share >= least), "")
        rest = _PLACES.sub(lambda place: self._in(_DIM, place[0]), clean_line(rest))
        return Styled(self._in(look, clean_line(numbers)) + rest)


PLAIN = Terminal()


def terminal_of(stream: TextIO) -> Terminal:
    """Return the terminal behind `stream`, or PLAIN if there is none.

    NO_COLOR (not empty) and TERM=dumb turn colour off; COLUMNS, if it is a
    number, is the width.
    """
    try:
        is_terminal = stream.isatty()
    except (AttributeError, ValueError):  # any object that can write; a closed one
        is_terminal = False
    boxes = _has_boxes(stream)
    if not is_terminal:
        return PLAIN if boxes else Terminal(boxes=False)
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return Terminal(
        is_terminal=True, width=_width(stream), colour=not plain, boxes=boxes
    )


def has_user() -> bool:
    """Return whether a user reads standard output, and gives keys."""
    ends = (sys.stdin, sys.stdout)
    return all(one is not None and terminal_of(one).is_terminal for one in ends)


def _has_boxes(stream: TextIO) -> bool:
    """Return whether the encoding of `stream` has the box characters."""
    encoding = getattr(stream, "encoding", None)
    try:
        "".join(_BOX_CHARACTERS).encode(encoding or "utf-8")
    except (LookupError, TypeError, ValueError):
        return False
    return True


def size_in(variable: str) -> int | None:
    """Return the number in COLUMNS or LINES; None if it is none for a terminal."""
    text = os.environ.get(variable, "")
    is_number = text.isdecimal() and len(text) <= _MAX_SIZE_DIGITS
    return int(text) if is_number else None


def _width(stream: TextIO) -> int | None:
    """Return the terminal's width in columns, or None if it is unknown."""
    columns = size_in("COLUMNS")
    if columns:
        return columns
    try:
        return os.get_terminal_size(stream.fileno()).columns or None
    except (AttributeError, OSError, ValueError):
        return None


def _fitting(text: str, room: int) -> str:
    """Return the longest start of `text` that takes at most `room` columns."""
    import unicodedata  # noqa: PLC0415  # most sources are ASCII

    used = 0
    for index, char in enumerate(text):
        if unicodedata.category(char) in {"Mn", "Me", "Cf"}:
            continue  # drawn onto the character before it, or not at all
        used += 2 if unicodedata.east_asian_width(char) in "WF" else 1
        if used > room:
            return text[:index]
    return text


def write_lines(lines: Iterable[str], stream: TextIO) -> None:
    r"""Write `lines` to `stream`, each without characters that act on a terminal.

    All views go through here: see `clean_line`. Characters that the encoding of
    `stream` lacks become escapes (``\u2014``).
    """
    encoding = getattr(stream, "encoding", None)
    for line in map(clean_line, lines):
        if encoding and not line.isascii():
            line = line.encode(encoding, "backslashreplace").decode(encoding)  # noqa: PLW2901
        stream.write(f"{line}\n")


class BoxCharacters(NamedTuple):
    """The characters of trees, call paths and bars; the first four have one width."""

    tee: str  # before a branch that others follow
    elbow: str  # before the last one
    bar: str  # beside the branches below a tee
    blank: str  # beside the branches below an elbow
    arrow: str
    dots: str  # in place of something left out
    fills: str  # one character for each part of a bar
    levels: str  # of a curve, from nothing to the whole height


_BOX_CHARACTERS = BoxCharacters(
    "├─ ", "└─ ", "│  ", "   ", "→", "…", "█▓▒▚▞░·", " ▁▂▃▄▅▆▇█"
)

_ASCII = BoxCharacters("|- ", "`- ", "|  ", "   ", "->", "...", "#%=~+-.", " .:-=+*#@")


def box_characters_of(terminal: Terminal) -> BoxCharacters:
    """Return the box characters that `terminal` can show, else ones in ASCII."""
    return _BOX_CHARACTERS if terminal.boxes else _ASCII
