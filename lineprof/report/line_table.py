"""The table of one function: its columns, and the values of its lines.

The first columns are those of line_profiler 5.1. To add a column, put it into
`EXTRA_COLUMNS`; --columns takes its name from there. `text` and `notebook` lay tables
out.
"""

from __future__ import annotations

from collections import Counter
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from lineprof.model.communication import line_mpi_ns
from lineprof.model.gpu import GpuNumbers
from lineprof.model.host_memory import NO_BYTES, MemoryNumbers, knows_memory
from lineprof.model.records import (
    GIL,
    IO,
    LOCK,
    OTHER,
    RUNNABLE,
    SLEEP,
    LineTotals,
)
from lineprof.model.time_split import line_time_splits
from lineprof.model.units import AUTO_UNIT, Ticks, format_bytes, format_seconds
from lineprof.report.marks import Marks, cut_lines
from lineprof.report.text_grid import ABOUT, in_words, percent, percent_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from lineprof.model.gpu import Kernels
    from lineprof.model.profile import LineTicks, Profile, Timings
    from lineprof.model.records import FunctionStats, Key
    from lineprof.report.options import Options

    Times = Mapping[str, int]  # ns by cause of waiting, or by name of a column
    ByLine = Mapping[int, Times]

_MIN_PERCENT = 1  # of a function's time in waits or MPI, for a line below its table

_MIN_WAIT_NS = 1_000_000  # of waits, for a line below the table


class _Cause(NamedTuple):
    """How a cause of waiting is called."""

    title: str  # of its own column
    name: str  # in the column of a view that has one for all causes
    words: str  # in a sentence, behind a time


_CAUSES = {
    GIL: _Cause(title="GIL", name="GIL", words="for the interpreter's lock"),
    LOCK: _Cause(title="Lock", name="a lock", words="for locks"),
    SLEEP: _Cause(title="Sleep", name="sleep", words="asleep"),
    IO: _Cause(title="IO", name="I/O", words="for input and output"),
    RUNNABLE: _Cause(title="Ready", name="a processor", words="for a processor"),
    OTHER: _Cause(title="Other", name="other", words="for something else"),
}

WAITS_FOR = {cause: one.name for cause, one in _CAUSES.items()}

_WAITING = {cause: one.words for cause, one in _CAUSES.items()}

OVERLAPS = " (recursive: lines have inner calls again)"  # behind the total

NO_WAITS = "The profile does not say how long lines waited: CPU and waits are not known"

NO_MPI = (
    "The profile has no calls of MPI or torch.distributed: mpi4py's are counted after"
    " kernprof -l --builtins, on Python 3.12 and later"
)

NO_SPLIT = (
    "The profile does not tell Python, native and system time apart: record it with"
    " kernprof -l --split"
)


NO_MEMORY = (
    "The profile does not say what lines allocated: record it with kernprof -l --memory"
)


class LineMemory(NamedTuple):
    """The memory of one line, with its callees and without them."""

    every: MemoryNumbers = NO_BYTES
    own: MemoryNumbers = NO_BYTES
    is_estimate: bool = False


class Line(NamedTuple):
    """The numbers of one line."""

    number: int
    hits: int | None = None  # None: it was not timed, but has GPU work or memory
    time: float = 0  # in ticks of the profile's unit
    row: LineTotals = LineTotals(line=0)  # all that is known of it; zeros if nothing is
    parts: Mapping[str, int] = {}  # in ns: see WAIT_COLUMNS and BREAKDOWN_COLUMNS
    gpu: GpuNumbers = GpuNumbers()
    kernels: Kernels = ()
    idle_ns: int = 0  # idle time of GPUs that it caused
    memory: LineMemory = LineMemory()


class FunctionTable(NamedTuple):
    """The table of one function; times in ticks of the profile's unit."""

    file: str
    line: int
    name: str
    lines: tuple[Line, ...]
    total: float  # wall time counted once; more in the lines if it recursed
    overlaps: bool = False  # a line has more than `total`
    columns: tuple[Column, ...] = ()  # of its own, beside those of all functions
    below: Mapping[int, Sequence[str]] = {}  # rows under the source of a line
    hot: frozenset[int] = frozenset()  # lines to emphasize
    uses_gpu: bool = False  # as a line in `columns` shows
    gpu_ns: int = 0  # with its callees
    wait_ns: int = 0  # for a GPU
    memory: MemoryNumbers = NO_BYTES  # with its callees
    footer: tuple[str, ...] = ()  # lines below the table
    mark: str = ""  # behind the name, of a function that was switched off

    @property
    def key(self) -> Key:
        """The key of the function."""
        return self.file, self.line, self.name

    @property
    def ran(self) -> bool:
        """Whether any line of the function ran."""
        return self.uses_gpu or any(
            line.hits or line.time or line.memory.every.allocs for line in self.lines
        )

    def with_rows_below(self, rows: Mapping[int, Sequence[str]]) -> FunctionTable:
        """Return the table with `rows` added under the source of lines."""
        own = self.below
        below = {n: [*own.get(n, ()), *rows.get(n, ())] for n in (*own, *rows)}
        return self._replace(below=below)


