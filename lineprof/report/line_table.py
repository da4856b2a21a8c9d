"""The table of one function, byte for byte as line_profiler 5.1 prints it.

More columns can stand beside those of line_profiler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lineprof.console.terminal import PLAIN, Terminal
from lineprof.model.records import CAUSES, GIL, IO, LOCK, OTHER, RUNNABLE, SLEEP
from lineprof.model.time_split import line_mpi_ns, line_time_splits
from lineprof.model.units import AUTO_UNIT, format_seconds
from lineprof.report.text_grid import in_words, percent, percent_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Protocol

    from lineprof.model.profile import Profile
    from lineprof.model.records import FunctionStats, Key
    from lineprof.model.units import Ticks
    from lineprof.report.options import Options

    ByLine = Mapping[int, Mapping[str, int]]  # time (ns) by the names of columns

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


# The columns of the table: what each says of a line, and in which unit.


_WORD = 4  # letters: what is shorter is an acronym


class Line(NamedTuple):
    """What is known of one line; its times are in ticks of the profile's unit."""

    number: int
    hits: int
    time: float
    awaited: float = 0
    least: float | None = None  # time of the shortest execution, if known
    most: float | None = None  # and of the longest
    waits: Mapping[str, float] | None = None  # by cause; None: not known
    parts: Mapping[str, float] | None = None  # by column, of those in PART_COLUMNS


class Scale(NamedTuple):
    """The units of a table: from ticks to what is printed."""

    unit: float  # seconds in a tick
    output_unit: float  # seconds in the unit of the columns
    sum: float = 0  # of a function's lines, in ticks
    widths: Mapping[str, int] = {}  # least ones, by the names of columns

    def text(self, ticks: float, column: Column, count: int = 1) -> str:
        """Return a `count`-th of a time as `column` has it, in the output unit."""
        if self.output_unit == AUTO_UNIT:
            return format_seconds(ticks * self.unit / count)
        number = ticks * (self.unit / self.output_unit) / count
        return decimal(number, self.width(column))

    def total(self, ticks: float) -> str:
        """Return a function's time, in seconds but for AUTO_UNIT."""
        if self.output_unit == AUTO_UNIT:
            return format_seconds(ticks * self.unit).rstrip()
        return f"{ticks * self.unit:g} s"

    def width(self, column: Column) -> int:
        """Return the least width of `column`."""
        return max(column.width, self.widths.get(column.name, 0))

    def percent(self, ticks: float) -> float | None:
        """Return the share of the function, if it took any time."""
        return 100 * ticks / self.sum if self.sum else None


class Column(NamedTuple):
    """One column: its title and width, and the text of a line in it."""

    title: str
    width: int
    text: Callable[[Line, Scale], str]
    grows: bool = True  # as wide as its widest text
    name: str = ""  # in line_profiler's configuration


def decimal(number: float, width: int) -> str:
    """Return one digit after the point, or three digits where that is too wide."""
    text = f"{number:5.1f}"
    return text if len(text) <= width else f"{number:5.3g}"


def _hits(line: Line, scale: Scale) -> str:
    text = f"{int(line.hits)}"  # who makes their own numbers may have fractions
    return text if len(text) <= scale.width(HITS) else f"{line.hits:g}"


def _time(line: Line, scale: Scale) -> str:
    return scale.text(line.time, TIME)


def _per_hit(line: Line, scale: Scale) -> str:
    if not line.hits:  # time after a resume, or of a statement's inner line
        return ""
    return scale.text(line.time, PER_HIT, line.hits)


def _percent(line: Line, scale: Scale) -> str:
    percent = scale.percent(line.time)
    return "" if percent is None else f"{percent:5.1f}"


def _awaited(line: Line, scale: Scale) -> str:
    return scale.text(line.awaited, AWAIT) if line.awaited else ""


def _least(line: Line, scale: Scale) -> str:
    return "" if line.least is None else scale.text(line.least, MIN)


def _most(line: Line, scale: Scale) -> str:
    return "" if line.most is None else scale.text(line.most, MAX)


def _cpu(line: Line, scale: Scale) -> str:
    if line.waits is None:
        return ""
    return scale.text(max(0, line.time - sum(line.waits.values())), CPU)


def _wait(line: Line, scale: Scale) -> str:
    ticks = sum((line.waits or {}).values())
    return scale.text(ticks, WAIT) if ticks else ""


def _cause(name: str) -> Column:
    """Return the column of one cause of waiting."""

    def text(line: Line, scale: Scale) -> str:
        ticks = (line.waits or {}).get(name, 0)
        return scale.text(ticks, column) if ticks else ""

    title = name.upper() if len(name) < _WORD else name.capitalize()
    column = Column(title, 9, text)
    return column


