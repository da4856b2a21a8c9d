"""The columns of the table: what each says of a line, and in which unit."""

from __future__ import annotations

from typing import NamedTuple

from lineprof.units import AUTO_UNIT, readable
from lineprof.wait_records import CAUSES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


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
            return readable(ticks * self.unit / count)
        number = ticks * (self.unit / self.output_unit) / count
        return decimal(number, self.width(column))

    def total(self, ticks: float) -> str:
        """Return a function's time, in seconds but for AUTO_UNIT."""
        if self.output_unit == AUTO_UNIT:
            return readable(ticks * self.unit).rstrip()
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
