"""Tables of plain values: CSV, JSON and a DataFrame, with one row for each line."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from lineprof.errors import LineprofError
from lineprof.files import encoded
from lineprof.model.records import LineTotals
from lineprof.report import json_report
from lineprof.report.json_report import GpuFields, LineFields, MemoryFields, lines_of
from lineprof.report.options import Options
from lineprof.report.rows import Rows, as_csv
from lineprof.source import sources_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pandas import DataFrame  # type: ignore[import-not-found,import-untyped,unused-ignore]

    from lineprof.model.profile import Profile

    Fields = dict[str, object]

COLUMNS = ("file", "function", "function_line", *LineTotals._fields)

SOURCE = "source"  # the last column


def rows_of(profile: Profile) -> Rows:
    """Return a row for each measured line; times in nanoseconds.

    The columns are `COLUMNS`, then those of GPU work and of memory that any line has,
    under the names in ``view --json``, then the line's source. An unknown value is
    None.
    """
    sources = sources_of(profile)
    parts: list[LineFields] = [GpuFields(profile.gpu), MemoryFields(profile.memory)]
    rows: list[Fields] = []
    part_columns: list[dict[str, None]] = [{} for _ in parts]
    for function in profile.functions:
        for row in lines_of(function, parts):
            values: Fields = {}
            for part, columns in zip(parts, part_columns):
                found = dict(_flat(part.of_line(function.key, row.line)))
                columns.update(dict.fromkeys(found))
                values.update(found)
            numbers: Fields = row._asdict()
            if row.time_ns and not row.raw_ns:  # in a profile of line_profiler
                numbers["raw_ns"] = None
            source = sources.line(function.file, row.line)
            place = {
                "file": function.file,
                "function": function.name,
                "function_line": function.line,
            }
            rows.append({**place, **numbers, **values, SOURCE: source})
    names = [*COLUMNS, *chain.from_iterable(part_columns), SOURCE]
    return Rows(
        columns=names, rows=[{name: row.get(name) for name in names} for row in rows]
    )


def _flat(fields: Fields) -> Iterator[tuple[str, object]]:
    """Yield `fields`; each field by direction becomes one field a direction."""
    for name, value in fields.items():
        if isinstance(value, dict):
            for direction, number in value.items():
                yield name.replace("by_direction", direction), number
        else:
            yield name, value


def csv_content(profile: Profile) -> Iterator[bytes]:
    """Return the CSV: a row of titles, then one for each line; times in ns.

    An unknown value is an empty field.
    """
    return encoded(as_csv(rows_of(profile)))


def json_content(profile: Profile) -> Iterator[bytes]:
    """Return the JSON of ``lineprof view --json``; times in ns."""
    return encoded(json_report.render(profile, sources_of(profile), Options()))


def csv_remarks(profile: Profile) -> Iterator[str]:
    """Yield which source files were not read, one line each."""
    sources = sources_of(profile)
    for function in profile.functions:
        sources.lines(function.file)
    yield from sources.remarks()


json_remarks = csv_remarks


def data_frame(profile: Profile) -> DataFrame:
    """Return a row for each line, as `rows_of` does.

    Raises LineprofError if pandas cannot be imported.
    """
    try:
        import pandas as pd  # type: ignore[import-not-found,import-untyped,unused-ignore]  # noqa: PLC0415
    except ImportError as error:
        raise LineprofError(
            f"to_pandas() needs pandas, which cannot be imported ({error})",
            hint="install it: pip install pandas",
        ) from error
    rows = rows_of(profile)
    return pd.DataFrame(rows.rows, columns=rows.columns)
