"""A profile as a table of plain values: one row a line, the same columns in each."""

from __future__ import annotations

from lineprof.records import Row
from lineprof.source import Sources
from lineprof.views.json_gpu import gpu_fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.records import FunctionStats
    from lineprof.stats import Profile

    Fields = dict[str, object]

COLUMNS = (
    *("file", "function", "function_line", "line"),
    *("hits", "time_ns", "await_ns", "raw_ns", "min_ns", "max_ns"),
)
SOURCE = "source"  # the last column


def rows_of(stats: Profile) -> list[Fields]:
    """Return a row for each line that was measured; times in nanoseconds.

    The columns are `COLUMNS`, then those of GPU work that any line has, under
    the names of the JSON view, then the line's source. None stands for what
    is not known.
    """
    sources = Sources(stats.sources)
    gpu = gpu_fields(stats.gpu)
    rows: list[Fields] = []
    more: dict[str, None] = {}
    for function in stats.functions:
        for row in _lines(function, gpu.lines_of(function.key)):
            beside = dict(_flat(gpu.of_line(function.key, row.line)))
            more.update(dict.fromkeys(beside))
            numbers: Fields = row._asdict()
            if row.time_ns and not row.raw_ns:  # as in a profile of line_profiler
                numbers["raw_ns"] = None
            source = sources.line(function.file, row.line)
            place = {
                "file": function.file,
                "function": function.name,
                "function_line": function.line,
            }
            rows.append({**place, **numbers, **beside, SOURCE: source})
    names = columns_of(more)
    return [{name: row.get(name) for name in names} for row in rows]


def columns_of(more: dict[str, None]) -> list[str]:
    """Return the names of all columns, with `more` before the source."""
    return [*COLUMNS, *more, SOURCE]


def _lines(function: FunctionStats, used_gpu: set[int]) -> list[Row]:
    """Return the lines of a function, those with no numbers but a GPU's, too."""
    rows = {row.line: row for row in function.rows}
    for line in used_gpu:
        rows.setdefault(line, Row(line))
    return [row for _, row in sorted(rows.items())]


def _flat(fields: Fields) -> Iterator[tuple[str, object]]:
    """Yield `fields`, each number of those by direction under a name of its own."""
    for name, value in fields.items():
        if isinstance(value, dict):
            for direction, number in value.items():
                yield name.replace("by_direction", direction), number
        else:
            yield name, value