class Scale(NamedTuple):
    """The units of a table: from ticks to the numbers in its columns."""

    unit: float  # seconds in a tick
    output_unit: float  # seconds in the unit of the columns, or AUTO_UNIT
    widths: Mapping[str, int] = {}  # minimum, by the configuration keys of columns
    sum: float = 0  # of a function's lines, in ticks
    gpu_ns: int = 0  # of a function

    def of(self, function: FunctionTable) -> Scale:
        """Return the scale with the sums of a function."""
        time = sum(line.time for line in function.lines)
        return self._replace(sum=time, gpu_ns=function.gpu_ns)

    def text(self, ticks: float, column: Column, count: int = 1) -> str:
        """Return a time divided by `count` in the output unit, as `column` has it."""
        if self.output_unit == AUTO_UNIT:
            return format_seconds(ticks * self.unit / count)
        number = ticks * (self.unit / self.output_unit) / count
        return decimal(number, self.width(column))

    def ns_text(self, ns: int | None, column: Column) -> str:
        """Return a time in ns as `text` does; "" for None."""
        return "" if ns is None else self.text(Ticks(self.unit).from_ns(ns), column)

    def total(self, ticks: float) -> str:
        """Return a function's time: in seconds, unless the unit is AUTO_UNIT."""
        if self.output_unit == AUTO_UNIT:
            return format_seconds(ticks * self.unit).rstrip()
        return f"{ticks * self.unit:g} s"

    def width(self, column: Column) -> int:
        """Return the minimum width of `column`."""
        return max(column.width, self.widths.get(column.key, 0))

    def percent(self, ticks: float) -> float | None:
        """Return the share in the function's time, if it took any."""
        return 100 * ticks / self.sum if self.sum else None


class Column(NamedTuple):
    """One column: its title, its minimum width, and the text of a line in it."""

    title: str
    width: int
    text: Callable[[Line, Scale], str]
    grows: bool = True  # as wide as its widest text
    key: str = ""  # in line_profiler's configuration


def scale_of(unit: float, options: Options) -> Scale:
    """Return the units of tables whose times are in ticks of `unit` (s)."""
    return Scale(
        unit=unit,
        output_unit=unit if options.unit is None else options.unit,
        widths=options.column_widths or {},
    )


def decimal(number: float, width: int) -> str:
    """Return one digit after the point, or three digits if that is too wide."""
    text = f"{number:5.1f}"
    return text if len(text) <= width else f"{number:5.3g}"


# The columns of line_profiler.


def _hits(line: Line, scale: Scale) -> str:
    if line.hits is None:
        return ""
    text = f"{int(line.hits)}"  # hits that users put into a profile may be fractions
    return text if len(text) <= scale.width(HITS) else f"{line.hits:g}"


def _time(line: Line, scale: Scale) -> str:
    return "" if line.hits is None else scale.text(line.time, TIME)


def _per_hit(line: Line, scale: Scale) -> str:
    if not line.hits:  # time after a resume, or of a statement's inner line
        return ""
    return scale.text(line.time, PER_HIT, line.hits)


def _percent(line: Line, scale: Scale) -> str:
    percent = scale.percent(line.time)
    return "" if percent is None or line.hits is None else f"{percent:5.1f}"


NUMBER = Column("Line #", 6, lambda line, _: str(line.number), grows=False, key="line")

HITS = Column("Hits", 9, _hits, key="hits")

TIME = Column("Time", 12, _time, key="time")

PER_HIT = Column("Per Hit", 8, _per_hit, key="perhit")

PERCENT = Column("% Time", 8, _percent, grows=False, key="percent")

COLUMNS = (HITS, TIME, PER_HIT, PERCENT)


# More columns, by the names that --columns takes.


def _ns_column(title: str, width: int, ns: Callable[[Line], int | None]) -> Column:
    """Return the column of a time (ns), which is blank if it is None."""

    def text(line: Line, scale: Scale) -> str:
        return scale.ns_text(ns(line), column)

    column = Column(title, width, text)
    return column


def _part_column(name: str, title: str, width: int = 9) -> Column:
    """Return the column of one part of a line's time."""
    return _ns_column(title, width, lambda line: line.parts.get(name) or None)


AWAIT = _ns_column("Await", 12, lambda line: line.row.await_ns or None)

