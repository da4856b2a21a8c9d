"""The table of one function, byte for byte as line_profiler 5.1 prints it.

More columns can stand beside those of line_profiler.
"""

from __future__ import annotations

from lineprof.values import Value, replace
from lineprof.views.screen import PIPE, Screen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

_MOST_BLANK_ROWS = 100_000  # where source is missing; no function is that long
_HOT_PERCENT = 20
_LEAST_SOURCE = 24  # columns of it; else lines are wrapped and not cut


class Line(Value):
    """What is known of one line; its times are in ticks of the profile's unit."""

    number: int
    hits: int
    time: float
    awaited: float = 0


class Beside(Value):
    """More columns of one function, and lines below its own; made elsewhere."""

    columns: tuple[tuple[str, int], ...]  # title and least width
    texts: Mapping[int, Sequence[str]]  # by line number, one for each column
    below: Mapping[int, Sequence[str]]  # what stands under the source of a line
    hot: frozenset[int] = frozenset()  # lines to emphasize


class Function(Value):
    """One function to show; times in ticks of the profile's unit."""

    file: str
    line: int
    name: str
    lines: tuple[Line, ...]
    total: float  # wall time counted once; more in the lines if it recursed
    beside: Beside = Beside((), {}, {})
    gpu_ns: int = 0  # with all that it called
    wait_ns: int = 0  # for a GPU

    @property
    def ran(self) -> bool:
        """Tell whether any of its lines did."""
        if self.beside.texts:
            return True
        return any(line.hits or line.time for line in self.lines)


class Scale(Value):
    """The units of a table: from ticks to what is printed."""

    unit: float  # seconds in a tick
    output_unit: float  # seconds in the unit of the columns
    sum: float = 0  # of a function's lines, in ticks

    def time(self, ticks: float) -> float:
        """Return `ticks` in the output unit."""
        return ticks * (self.unit / self.output_unit)

    def percent(self, ticks: float) -> float | None:
        """Return the share of the function, if it took any time."""
        return 100 * ticks / self.sum if self.sum else None


class Column(Value):
    """One column: its title and width, and the text of a line in it."""

    title: str
    width: int
    text: Callable[[Line, Scale], str]
    grows: bool = True  # as wide as its widest text


def decimal(number: float, width: int) -> str:
    """Return one digit after the point, or three digits where that is too wide."""
    text = f"{number:5.1f}"
    return text if len(text) <= width else f"{number:5.3g}"


def _hits(line: Line, _: Scale) -> str:
    text = f"{line.hits:d}"
    return text if len(text) <= HITS.width else f"{line.hits:g}"


def _time(line: Line, scale: Scale) -> str:
    return decimal(scale.time(line.time), TIME.width)


def _per_hit(line: Line, scale: Scale) -> str:
    if not line.hits:  # time after a resume, or of a statement's inner line
        return ""
    return decimal(scale.time(line.time) / line.hits, PER_HIT.width)


def _percent(line: Line, scale: Scale) -> str:
    percent = scale.percent(line.time)
    return "" if percent is None else f"{percent:5.1f}"


def _awaited(line: Line, scale: Scale) -> str:
    return decimal(scale.time(line.awaited), AWAIT.width) if line.awaited else ""


NUMBER = Column("Line #", 6, lambda line, _: str(line.number), grows=False)
HITS = Column("Hits", 9, _hits)
TIME = Column("Time", 12, _time)
PER_HIT = Column("Per Hit", 8, _per_hit)
PERCENT = Column("% Time", 8, _percent, grows=False)
AWAIT = Column("Await", 12, _awaited)

COLUMNS = (HITS, TIME, PER_HIT, PERCENT)
EXTRA_COLUMNS = {"await": AWAIT}


