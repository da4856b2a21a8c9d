"""Grids of text: columns of numbers, columns of words, and the wording of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lineprof.console.terminal import box_characters_of
from lineprof.model.units import NANOSECOND, format_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lineprof.console.terminal import Terminal

MARK = "  (counted "  # the mark of a function that was switched off begins so

_GAP = "  "  # between two columns

_MIN_LAST_WIDTH = 24  # columns; if less is left, lines are wrapped and not cut

_MAX_INNER_WIDTH = 28  # columns, of words with more words to their right

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


def grid(
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    terminal: Terminal,
    *,
    words: int = 1,
    hot: Sequence[bool] = (),
) -> Iterator[str]:
    """Yield `titles` and `rows` as aligned columns.

    The last `words` columns are aligned to the left, the others to the right; every
    column has a title. Rows that are `hot` are emphasized.
    """
    numbers = len(titles) - words
    inner = range(numbers, len(titles) - 1)
    rows = [
        [
            _shortened(text, terminal) if index in inner else text
            for index, text in enumerate(row)
        ]
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(titles, *rows)]
    start = sum(widths[:-1]) + len(_GAP) * (len(titles) - 1)
    if terminal.width is not None and terminal.width - start < _MIN_LAST_WIDTH:
        terminal = terminal._replace(width=None)
    for number, row in enumerate([titles, *rows]):
        texts = [
            text.rjust(width) if column < numbers else text.ljust(width)
            for column, (text, width) in enumerate(zip(row, widths))
        ]
        line = terminal.clipped(_GAP.join(texts).rstrip(), 0)
        is_hot = 0 < number <= len(hot) and hot[number - 1]
        yield terminal.emphasized(line) if is_hot else line


def more_rows(count: int) -> Iterator[str]:
    """Yield how many rows of a grid are left out, if any."""
    if count:
        yield ""
        yield f"{count} more {'is' if count == 1 else 'are'} not shown"


def _shortened(text: str, terminal: Terminal) -> str:
    """Return a text of an inner column of words, cut so that the next ones fit."""
    text, mark, rest = terminal.clean(text).partition(MARK)  # which stays whole
    if terminal.width is not None and len(text) > _MAX_INNER_WIDTH:
        dots = box_characters_of(terminal).dots
        text = text[: _MAX_INNER_WIDTH - len(dots)] + dots
    return text + mark + rest
