"""Rows of a view as plain values for other programs: --json and --csv.

docs/json.md describes the columns. Times are in nanoseconds; None is an unknown value,
null in JSON and an empty field in CSV.
"""

from __future__ import annotations

import csv
import io
import json
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from lineprof.console.terminal import PLAIN
from lineprof.report.columns import (
    FUNCTION,
    PART,
    PLACE,
    SOURCE,
    text_of,
)
from lineprof.report.marks import PART_FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from lineprof.report.columns import Columns
    from lineprof.source import Sources

FORMAT = 1  # raised when a column changes its meaning or is removed


class Rows(NamedTuple):
    """The rows of a view."""

    columns: Sequence[str]  # names
    rows: Sequence[Mapping[str, object]]  # each has all columns, in order
    more: int = 0  # rows that --limit and --min-percent leave out
    totals: Mapping[str, object] = {}  # of the whole profile


def rows_of(
    columns: Columns,
    rows: Iterable[object],
    sources: Sources,
    *,
    more: int = 0,
    totals: Mapping[str, object] | None = None,
) -> Rows:
    """Return the values of `rows` in `columns`."""
    columns = {name: one for name, one in columns.items() if one.is_data and not one.of}
    names = [part for name, one in columns.items() for part in _names(name, one.kind)]
    getters = [(one.kind, one.getter(name)) for name, one in columns.items()]
    values = [
        [value for kind, get in getters for value in _values(kind, get(row), sources)]
        for row in rows
    ]
    done = [dict(zip(names, one)) for one in values]
    return Rows(columns=names, rows=done, more=more, totals=totals or {})


def _names(name: str, kind: str) -> Sequence[str]:
    """Return the names of the columns that a field becomes."""
    if kind == PLACE:
        return (*_names("function", FUNCTION), "line")
    if kind == FUNCTION:
        file = "file" if name == "function" else f"{name}_file"
        return file, name, f"{name}_line"
    if kind == PART:
        return [f"{name.removesuffix('part')}{one}" for one in PART_FIELDS]
    return (name,)


def _values(kind: str, value: Any, sources: Sources) -> Sequence[object]:  # noqa: ANN401  # of `kind`
    """Return the values of these columns; they are null for None."""
    if kind == SOURCE:
        return (text_of(value, sources),)
    if kind not in {PLACE, FUNCTION, PART}:
        return (value,)
    if value is None:
        return (None,) * len(_names("", kind))
    if kind == PLACE:
        return (*_values(FUNCTION, value[0], sources), value[1] or None)
    if kind == PART:
        part = value._replace(of_ns=value.of_ns or None)
        return [getattr(part, name) for name in PART_FIELDS]
    file, line, name = value
    return file, name, line


# The two forms.


def as_json(view: str, made: Rows, notes: Iterable[str]) -> Iterator[str]:
    """Yield one JSON object, with each row on a line."""
    head = {"format": FORMAT, "unit": "ns", "view": view, **made.totals}
    yield f'{json.dumps(head)[:-1]}, "rows": ['
    yield from separated([f" {json.dumps(row)}"] for row in made.rows)
    yield f'], "more": {made.more}, "notes": {json.dumps(list(notes))}}}'


def separated(items: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yield the lines of all items, with a comma after each but the last."""
    held = ""
    for item in items:
        if held:
            yield f"{held},"
            held = ""
        for line in item:
            if held:
                yield held
            held = line
    if held:
        yield held


def as_csv(made: Rows) -> Iterator[str]:
    """Yield a row of titles, then one for each row.

    Characters that act on a terminal become escapes, because CSV is often printed. A
    list or an object is written as JSON.
    """
    for values in chain([made.columns], (row.values() for row in made.rows)):
        stream = io.StringIO()
        csv.writer(stream, lineterminator="").writerow(map(_field, values))
        yield stream.getvalue()


def _field(value: object) -> object:
    if isinstance(value, str):
        return PLAIN.clean(value)
    return json.dumps(value) if isinstance(value, (list, dict)) else value