def _part(name: str, title: str) -> Column:
    """Return the column of one part of a line's time."""

    def text(line: Line, scale: Scale) -> str:
        ticks = (line.parts or {}).get(name, 0)
        return scale.text(ticks, column) if ticks else ""

    column = Column(title, 9, text)
    return column


NUMBER = Column("Line #", 6, lambda line, _: str(line.number), False, "line")

HITS = Column("Hits", 9, _hits, name="hits")

TIME = Column("Time", 12, _time, name="time")

PER_HIT = Column("Per Hit", 8, _per_hit, name="perhit")

PERCENT = Column("% Time", 8, _percent, False, "percent")

AWAIT = Column("Await", 12, _awaited)

MIN = Column("Min", 9, _least)

MAX = Column("Max", 9, _most)

CPU = Column("CPU", 12, _cpu)

WAIT = Column("Wait", 12, _wait)

COLUMNS = (HITS, TIME, PER_HIT, PERCENT)

# A line's time is what it was on a processor (cpu) and what it waited, together.
WAIT_COLUMNS = {"cpu": CPU, "wait": WAIT, **{name: _cause(name) for name in CAUSES}}

SPLIT_COLUMNS = {  # together, these are a line's time
    "python": _part("python", "Python"),
    "native": _part("native", "Native"),
    "system": _part("system", "System"),
    "ownwait": _part("ownwait", "Own Wait"),
    "callees": _part("callees", "Callees"),
}

PART_COLUMNS = {"mpi": _part("mpi", "MPI"), **SPLIT_COLUMNS}

EXTRA_COLUMNS = {
    "await": AWAIT,
    "min": MIN,
    "max": MAX,
    **WAIT_COLUMNS,
    **PART_COLUMNS,
}


# What the tables say of parts of a line's time: MPI, Python, C, the system.


_MIN_MPI_PERCENT = 1  # of a function, to speak of

NO_MPI = (
    "The profile has no calls of MPI or torch.distributed: mpi4py's are counted after"
    " kernprof -l --builtins, on Python 3.12 and later"
)

NO_SPLIT = (
    "The profile does not tell Python, native and system time apart: kernprof -l"
    " --split makes one that does"
)


def parts_of(stats: Profile) -> dict[Key, dict[int, dict[str, int]]]:
    """Return the parts (ns) of each function's time, by line and column."""
    found: dict[Key, dict[int, dict[str, int]]] = {
        key: {
            line: {
                "python": split.python_ns,
                "native": split.native_ns,
                "system": split.system_ns,
                "ownwait": split.own_wait_ns,
                "callees": split.callees_ns,
            }
            for line, split in lines.items()
        }
        for key, lines in line_time_splits(stats).items()
    }
    for key, lines in line_mpi_ns(stats).items():
        for line, ns in lines.items():
            found.setdefault(key, {}).setdefault(line, {})["mpi"] = ns
    return found


def in_ticks(of_line: Mapping[str, int] | None, ticks: Ticks) -> dict[str, float]:
    """Return the parts of a line in the profile's ticks."""
    return {name: ticks.from_ns(ns) for name, ns in (of_line or {}).items()}


def mpi_below_table(function: FunctionStats, parts: ByLine) -> tuple[str, ...]:
    """Return how long a function was in MPI, if that was more than 1 % of its time."""
    ns = sum(of_line.get("mpi", 0) for of_line in parts.values())
    whole = sum(cell.time_ns for cell in function.thread_lines)
    if not ns or percent_of(ns, whole) <= _MIN_MPI_PERCENT:
        return ()
    return (f"MPI: {percent(ns, whole)} of these times: {in_words(ns)} in its calls",)


def split_footer(stats: Profile, options: Options) -> Iterator[str]:
    """Yield that columns of parts are empty for want of data, if they were chosen."""
    if "mpi" in options.columns and not line_mpi_ns(stats):
        yield NO_MPI
    if not stats.breakdowns and not SPLIT_COLUMNS.keys().isdisjoint(options.columns):
        yield NO_SPLIT


_MOST_BLANK_ROWS = 100_000  # where source is missing; no function is that long

_HOT_PERCENT = 20

_LEAST_SOURCE = 24  # columns of it; else lines are wrapped and not cut


