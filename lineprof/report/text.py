"""The text view: tables as line_profiler 5.1 prints them, byte for byte.

More columns can stand beside those of line_profiler. With the unit AUTO_UNIT each
time has four digits and a unit of its own: the times of one table, and time and time
per hit of one line, can be a million times apart.
"""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from lineprof.console.output import Styled
from lineprof.console.terminal import box_characters_of
from lineprof.later import Later
from lineprof.model.units import AUTO_UNIT, format_seconds
from lineprof.report import markdown
from lineprof.report.columns import SOURCE_TITLE
from lineprof.report.limits import longest_functions
from lineprof.report.line_table import (
    COLUMNS,
    EXTRA_COLUMNS,
    NUMBER,
    OVERLAPS,
    footer,
    function_tables,
    scale_of,
)
from lineprof.report.options import uncalibrated
from lineprof.report.text_grid import grid
from lineprof.source import LEFT_OUT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from lineprof.console.terminal import Terminal
    from lineprof.model.profile import Profile
    from lineprof.report import highlight, unmeasured
    from lineprof.report.line_table import Column, FunctionTable, Scale
    from lineprof.report.options import Options
    from lineprof.source import Sources
else:
    highlight = Later("lineprof.report.highlight")
    unmeasured = Later("lineprof.report.unmeasured")

_MAX_BLANK_ROWS = 100_000  # without source; no function is that long

_MIN_SOURCE_WIDTH = 24  # columns; if less is left, lines are wrapped and not cut

# The orders of functions, the greatest last: see options.TABLE_ORDERS.
_ORDERS: Mapping[str, Callable[[FunctionTable], tuple[object, ...]]] = {
    "gpu": lambda function: (function.gpu_ns,),
    "time": lambda function: (function.total,),
    "hits": lambda function: (sum(line.hits or 0 for line in function.lines),),
    "wait": lambda function: (function.wait_ns,),
    "host-alloc": lambda function: (function.memory.alloc_bytes,),
    "host-live": lambda function: (function.memory.live_bytes,),
    "host-peak": lambda function: (function.memory.peak_bytes,),
    "line": lambda function: (function.file, function.line, function.name),
}


def render(profile: Profile, sources: Sources, options: Options) -> Iterator[str]:
    """Yield the tables of `profile`, line by line."""
    if options.raw:
        profile = uncalibrated(profile)
    longest = longest_functions(profile, options)
    more = len(profile.functions) - len(longest)
    tables = function_tables(
        profile.of_functions(longest) if more else profile, options
    )
    yield from render_tables(tables, profile.unit, sources, options)
    below = list(footer(profile, options))
    if more:
        below.append(f"{more:,} more: --all-functions")
    if below and options.summarize:
        yield ""
    yield from below


def render_tables(
    functions: list[FunctionTable], unit: float, sources: Sources, options: Options
) -> Iterator[str]:
    """Yield the tables of `functions`, whose times are in ticks of `unit` (s)."""
    layout = TableLayout(unit, options, sources)
    order = options.sort_by or ("time" if options.sort else "")
    if order:
        functions = sorted(functions, key=_ORDERS[order])
    yield from layout.heading()
    if options.details:
        for function in functions:
            if function.ran or not options.skip_zero:
                yield from layout.table(function, sources.block(*function.key))
    if options.summarize:
        for function in functions:
            if function.total or not options.skip_zero:
                yield layout.summary(function)


