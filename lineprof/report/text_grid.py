"""Grids of text: columns of numbers, columns of words, and the wording of numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from lineprof.console.terminal import box_characters_of
from lineprof.model.units import NANOSECOND, format_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lineprof.console.terminal import Terminal

MARK = "  (counted "  # the mark of a function that was switched off begins so

_GAP = "  "  # between two columns

_MIN_LAST_WIDTH = 24  # columns, if other words can be cut

_MIN_NAME_WIDTH = 40  # of the only column of words, if others can be left out

_MIN_INNER_WIDTH, _MAX_INNER_WIDTH = 12, 28  # of words with more words to their right

_DRAWN = re.compile(r"(\[\d+\] )?[│├└─|` -]*(:\d+ )?")  # before the name of a call

_MILLISECOND, _MICROSECOND = 1e6, 1e3  # ns


class TimeUnit(NamedTuple):
    """The unit of all times of one grid, so that they can be compared and added."""

    name: str
    ns: float

    def text(self, ns: float) -> str:
        """Return a time (ns) with three digits after the point."""
        return f"{ns / self.ns:.3f}"

    def titles(self, *titles: str) -> tuple[str, ...]:
        """Return the titles of columns of times."""
        return tuple(f"{title} ({self.name})" for title in titles)


def time_unit_for(times: Iterable[float]) -> TimeUnit:
    """Return milliseconds or, if all `times` (ns) are short, microseconds."""
    if max(times, default=0) < 10 * _MILLISECOND:
        return TimeUnit(name="us", ns=_MICROSECOND)
    return TimeUnit(name="ms", ns=_MILLISECOND)


def in_words(ns: float) -> str:
    """Return a time (ns) for a sentence: four digits and a unit."""
    return format_seconds(ns * NANOSECOND).strip()


def counted(count: int, noun: str) -> str:
    """Return a number of things: ``1 call``, ``2 calls``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def percent_of(ns: float, total_ns: float) -> float:
    """Return the share of `ns` in `total_ns`, in %; 0 if `total_ns` is 0."""
    return 100 * ns / total_ns if total_ns else 0.0


def percent(ns: float, total_ns: float) -> str:
    """Return the share of `ns` in `total_ns` as text: ``12.5 %``."""
    return f"{percent_of(ns, total_ns):.1f} %"


def grid(  # noqa: PLR0913  # all but the first three are rare
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    terminal: Terminal,
    *,
    words: int = 1,
    hot: Sequence[bool] = (),
    spare: Sequence[int] = (),
) -> Iterator[str]:
    """Yield `titles` and `rows` as aligned columns that fit the terminal.

    The last `words` columns are aligned to the left, the others to the right; every
    column has a title. Rows that are `hot` are emphasized. On a narrow terminal the
    columns with the indexes `spare` are left out, the first one first, and words are
    cut; numbers are not.
    """
    numbers = len(titles) - words
    table = [list(titles), *([*map(terminal.clean, row)] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table)]
    if terminal.width is not None:
        shown = _shown_columns(widths, numbers, terminal.width, spare)
        table = [[row[index] for index in shown] for row in table]
        numbers = sum(index < numbers for index in shown)
        widths = _fitted(
            [widths[index] for index in shown],
            [_min_width(column) for column in zip(*table)],
            numbers,
            terminal.width,
        )
    dots = box_characters_of(terminal).dots
    for number, row in enumerate(table):
        texts = [
            text.rjust(width) if column < numbers else cut(text, width, dots)
            for column, (text, width) in enumerate(zip(row[:-1], widths))
        ]
        last = row[-1]
        if len(row) == numbers + 1 and terminal.width is not None:
            last = _name_cut(last, widths[-1], terminal)
        texts.append(last)
        line = terminal.clipped(_GAP.join(texts).rstrip(), 0)
        is_hot = 0 < number <= len(hot) and hot[number - 1]
        yield terminal.emphasized(line) if is_hot else line


def _shown_columns(
    widths: Sequence[int], numbers: int, width: int, spare: Sequence[int]
) -> list[int]:
    """Return the indexes of the columns to show, for which others may be left out."""
    shown = list(range(len(widths)))
    for index in spare:
        inner = [one for one in shown[:-1] if one >= numbers]
        taken = sum(widths[one] for one in shown[:-1] if one < numbers)
        taken += sum(min(widths[one], _MAX_INNER_WIDTH) for one in inner)
        taken += len(_GAP) * (len(shown) - 1)
        wanted = _MIN_LAST_WIDTH if inner else _MIN_NAME_WIDTH
        if width - taken >= min(widths[-1], wanted):
            break
        shown.remove(index)
    return shown


def _min_width(texts: Iterable[str]) -> int:
    """Return the width to which words can be cut: marks stay whole."""
    marks = [len(text) - text.find(MARK) for text in texts if MARK in text]
    return max(marks, default=0) + _MIN_INNER_WIDTH


def _fitted(
    widths: Sequence[int], least: Sequence[int], numbers: int, width: int
) -> list[int]:
    """Return the widths of columns that fit; those of numbers stay as they are."""
    fitted = list(widths)
    inner = range(numbers, len(widths) - 1)
    for column in inner:
        fitted[column] = min(widths[column], max(_MAX_INNER_WIDTH, least[column]))
    room = width - sum(widths[:numbers]) - len(_GAP) * (len(widths) - 1)
    wanted = min(widths[-1], _MIN_LAST_WIDTH)
    while inner and sum(fitted[column] for column in inner) + wanted > room:
        widest = max(inner, key=lambda column: fitted[column] - least[column])
        if fitted[widest] <= least[widest]:
            break
        fitted[widest] -= 1
    fitted[-1] = max(0, room - sum(fitted[column] for column in inner))
    return fitted


def cut(text: str, width: int, dots: str) -> str:
    """Return a text in `width` columns, cut in its middle if it is longer.

    The mark of a function is not cut if there is any room for the name before it.
    """
    if len(text) <= width:
        return text.ljust(width)
    name, mark, rest = text.partition(MARK)
    room = width - len(mark) - len(rest)
    if mark and room >= _MIN_INNER_WIDTH:
        return f"{cut(name, room, dots)}{mark}{rest}"
    if width <= len(dots):
        return text[:width]
    kept = width - len(dots)
    return text[: kept - kept // 2] + dots + text[len(text) - kept // 2 :]


def more_rows(count: int) -> Iterator[str]:
    """Yield how many rows of a grid are left out, if any."""
    if count:
        yield ""
        yield f"{count} more {'is' if count == 1 else 'are'} not shown"


def _name_cut(text: str, width: int, terminal: Terminal) -> str:
    """Return a name that fits, cut in its middle, and the source after it, if any.

    What is drawn before the name of a call, and the line of the call, stay.
    """
    characters = box_characters_of(terminal)
    name = text.partition(f"  {characters.arrow} ")[0]
    if len(name) <= width:
        return text
    before = _DRAWN.match(name)
    start = before.end() if before else 0
    if width - start < _MIN_INNER_WIDTH:
        return text
    return name[:start] + cut(name[start:], width - start, characters.dots)
