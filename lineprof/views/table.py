"""The table of one function, byte for byte as line_profiler 5.1 prints it.

More columns can stand beside those of line_profiler.
"""

from __future__ import annotations

from typing import NamedTuple

from lineprof.views.columns import (
    AWAIT,
    COLUMNS,
    EXTRA_COLUMNS,
    NUMBER,
    Column,
    Line,
    Scale,
    decimal,
)
from lineprof.views.screen import PIPE, Screen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Protocol

    class Paint(Protocol):
        """How rows are coloured; nothing in what it is given acts on a terminal."""

        def row(self, start: str, share: float) -> str:
            """Return a row up to its source; `share` (%) is what its line took."""

        def source(
            self, file: str, whole: Sequence[str], sizes: Sequence[int]
        ) -> Sequence[str] | None:
            """Return the starts, of these `sizes`, of lines; None where that fails."""

        def heading(self, text: str) -> str:
            """Return the titles of the columns."""

        def place(self, text: str, file: str) -> str:
            """Return a text that speaks of `file`."""


__all__ = [
    "AWAIT",
    "COLUMNS",
    "EXTRA_COLUMNS",
    "Beside",
    "Column",
    "Function",
    "Line",
    "Scale",
    "Table",
    "decimal",
]

_MOST_BLANK_ROWS = 100_000  # where source is missing; no function is that long
_HOT_PERCENT = 20
_LEAST_SOURCE = 24  # columns of it; else lines are wrapped and not cut


class Beside(NamedTuple):
    """More columns of one function, and lines below its own; made elsewhere."""

    columns: tuple[tuple[str, int], ...]  # title and least width
    texts: Mapping[int, Sequence[str]]  # by line number, one for each column
    below: Mapping[int, Sequence[str]]  # what stands under the source of a line
    hot: frozenset[int] = frozenset()  # lines to emphasize


class Function(NamedTuple):
    """One function to show; times in ticks of the profile's unit."""

    file: str
    line: int
    name: str
    lines: tuple[Line, ...]
    total: float  # wall time counted once; more in the lines if it recursed
    beside: Beside = Beside((), {}, {})
    gpu_ns: int = 0  # with all that it called
    wait_ns: int = 0  # for a GPU
    after: tuple[str, ...] = ()  # what is said below its lines

    @property
    def ran(self) -> bool:
        """Tell whether any of its lines did."""
        if self.beside.texts:
            return True
        return any(line.hits or line.time for line in self.lines)


class Table(NamedTuple):
    """How tables are laid out and scaled."""

    scale: Scale
    columns: tuple[Column, ...] = COLUMNS
    screen: Screen = PIPE
    paint: Paint | None = None  # None: as it is

    def of(self, function: Function, block: Sequence[str] | None) -> Iterator[str]:
        """Yield the lines about one function; `block` is None for no source."""
        yield f"Total time: {self.scale.total(function.total)}"
        yield from self._heading(function, found=block is not None)
        yield ""
        yield from self._rows(function, block)
        for words in function.after:
            yield self.screen.clipped(words, 0)
        yield ""

    def _heading(self, function: Function, *, found: bool) -> Iterator[str]:
        file = self.screen.clean(function.file)
        if found:
            name = self.screen.clean(function.name)
            if self.paint:
                file = self.paint.place(file, function.file)
            yield f"File: {file}"
            yield f"Function: {name} at line {function.line}"
        else:
            yield ""
            yield f"Could not find file {file}"
            yield "Are you sure you are running this program from the same directory"
            yield "that you ran the profiler from?"
            yield "Continuing without the function's contents."

    def _rows(self, function: Function, block: Sequence[str] | None) -> Iterator[str]:
        scale = self.scale._replace(sum=sum(line.time for line in function.lines))
        beside = function.beside
        columns = [(c.title, scale.width(c), c.grows) for c in self.columns]
        columns += [(title, width, True) for title, width in beside.columns]
        cells = self._cells(function, scale)
        widths = [scale.width(NUMBER), *_widths(columns, cells.values())]
        start = _row(NUMBER.title, [c[0] for c in columns], widths)
        screen = self._screen(beside, len(start))
        header = f"{start}Line Contents"
        for text in (header, "=" * len(header)):
            text = screen.clipped(text, 0)  # noqa: PLW2901
            yield self.paint.heading(text) if self.paint else text
        rows = list(_numbered(function, block))
        sources = self._sources(function, rows, screen, len(start))
        shares = self._shares(function, scale)
        blank = [""] * len(columns)
        for (number, _), source in zip(rows, sources):
            start = _row(str(number), cells.get(number, blank), widths)
            yield self._line(start, source, shares.get(number, 0))
            for more in beside.below.get(number, ()):
                yield " " * len(start) + screen.clipped(more, len(start))

    def _sources(
        self,
        function: Function,
        rows: Sequence[tuple[int, str]],
        screen: Screen,
        start: int,
    ) -> Iterable[str]:
        """Return the source of `rows` as it is shown from column `start` on."""
        clipped = [screen.clipped(text, start) for _, text in rows]
        if self.paint:
            whole = [screen.clean(text) for _, text in rows]
            painted = self.paint.source(function.file, whole, list(map(len, clipped)))
            return painted or clipped
        return clipped

    def _line(self, start: str, source: str, share: float) -> str:
        """Return one row, shown as what it took (`share`, %) asks for."""
        if self.paint:
            return self.paint.row(start, share) + source
        line = start + source
        return self.screen.emphasized(line) if share >= _HOT_PERCENT else line

    def _screen(self, beside: Beside, start: int) -> Screen:
        """Return the screen, without end where more columns leave no source on it."""
        width, more = self.screen.width, beside.columns or self.columns != COLUMNS
        if more and width is not None and width - start < _LEAST_SOURCE:
            return self.screen._replace(width=None)
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

    def _shares(self, function: Function, scale: Scale) -> dict[int, float]:
        """Return the share (%) of each line in its function, GPU time included."""
        shares = {line.number: scale.percent(line.time) or 0 for line in function.lines}
        return {**shares, **dict.fromkeys(function.beside.hot, 100.0)}


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
    padded = [text.rjust(width) for text, width in zip([number, *texts], widths)]
    return " ".join([*padded, " "])


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
