"""Coloured rows for terminals, by the package rich, which may not be there."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple

from lineprof.console.terminal import box_characters_of
from lineprof.model.units import NANOSECOND, format_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console  # type: ignore[import-not-found,unused-ignore]
    from rich.style import Style  # type: ignore[import-not-found,unused-ignore]

    from lineprof.console.terminal import Terminal


# Columns of numbers, as wide as their widest text, with words at their end.


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
    return format_seconds(ns * NANOSECOND).strip()


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
    screen: Terminal,
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


def _short(text: str, screen: Terminal) -> str:
    """Return a text that others follow, cut where it leaves them no room."""
    text = screen.clean(text)
    if screen.width is None or len(text) <= _WIDEST_NAME:
        return text
    dots = box_characters_of(screen).dots
    return text[: _WIDEST_NAME - len(dots)] + dots


_THEME = "ansi_dark"  # the colours that the terminal's own palette has

_LINK = "\x1b]8;;{}\x1b\\"

_SHARES = ((50, "bold red"), (20, "bold yellow"))  # % of the function: how it looks


def painter() -> Painter | None:
    """Return what colours rows; None where rich is not there or not sound."""
    try:
        # What rich is made of draws random numbers: the program is to miss none.
        numbers = sys.modules.get("random")
        state = numbers.getstate() if numbers is not None else None
        try:
            from rich.console import Console  # noqa: PLC0415  # optional
        finally:
            if numbers is not None:
                numbers.setstate(state)
        return Painter(Console(force_terminal=True, legacy_windows=False))
    except Exception:  # noqa: BLE001  # the program may have a module of that name
        return None


class Painter:
    """Colours rows for one terminal; the texts that it is given are all printable."""

    def __init__(self, console: Console) -> None:
        """Take the console that knows the terminal's colours."""
        from rich.style import Style  # noqa: PLC0415
        from rich.syntax import Syntax  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415

        self._syntax = Syntax
        self._console = console
        self._heading = Style.parse("bold")
        self._dim = Style.parse("dim")
        self._shares = [(least, Style.parse(look)) for least, look in _SHARES]

    def heading(self, text: str) -> str:
        """Return the titles of the columns."""
        return self._styled(text, self._heading)

    def row(self, start: str, share: float) -> str:
        """Return a row up to its source; `share` (%) is what its line took."""
        for least, style in self._shares:
            if share >= least:
                return self._styled(start, style)
        number = start[: len(start) - len(start.lstrip())]
        number += start.split(None, 1)[0]
        return self._styled(number, self._dim) + start[len(number) :]

    def place(self, text: str, file: str) -> str:
        """Return a text that speaks of `file` and leads there."""
        from urllib.parse import quote  # noqa: PLC0415  # no other view needs it

        if not os.path.isabs(file):
            file = os.path.join(os.getcwd(), file)
        if not os.path.exists(file):
            return text
        # Not by a Style with a link: it draws from the program's random numbers.
        link = quote(os.fsencode(file))
        return f"{_LINK.format(f'file://{link}')}{text}{_LINK.format('')}"

    def source(
        self, file: str, whole: Sequence[str], sizes: Sequence[int]
    ) -> Sequence[str] | None:
        """Return the starts, of these `sizes`, of lines; None where that fails."""
        language = "cython" if file.endswith((".pyx", ".pxd", ".pxi")) else "python"
        try:
            syntax = self._syntax(
                "", language, theme=_THEME, background_color="default"
            )
            text = syntax.highlight("\n".join(whole))
            lines = text.split("\n", allow_blank=True)[: len(whole)]
            if [line.plain for line in lines] != list(whole):
                return None
            return [
                "".join(
                    self._styled(part.text, part.style)
                    for part in line[:size].render(self._console)
                )
                if size
                else ""
                for line, size in zip(lines, sizes)
            ]
        except Exception:  # noqa: BLE001  # source can be any text
            return None

    def _styled(self, text: str, style: Style | None) -> str:
        """Return `text` with the escapes of `style` around it."""
        if style is None:
            return text
        system = self._console._color_system  # noqa: SLF001  # public is its name alone
        return str(style.render(text, color_system=system))