class TableLayout:
    """The layout of tables: units, columns, and the terminal to fit."""

    def __init__(
        self, unit: float, options: Options, sources: Sources | None = None
    ) -> None:
        """Take the unit (s) of the tables' times.

        With `sources` and `options.no_bodies`, bodies without numbers are left out.
        """
        self._scale = scale_of(unit, options)
        names = dict.fromkeys(options.columns)
        self._columns = (*COLUMNS, *(EXTRA_COLUMNS[name] for name in names))
        self._terminal = options.terminal
        is_coloured = options.rich and options.terminal.colour
        self._painter = highlight.painter() if is_coloured else None
        self._bodies = None  # all lines are shown
        if sources and options.no_bodies:
            self._bodies = unmeasured.UnmeasuredBodies(sources)

    def heading(self) -> Iterator[str]:
        """Yield the lines above all tables."""
        unit = self._scale.output_unit
        auto = unit == AUTO_UNIT
        yield f"Timer unit: {'beside each time' if auto else f'{unit:g} s'}"
        yield ""

    def summary(self, function: FunctionTable) -> str:
        """Return one line about a function."""
        scale = self._scale
        total = f"{function.total * scale.unit:6.2f} seconds"
        if scale.output_unit == AUTO_UNIT:
            total = format_seconds(function.total * scale.unit).rjust(11)
        name = self._terminal.clean(function.name)
        place = f"{self._file(function)}:{function.line}"
        line = f"{total} - {place} - {name}{function.mark}"
        return self._styled(line)

    def table(
        self, function: FunctionTable, block: Sequence[str] | None
    ) -> Iterator[str]:
        """Yield the table of one function; `block` is its source, None if unknown."""
        total = f"Total time: {self._scale.total(function.total)}"
        total += OVERLAPS if function.overlaps else ""
        if isinstance(self._terminal, markdown.Document):
            yield from self._markdown_table(function, block, total)
            return
        yield self._terminal.clipped(total, 0)
        yield from self._function_heading(function, found=block is not None)
        yield ""
        yield from self._rows(function, block)
        for text in map(self._terminal.clean, function.footer):
            yield from wrap(text, self._terminal.width or len(text))
        yield ""

    def _markdown_table(
        self, function: FunctionTable, block: Sequence[str] | None, total: str
    ) -> Iterator[str]:
        """Yield the table of one function for a Markdown document."""
        place = f"{function.name} ({function.file}:{function.line}){function.mark}"
        yield self._terminal.emphasized(place)
        yield total
        if block is None:
            yield f"Could not find file {function.file}"
        columns, cells = self._cells(function)
        blank = [""] * len(columns)
        rows = []
        for number, source in self._source_rows(function, block):
            if number is None:
                rows.append(["", *blank, source])
                continue
            rows.append([f"{number}", *cells.get(number, blank), source])
            rows += [["", *blank, text] for text in function.below.get(number, ())]
        titles = [NUMBER.title, *(one.title for one in columns), SOURCE_TITLE]
        yield from grid(titles, rows, self._terminal)
        yield from function.footer

    def _function_heading(
        self, function: FunctionTable, *, found: bool
    ) -> Iterator[str]:
        if found:
            name = self._terminal.clean(function.name)
            yield self._styled(f"File: {self._file(function)}")
            yield f"Function: {name} at line {function.line}{function.mark}"
        else:
            yield ""
            yield f"Could not find file {self._terminal.clean(function.file)}"
            yield "Are you sure you are running this program from the same directory"
            yield "that you ran the profiler from?"
            yield "Continuing without the function's contents."

    def _styled(self, line: str) -> str:
        """Return a line of clean text, marked as such if rows are painted."""
        return Styled(line) if self._painter else line

    def _file(self, function: FunctionTable) -> str:
        """Return the file of a function, as a link if rows are painted."""
        file = self._terminal.clean(function.file)
        return self._painter.place(file, function.file) if self._painter else file

    def _rows(
        self, function: FunctionTable, block: Sequence[str] | None
    ) -> Iterator[str]:
        """Yield the titles and a row for each line."""
        scale = self._scale.of(function)
        columns, cells = self._cells(function)
        widths = [scale.width(NUMBER), *_widths(columns, scale, cells.values())]
        start = _row_start(NUMBER.title, [one.title for one in columns], widths)
        terminal = self._wide_enough(function, len(start))
        header = f"{start}{SOURCE_TITLE}"
        for text in (header, "=" * len(header)):
            clipped = terminal.clipped(text, 0)
            if self._painter:
                yield Styled(self._painter.heading(clipped))
            else:
                yield self._terminal.emphasized(clipped)
        rows = self._source_rows(function, block)
        sources = self._sources(function, rows, terminal, len(start))
        shares = _shares(function, scale)
        blank = [""] * len(columns)
        for (number, _), source in zip(rows, sources):
            if number is None:
                yield self._row(_row_start("", blank, widths), source, 0)
                continue
            start = _row_start(str(number), cells.get(number, blank), widths)
            yield self._row(start, source, shares.get(number, 0))
            for text in function.below.get(number, ()):
                yield " " * len(start) + terminal.cut(text, len(start))

    def _cells(
        self, function: FunctionTable
    ) -> tuple[Sequence[Column], Mapping[int, Sequence[str]]]:
        """Return the columns of a function's table, and the texts of each line."""
        scale = self._scale.of(function)
        columns = (*self._columns, *function.columns)
        return columns, {
            line.number: [column.text(line, scale) for column in columns]
            for line in function.lines
        }

    def _source_rows(
        self, function: FunctionTable, block: Sequence[str] | None
    ) -> Sequence[tuple[int | None, str]]:
        """Return number and source of each row; None for lines that are left out."""
        rows = list(_numbered_source(function, block))
        return self._bodies.shortened(function, rows) if self._bodies else rows

    def _wide_enough(self, function: FunctionTable, start: int) -> Terminal:
        """Return the terminal, without width if more columns leave no room for source.

        Lines are then wrapped by the terminal instead of cut.
        """
        width = self._terminal.width
        has_more = function.columns or self._columns != COLUMNS
        if has_more and width is not None and width - start < _MIN_SOURCE_WIDTH:
            return self._terminal._replace(width=None)
        return self._terminal

    def _sources(
        self,
        function: FunctionTable,
        rows: Sequence[tuple[int | None, str]],
        terminal: Terminal,
        start: int,
    ) -> Iterable[str]:
        """Return the source of `rows`, cut to the room from column `start` on."""
        shown = [terminal.cut(text, start) for _, text in rows]
        if self._painter:
            lines = [terminal.clean(text) for _, text in rows]
            dots = box_characters_of(terminal).dots
            sizes = [
                len(text if line.startswith(text) else text.removesuffix(dots))
                for text, line in zip(shown, lines)
            ]
            painted = self._painter.source(function.file, lines, sizes)
            if painted:
                ends = [text[size:] for text, size in zip(shown, sizes)]
                return [text + end for text, end in zip(painted, ends)]
        return shown

    def _row(self, start: str, source: str, share: float) -> str:
        """Return one row, coloured by the `share` (%) of its line."""
        heated = self._terminal.heated(start, share)
        return Styled(heated + source) if self._terminal.colour else start + source