class ExtraColumns(NamedTuple):
    """More columns of one function, and lines below its own; made elsewhere."""

    columns: tuple[tuple[str, int], ...]  # title and least width
    texts: Mapping[int, Sequence[str]]  # by line number, one for each column
    below: Mapping[int, Sequence[str]]  # what stands under the source of a line
    hot: frozenset[int] = frozenset()  # lines to emphasize


class FunctionTable(NamedTuple):
    """One function to show; times in ticks of the profile's unit."""

    file: str
    line: int
    name: str
    lines: tuple[Line, ...]
    total: float  # wall time counted once; more in the lines if it recursed
    beside: ExtraColumns = ExtraColumns((), {}, {})
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
    screen: Terminal = PLAIN
    paint: Paint | None = None  # None: as it is

    def of(self, function: FunctionTable, block: Sequence[str] | None) -> Iterator[str]:
        """Yield the lines about one function; `block` is None for no source."""
        yield f"Total time: {self.scale.total(function.total)}"
        yield from self._heading(function, found=block is not None)
        yield ""
        yield from self._rows(function, block)
        for words in function.after:
            yield self.screen.clipped(words, 0)
        yield ""

    def _heading(self, function: FunctionTable, *, found: bool) -> Iterator[str]:
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

    def _rows(
        self, function: FunctionTable, block: Sequence[str] | None
    ) -> Iterator[str]:
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
        function: FunctionTable,
        rows: Sequence[tuple[int, str]],
        screen: Terminal,
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

    def _screen(self, beside: ExtraColumns, start: int) -> Terminal:
        """Return the screen, without end where more columns leave no source on it."""
        width, more = self.screen.width, beside.columns or self.columns != COLUMNS
        if more and width is not None and width - start < _LEAST_SOURCE:
            return self.screen._replace(width=None)
        return self.screen

    def _cells(self, function: FunctionTable, scale: Scale) -> dict[int, list[str]]:
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

    def _shares(self, function: FunctionTable, scale: Scale) -> dict[int, float]:
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
    function: FunctionTable, block: Sequence[str] | None
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


# What the tables say of waiting: by line, and in a line below a function.


_MIN_WAIT_PERCENT = 1  # of a function, to speak of

_MIN_WAIT_NS = 1_000_000  # the same

_WORDS = {
    GIL: "for the interpreter's lock",
    LOCK: "for locks",
    SLEEP: "asleep",
    IO: "for input and output",
    RUNNABLE: "for a processor",
    OTHER: "for something else",
}

NO_WAITS = "The profile does not say how long lines waited: CPU and waits are not known"


def waits_of(stats: Profile) -> dict[Key, dict[int, dict[str, int]]]:
    """Return the waits (ns) of each function, by line and cause."""
    found: dict[Key, dict[int, dict[str, int]]] = {}
    for wait in stats.waits:
        line = found.setdefault(wait.function, {}).setdefault(wait.line, {})
        line[wait.cause] = line.get(wait.cause, 0) + wait.ns
    return found


def waits_below_table(function: FunctionStats, waits: ByLine) -> tuple[str, ...]:
    """Return how long a function waited, if that was much, and for what in the main.

    Much is more than 1 % of its time, and 1 ms or more: a busy machine keeps every
    program waiting now and then. Causes of less are something else, all together.
    """
    whole = sum(cell.time_ns for cell in function.thread_lines)
    causes: dict[str, int] = {}
    for line in waits.values():
        for cause, ns in line.items():
            causes[cause] = causes.get(cause, 0) + ns
    ns = sum(causes.values())
    if not _is_much(ns, whole):
        return ()
    named = {c: of_it for c, of_it in causes.items() if _is_much(of_it, whole)}
    others = ns - sum(of_it for c, of_it in named.items() if c != OTHER)
    if named and _is_much(others, whole):
        named[OTHER] = others
    parts = [
        f"{in_words(ns)} {_WORDS.get(cause, f'for {cause}')}"
        for cause, ns in sorted(named.items(), key=lambda item: -item[1])
    ]
    words = ", ".join(parts) or in_words(ns)
    return (f"Waiting: {percent(ns, whole)} of these times: {words}",)


def _is_much(ns: int, whole: int) -> bool:
    return percent_of(ns, whole) > _MIN_WAIT_PERCENT and ns >= _MIN_WAIT_NS


def waits_footer(stats: Profile, options: Options) -> Iterator[str]:
    """Yield that columns of waits are empty for want of data, if they were chosen."""
    if not stats.waits and are_wanted(options.columns):
        yield NO_WAITS


def are_wanted(columns: Iterable[str]) -> bool:
    """Tell whether columns of waits are among the chosen ones."""
    return not WAIT_COLUMNS.keys().isdisjoint(columns)