# cpu (on a processor) and wait are a line's time; the causes are the line's wait.
WAIT_COLUMNS = {
    "cpu": _ns_column("CPU", 12, lambda line: line.parts.get("cpu")),
    "wait": _part_column("wait", "Wait", 12),
    **{cause: _part_column(cause, one.title) for cause, one in _CAUSES.items()},
}

SPLIT_COLUMNS = {  # together, these are a line's time
    "python": _part_column("python", "Python"),
    "native": _part_column("native", "Native"),
    "system": _part_column("system", "System"),
    "ownwait": _part_column("ownwait", "Own Wait"),
    "callees": _part_column("callees", "Callees"),
}

BREAKDOWN_COLUMNS = {"mpi": _part_column("mpi", "MPI"), **SPLIT_COLUMNS}


def _memory_column(
    title: str, number: str, in_words: Callable[[int], str] = format_bytes
) -> Column:
    """Return the column of a number of `LineMemory`, of which blanks stand for 0.

    A size (bytes) has a unit of its own on each line.
    """
    of_line = attrgetter(f"memory.{number}")

    def text(line: Line, _: Scale) -> str:
        about = ABOUT if line.memory.is_estimate else ""
        return f"{about}{in_words(of_line(line))}" if of_line(line) else ""

    return Column(title, 9, text)


MEMORY_COLUMNS = {
    "host-alloc": _memory_column("Alloc", "every.alloc_bytes"),
    "host-allocs": _memory_column("Allocs", "every.allocs", str),
    "host-freed": _memory_column("Freed", "every.freed_bytes"),
    "host-live": _memory_column("Live", "every.live_bytes"),
    "host-peak": _memory_column("Peak", "every.peak_bytes"),
    "host-temp": _memory_column("Temp", "every.temp_bytes"),
    "host-alloc-self": _memory_column("Alloc Self", "own.alloc_bytes"),
    "host-live-self": _memory_column("Live Self", "own.live_bytes"),
    "host-peak-self": _memory_column("Peak Self", "own.peak_bytes"),
}

EXTRA_COLUMNS = {
    "await": AWAIT,
    "min": _ns_column("Min", 9, lambda line: line.row.min_ns),
    "max": _ns_column("Max", 9, lambda line: line.row.max_ns),
    **WAIT_COLUMNS,
    **BREAKDOWN_COLUMNS,
    **MEMORY_COLUMNS,
}


# The tables of a profile.


def function_tables(profile: Profile, options: Options) -> list[FunctionTable]:
    """Return the table of each function, with columns of its memory and GPU work."""
    ticks, timings = Ticks(profile.unit), profile.timings
    waits, breakdowns = waits_by_line(profile), breakdowns_by_line(profile)
    marks = Marks(profile)
    has_wait_line = options.waiting or has_wait_columns(options.columns)
    tables = []
    for function in profile.functions:
        timed, wall_ns = timings[function.key], function.recursive_ns
        own_waits = waits.get(function.key, {})
        own_breakdowns = breakdowns.get(function.key, {})
        known_waits = own_waits if profile.waits else None
        sum_of_lines = sum(time for *_, time in timed)
        total = sum_of_lines if wall_ns is None else ticks.from_ns(wall_ns)
        table = FunctionTable(
            file=function.file,
            line=function.line,
            name=function.name,
            lines=tuple(_lines(function, timed, known_waits, own_breakdowns)),
            total=total,
            overlaps=any(time > total for *_, time in timed),
            footer=(
                *(wait_line(function, own_waits) if has_wait_line else ()),
                *cut_lines(marks, function.key),
                *mpi_line(function, own_breakdowns),
            ),
            mark=marks.after(function.key),
        )
        tables.append(table)
    if profile.memory.sums:
        from lineprof.report.memory_table import with_memory  # noqa: PLC0415  # few have it

        tables = with_memory(tables, profile, options)
    if not profile.gpu.sums:
        return tables
    from lineprof.report.gpu_table import with_gpu  # noqa: PLC0415  # few have GPUs

    return with_gpu(tables, profile, options)


def _lines(
    function: FunctionStats,
    timed: Sequence[LineTicks],
    waits: ByLine | None,
    breakdowns: ByLine,
) -> Iterator[Line]:
    """Yield the lines of a function; `timed` has their times in exact ticks."""
    rows = {row.line: row for row in function.rows}
    for number, hits, time in timed:
        yield Line(
            number=number,
            hits=hits,
            time=time,
            row=rows[number],
            parts=_parts(rows[number], waits, breakdowns.get(number, {})),
        )


def _parts(row: LineTotals, waits: ByLine | None, breakdown: Times) -> Times:
    """Return the parts of a line's time by column; `waits` are None if unknown."""
    if waits is None:
        return breakdown
    causes = waits.get(row.line, {})
    wait_ns = sum(causes.values())
    cpu_ns = max(0, row.time_ns - wait_ns)
    return {"cpu": cpu_ns, "wait": wait_ns, **causes, **breakdown}


