"""Columns of numbers, as wide as their widest text, with words at their end."""

from __future__ import annotations

from typing import NamedTuple

from lineprof.units import NANOSECOND, readable
from lineprof.views.glyphs import glyphs_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lineprof.views.screen import Screen

_GAP = "  "
_LEAST_WORDS = 24  # columns of a terminal; else lines are wrapped and not cut
_WIDEST_NAME = 28  # the same, where more words follow
_MILLISECOND, _MICROSECOND = 1e6, 1e3  # ns
_ALL = 100  # %


class Times(NamedTuple):
    """Times of one table, all in one unit: so they can be compared, and added."""

    unit: str
    ns: float  # in one of them

    def text(self, ns: float) -> str:
        """Return a time (ns) with three digits after the point."""
        return f"{ns / self.ns:.3f}"

    def titles(self, *titles: str) -> tuple[str, ...]:
        """Return the titles of columns of times."""
        return tuple(f"{title} ({self.unit})" for title in titles)


def times_for(longest: Iterable[float]) -> Times:
    """Return milliseconds or, where all times (ns) are short, microseconds."""
    if max(longest, default=0) < 10 * _MILLISECOND:
        return Times("us", _MICROSECOND)
    return Times("ms", _MILLISECOND)


def in_words(ns: float) -> str:
    """Return a time (ns) for a sentence: four digits and a unit."""
    return readable(ns * NANOSECOND).strip()


def counted(count: int, what: str) -> str:
    """Return a number of things, which are called `what` if there is one."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def percent_of(ns: float, whole: float) -> float:
    """Return the share of a time in another one, in %; of nothing it is 0."""
    return _ALL * ns / whole if whole else 0.0


def percent(ns: float, whole: float) -> str:
    """Return that as text."""
    return f"{percent_of(ns, whole):.1f} %"


def grid(
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    screen: Screen,
    *,
    words: int = 1,
    hot: Sequence[bool] = (),
) -> Iterator[str]:
    """Yield `titles` and `rows` below one another.

    The last `words` columns begin below one another, the others end so; no
    column of all is without a title. Rows that are `hot` are emphasized.
    """
    numbers = len(titles) - words
    inner = range(numbers, len(titles) - 1)
    rows = [
        [_short(text, screen) if at in inner else text for at, text in enumerate(row)]
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(titles, *rows)]
    start = sum(widths[:-1]) + len(_GAP) * (len(titles) - 1)
    if screen.width is not None and screen.width - start < _LEAST_WORDS:
        screen = screen._replace(width=None)
    for place, row in enumerate([titles, *rows]):
        texts = [
            text.rjust(width) if column < numbers else text.ljust(width)
            for column, (text, width) in enumerate(zip(row, widths))
        ]
        line = screen.clipped(_GAP.join(texts).rstrip(), 0)
        is_hot = 0 < place <= len(hot) and hot[place - 1]
        yield screen.emphasized(line) if is_hot else line


def _short(text: str, screen: Screen) -> str:
    """Return a text that others follow, cut where it leaves them no room."""
    text = screen.clean(text)
    if screen.width is None or len(text) <= _WIDEST_NAME:
        return text
    dots = glyphs_of(screen).dots
    return text[: _WIDEST_NAME - len(dots)] + dots