def _shares(function: FunctionTable, scale: Scale) -> dict[int, float]:
    """Return the share (%) of each line in its function; 100 for hot GPU lines."""
    shares = {line.number: scale.percent(line.time) or 0 for line in function.lines}
    return {**shares, **dict.fromkeys(function.hot, 100.0)}


def _widths(
    columns: Sequence[Column], scale: Scale, rows: Iterable[Sequence[str]]
) -> list[int]:
    """Return the width of each column."""
    widths = [scale.width(one) for one in columns]
    for row in rows:
        for index, text in enumerate(row):
            if columns[index].grows:
                widths[index] = max(widths[index], len(text))
    return widths


def _row_start(number: str, texts: Sequence[str], widths: Sequence[int]) -> str:
    """Return a row up to its source."""
    padded = [text.rjust(width) for text, width in zip([number, *texts], widths)]
    return " ".join([*padded, " "])


def _numbered_source(
    function: FunctionTable, block: Sequence[str] | None
) -> Iterable[tuple[int, str]]:
    """Return the number and source of each row; the source may be unknown."""
    if block is not None and block != LEFT_OUT:
        return enumerate(block, function.line)
    measured = sorted(line.number for line in function.lines)
    measured = measured or [function.line]
    count = measured[-1] - min(measured[0], function.line) + 1
    if count > _MAX_BLANK_ROWS:
        return ((number, "") for number in measured)
    return ((function.line + index, "") for index in range(count))