class Table(Value):
    """How tables are laid out and scaled."""

    scale: Scale
    columns: tuple[Column, ...] = COLUMNS
    screen: Screen = PIPE

    def of(self, function: Function, block: Sequence[str] | None) -> Iterator[str]:
        """Yield the lines about one function; `block` is None for no source."""
        yield f"Total time: {function.total * self.scale.unit:g} s"
        yield from self._heading(function, found=block is not None)
        yield ""
        yield from self._rows(function, block)
        yield ""

    def _heading(self, function: Function, *, found: bool) -> Iterator[str]:
        file = self.screen.clean(function.file)
        if found:
            name = self.screen.clean(function.name)
            yield f"File: {file}"
            yield f"Function: {name} at line {function.line}"
        else:
            yield ""
            yield f"Could not find file {file}"
            yield "Are you sure you are running this program from the same directory"
            yield "that you ran the profiler from?"
            yield "Continuing without the function's contents."

    def _rows(self, function: Function, block: Sequence[str] | None) -> Iterator[str]:
        scale = Scale(
            self.scale.unit,
            self.scale.output_unit,
            sum(line.time for line in function.lines),
        )
        beside = function.beside
        columns = [(c.title, c.width, c.grows) for c in self.columns]
        columns += [(title, width, True) for title, width in beside.columns]
        cells = self._cells(function, scale)
        widths = _widths(columns, cells.values())
        start = _row(NUMBER.title, [c[0] for c in columns], widths)
        header = f"{start}Line Contents"
        screen = self._screen(beside, len(start))
        yield screen.clipped(header, 0)
        yield screen.clipped("=" * len(header), 0)
        blank = [""] * len(columns)
        hot = self._hot(function, scale)
        for number, text in _numbered(function, block):
            start = _row(str(number), cells.get(number, blank), widths)
            line = start + screen.clipped(text, len(start))
            yield screen.emphasized(line) if number in hot else line
            for more in beside.below.get(number, ()):
                yield " " * len(start) + screen.clipped(more, len(start))

    def _screen(self, beside: Beside, start: int) -> Screen:
        """Return the screen, without end where more columns leave no source on it."""
        width = self.screen.width
        if beside.columns and width is not None and width - start < _LEAST_SOURCE:
            return replace(self.screen, width=None)
        return self.screen

    def _cells(self, function: Function, scale: Scale) -> dict[int, list[str]]:
        """Return the texts of each line, in all columns."""
        beside = function.beside
        texts = {
            line.number: [column.text(line, scale) for column in self.columns]
            for line in function.lines
        }
        if not beside.columns:
            return texts
        own, more = [""] * len(self.columns), [""] * len(beside.columns)
        return {
            number: [*texts.get(number, own), *beside.texts.get(number, more)]
            for number in [*texts, *beside.texts]
        }

    def _hot(self, function: Function, scale: Scale) -> set[int]:
        """Return the lines that took most, where that can be shown."""
        if not self.screen.colour:
            return set()
        hot = {
            line.number
            for line in function.lines
            if (scale.percent(line.time) or 0) >= _HOT_PERCENT
        }
        return hot | function.beside.hot


def _widths(
    columns: Sequence[tuple[str, int, bool]], rows: Iterable[Sequence[str]]
) -> list[int]:
    """Return the width of each column (title, least width, whether it grows)."""
    widths = [width for _, width, _ in columns]
    for row in rows:
        for place, text in enumerate(row):
            if columns[place][2]:
                widths[place] = max(widths[place], len(text))
    return widths


def _row(number: str, texts: Sequence[str], widths: Sequence[int]) -> str:
    """Return a row up to where the source begins."""
    padded = [text.rjust(width) for text, width in zip(texts, widths)]
    return " ".join([number.rjust(NUMBER.width), *padded, " "])


def _numbered(
    function: Function, block: Sequence[str] | None
) -> Iterable[tuple[int, str]]:
    """Return the number and text of each line to show."""
    if block is not None:
        return enumerate(block, function.line)
    measured = sorted(
        {*[line.number for line in function.lines], *function.beside.texts}
    )
    measured = measured or [function.line]
    count = measured[-1] - min(measured[0], function.line) + 1
    if count > _MOST_BLANK_ROWS:
        return ((number, "") for number in measured)
    return ((function.line + place, "") for place in range(count))