def function_tables_of_timings(timings: Timings) -> list[FunctionTable]:
    """Return the tables of line_profiler's numbers."""
    return [
        FunctionTable(
            file=file,
            line=line,
            name=name,
            lines=tuple(
                Line(number=number, hits=hits, time=time)
                for number, hits, time in lines
            ),
            total=sum(time for _, _, time in lines),
        )
        for (file, line, name), lines in timings.items()
    ]


def waits_by_line(profile: Profile) -> dict[Key, dict[int, dict[str, int]]]:
    """Return the waits (ns) of each function, by line and cause."""
    found: dict[Key, dict[int, dict[str, int]]] = {}
    for wait in profile.waits:
        line = found.setdefault(wait.function, {}).setdefault(wait.line, {})
        line[wait.cause] = line.get(wait.cause, 0) + wait.ns
    return found


def breakdowns_by_line(profile: Profile) -> dict[Key, dict[int, dict[str, int]]]:
    """Return the parts (ns) of each function's time, by line and column."""
    splits = line_time_splits(profile) if profile.breakdowns else {}
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
        for key, lines in splits.items()
    }
    for key, lines in line_mpi_ns(profile).items():
        for line, ns in lines.items():
            found.setdefault(key, {}).setdefault(line, {})["mpi"] = ns
    return found


# Lines below the table of a function.


def wait_line(function: FunctionStats, waits: ByLine) -> Iterator[str]:
    """Yield a line on a function's waits by cause, unless the waits are short.

    Up to 1 % of the function's time, or less than 1 ms, is short: on a busy machine
    every program waits now and then. Short waits of one cause count as something else.
    """
    total_ns = sum(cell.time_ns for cell in function.thread_lines)
    causes: Counter[str] = Counter()
    for line in waits.values():
        causes.update(line)
    wait_ns = sum(causes.values())
    if not _is_long(wait_ns, total_ns):
        return
    long = {cause: ns for cause, ns in causes.items() if _is_long(ns, total_ns)}
    others = wait_ns - sum(ns for cause, ns in long.items() if cause != OTHER)
    if long and _is_long(others, total_ns):
        long[OTHER] = others
    parts = [
        f"{in_words(ns)} {_WAITING.get(cause, f'for {cause}')}"
        for cause, ns in sorted(long.items(), key=lambda item: -item[1])
    ]
    text = ", ".join(parts) or in_words(wait_ns)
    yield f"Waiting: {percent(wait_ns, total_ns)} of these times: {text}"


def _is_long(ns: int, total_ns: int) -> bool:
    return percent_of(ns, total_ns) > _MIN_PERCENT and ns >= _MIN_WAIT_NS


def mpi_line(function: FunctionStats, breakdowns: ByLine) -> Iterator[str]:
    """Yield a line on a function's time in MPI, if that is more than 1 %."""
    ns = sum(times.get("mpi", 0) for times in breakdowns.values())
    total_ns = sum(cell.time_ns for cell in function.thread_lines)
    if ns and percent_of(ns, total_ns) > _MIN_PERCENT:
        share = percent(ns, total_ns)
        yield f"MPI: {share} of these times: {in_words(ns)} in its calls"


# Lines below all tables.


def footer(profile: Profile, options: Options) -> Iterator[str]:
    """Yield which chosen columns have no data, and the totals of GPU work, if any."""
    yield from Marks(profile).note()
    yield from waits_footer(profile, options)
    if "mpi" in options.columns and not line_mpi_ns(profile):
        yield NO_MPI
    if not profile.breakdowns and not SPLIT_COLUMNS.keys().isdisjoint(options.columns):
        yield NO_SPLIT
    yield from memory_totals(profile, options)
    if profile.gpu.sums or any(run.present for run in profile.gpu.runs):
        from lineprof.report.gpu_table import gpu_footer  # noqa: PLC0415  # few have GPUs

        yield from gpu_footer(profile, options)


def waits_footer(profile: Profile, options: Options) -> Iterator[str]:
    """Yield a sentence if columns of waits were chosen, but no waits are known."""
    if not profile.waits and has_wait_columns(options.columns):
        yield NO_WAITS


def memory_totals(profile: Profile, options: Options) -> Iterator[str]:
    """Yield the totals of memory; or why chosen columns of it are empty."""
    if knows_memory(profile.memory):
        from lineprof.report.memory_table import memory_footer  # noqa: PLC0415  # few have it

        yield from memory_footer(profile)
    elif not MEMORY_COLUMNS.keys().isdisjoint(options.columns):
        yield NO_MEMORY


def has_wait_columns(columns: Iterable[str]) -> bool:
    """Return whether columns of waits are among the chosen ones."""
    return not WAIT_COLUMNS.keys().isdisjoint(columns)
