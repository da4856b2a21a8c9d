"""A profile as a table of plain values: one row a line, the same columns in each."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from lineprof.console.terminal import PLAIN
from lineprof.errors import LineprofError
from lineprof.files import encoded
from lineprof.model.records import LineTotals
from lineprof.report import json_report
from lineprof.report.json_report import gpu_fields
from lineprof.report.options import Options
from lineprof.source import Sources

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pandas import DataFrame  # type: ignore[import-not-found,import-untyped,unused-ignore]

    from lineprof.model.profile import Profile
    from lineprof.model.records import FunctionStats

    Fields = dict[str, object]


# A profile as CSV: one row a line, for spreadsheets and scripts.


def csv_content(stats: Profile) -> Iterator[bytes]:
    """Yield the CSV of `stats`: a row of titles, then one a line; times in ns.

    An empty field is one that is not known. Characters that act on a terminal
    come as escapes, for its content is often printed.
    """
    rows = rows_of(stats)
    titles = list(rows[0]) if rows else columns_of({})
    yield from encoded([_csv_row(titles)])
    for row in rows:
        yield from encoded([_csv_row(list(row.values()))])


def _csv_row(values: list[object] | list[str]) -> str:
    """Return one row, quoted where it has to be."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="")
    writer.writerow([PLAIN.clean(v) if isinstance(v, str) else v for v in values])
    return stream.getvalue()


# A profile as a DataFrame of pandas, which may not be installed.


def data_frame(stats: Profile) -> DataFrame:
    """Return one row for each line: see `rows_of`; LineprofError without pandas."""
    try:
        import pandas as pd  # type: ignore[import-not-found,import-untyped,unused-ignore]  # noqa: PLC0415
    except ImportError as error:
        raise LineprofError(
            f"to_pandas() needs pandas, which cannot be imported ({error})",
            hint="install it: pip install pandas",
        ) from error
    rows = rows_of(stats)
    return pd.DataFrame(rows, columns=list(rows[0]) if rows else columns_of({}))


# A profile as the JSON that ``lineprof view --json`` shows.


def json_content(stats: Profile) -> Iterator[bytes]:
    """Yield the JSON of `stats`, times in nanoseconds."""
    yield from encoded(json_report.render(stats, Sources(stats.sources), Options()))


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


def _lines(function: FunctionStats, used_gpu: set[int]) -> list[LineTotals]:
    """Return the lines of a function, those with no numbers but a GPU's, too."""
    rows = {row.line: row for row in function.rows}
    for line in used_gpu:
        rows.setdefault(line, LineTotals(line))
    return [row for _, row in sorted(rows.items())]


def _flat(fields: Fields) -> Iterator[tuple[str, object]]:
    """Yield `fields`, each number of those by direction under a name of its own."""
    for name, value in fields.items():
        if isinstance(value, dict):
            for direction, number in value.items():
                yield name.replace("by_direction", direction), number
        else:
            yield name, value
