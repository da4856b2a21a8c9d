"""Columns of a view's rows, each declared once for people and for other programs.

`Columns` are a mapping from the names in JSON and CSV; the rows are values of one type,
whose attributes are the values of the columns. `text_grid.table` makes text of rows,
`rows.rows_of` JSON and CSV.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from lineprof.model.records import Key

if TYPE_CHECKING:
    from collections.abc import Callable

    from lineprof.model.names import ShortNames
    from lineprof.source import Sources

Place = tuple[Key, int]  # a line of a function; 0: the function itself

# Kinds of values, which are None if they are unknown.
NS = "ns"  # a time in nanoseconds
COUNT = "count"
BYTES = "bytes"
SHARE = "share"  # of a whole, from 0 to 1
DATA = "data"  # another value
PART = "part"  # a `marks.Part` of the run, in which a function was counted

# Kinds of words, which people see to the right of the numbers.
WORDS = "words"
FUNCTION = "function"  # a `Key`; for programs the columns file, function, function_line
PLACE = "place"  # a `Place`; for programs also line
SOURCE = "source"  # a `Place`, shown by the text of its line

SOURCE_TITLE = "Line Contents"  # of columns of source, which may be cut at its end

OF_WORDS = frozenset({WORDS, FUNCTION, PLACE, SOURCE})


class UpTo(int):
    """A time (ns) that may be shorter."""

    __slots__ = ()


class About(int):
    """A size (bytes), or a number of blocks, that is an estimate from samples."""

    __slots__ = ()


@dataclass(frozen=True)
class Column:
    """One column."""

    kind: str
    title: str = ""  # for people; "": programs alone get the column
    _: KW_ONLY
    value: Callable[[Any], object] | None = None  # of a row; None: of the column's name
    shown: Callable[[Any, ShortNames], object] | None = None  # for people; text stays
    of: str = ""  # the column of which this one has the share in a sum, for people
    optional: bool = False  # people see it only if it has values, and a 0 is blank
    spare: int = 0  # a narrow terminal leaves out 1 first, then 2, and so on; 0 stays
    is_data: bool = True  # programs get the column, unless it is a share `of` another

    def getter(self, name: str) -> Callable[[Any], object]:
        """Return what gets the value of a row, for the name of this column."""
        return self.value or attrgetter(name)


Columns = Mapping[str, Column]


def text_of(place: Place | None, sources: Sources) -> str | None:
    """Return the text of a line; None if it is unknown, or no line of a file."""
    if place is None or not place[0][0]:
        return None
    return sources.line(place[0][0], place[1])
