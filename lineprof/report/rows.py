"""The views of calls as rows of plain values, for other programs: --json and --csv.

docs/json.md describes the columns. Times are in nanoseconds; None is an unknown value,
null in JSON and an empty field in CSV.
"""

from __future__ import annotations

import csv
import io
import json
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from lineprof.console.terminal import PLAIN
from lineprof.model.call_graph import (
    call_path_tree,
    edge_gpu_ns,
    edges,
    function_totals,
    line_self_ns,
)
from lineprof.model.gpu import numbers_of_lines
from lineprof.model.own_waits import own_waits
from lineprof.report.drill_down import sections
from lineprof.report.functions import (
    UNKNOWN_CALLER,
    edges_into,
    hits_of_lines,
    hottest_lines,
    listed_functions,
    unknown_calls,
)
from lineprof.report.limits import limited
from lineprof.report.lookup import Finder
from lineprof.report.marks import Marks
from lineprof.report.options import min_percent_of_calls

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lineprof.model.call_graph import CallPath, Edge
    from lineprof.model.profile import Profile
    from lineprof.model.records import Key
    from lineprof.report.options import Options
    from lineprof.source import Sources

    Row = dict[str, object]

FORMAT = 1  # raised when a column changes its meaning or is removed


class Rows(NamedTuple):
    """The rows of a view."""

    columns: tuple[str, ...]  # of each row, in this order
    rows: Sequence[Row]
    more: int = 0  # rows that --limit and --min-percent leave out
    totals: Row | None = None  # of the whole profile


_FUNCTION = ("file", "function", "function_line")

_PART = ("from_ns", "until_ns", "lines_until_ns", "of_ns")  # of the run: see `marks`

_CALLS = ("calls", "primitive_calls", "total_ns", "inclusive_ns")

_HOT = (
    *(*_FUNCTION, "line", "hits", "self_ns"),
    *("own_wait_min_ns", "own_wait_max_ns", "own_wait_cause", "gpu_self_ns"),
    *(*_PART, "source"),
)

_FUNCTIONS = (
    *(*_FUNCTION, "calls", "primitive_calls", "self_ns", "total_ns", "gpu_ns"),
    *_PART,
)

_TREE = (
    *("id", "parent_id", "depth", "call_line"),
    *(*_FUNCTION, "calls", "self_ns", "inclusive_ns", *_PART),
)

_CALLERS = (
    *(*_FUNCTION, *_PART),
    *("caller_file", "caller", "caller_line"),
    *(f"caller_{name}" for name in _PART),
    *("call_line", *_CALLS, "gpu_ns", "source"),
)

_DRILL = (
    *("path", *_FUNCTION, "line", "hits", "time_ns", "self_ns"),
    *("callee_file", "callee", "callee_line", *_CALLS, "gpu_ns"),
    *(*_PART, "source"),
)


# The two forms.


def as_json(view: str, made: Rows, notes: Iterable[str]) -> Iterator[str]:
    """Yield one JSON object, with each row on a line."""
    head = {"format": FORMAT, "unit": "ns", "view": view, **(made.totals or {})}
    yield f'{json.dumps(head)[:-1]}, "rows": ['
    last = len(made.rows) - 1
    for index, row in enumerate(made.rows):
        yield f" {json.dumps(row)}{',' if index < last else ''}"
    yield f'], "more": {made.more}, "notes": {json.dumps(list(notes))}}}'


def as_csv(made: Rows) -> Iterator[str]:
    """Yield a row of titles, then one for each row.

    Characters that act on a terminal become escapes, because CSV is often printed.
    """
    cells = ([row[name] for name in made.columns] for row in made.rows)
    for values in chain([made.columns], cells):
        stream = io.StringIO()
        texts = [PLAIN.clean(v) if isinstance(v, str) else v for v in values]
        csv.writer(stream, lineterminator="").writerow(texts)
        yield stream.getvalue()


# The views.


def hot(profile: Profile, sources: Sources, options: Options) -> Rows:
    """Return the rows of --hot."""
    found = hottest_lines(profile, options)
    lines = [(row.key, row.line) for row in found.shown]
    hits, waits = hits_of_lines(profile, {*lines}), own_waits(profile, lines)
    marks, rows = Marks(profile), []
    for row in found.shown:
        place = (row.key, row.line)
        wait = waits.get(place)
        rows.append(
            {
                **_named(row.key),
                "line": row.line,
                "hits": hits[place],
                "self_ns": row.self_ns,
                "own_wait_min_ns": wait.min_ns if wait else None,
                "own_wait_max_ns": wait.max_ns if wait else None,
                "own_wait_cause": (wait.cause if wait else "") or None,
                "gpu_self_ns": row.gpu_ns if profile.gpu.sums else None,
                **marks.columns(row.key),
                "source": sources.line(row.key[0], row.line),
            }
        )
    totals: Row = {"self_ns": found.self_ns}
    more = found.lines - len(rows)
    return Rows(columns=_HOT, rows=rows, more=more, totals=totals)


def functions(profile: Profile, _: Sources, options: Options) -> Rows:
    """Return the rows of --functions."""
    every, shown = listed_functions(profile, options)
    marks = Marks(profile)
    rows: list[Row] = [
        {
            **_named(row.key),
            "calls": row.numbers.calls,
            "primitive_calls": row.numbers.primitive_calls,
            "self_ns": row.numbers.self_ns,
            "total_ns": row.numbers.total_ns,
            "gpu_ns": row.gpu_ns if profile.gpu.sums else None,
            **marks.columns(row.key),
        }
        for row in shown
    ]
    totals: Row = {"self_ns": sum(row.numbers.self_ns for row in every)}
    more = len(every) - len(shown)
    return Rows(columns=_FUNCTIONS, rows=rows, more=more, totals=totals)


def tree(profile: Profile, _: Sources, options: Options) -> Rows:
    """Return the rows of --tree: every call path, each before those below it."""
    root, marks = call_path_tree(profile), Marks(profile)
    least_ns = min_percent_of_calls(options) / 100 * root.inclusive_ns
    rows: list[Row] = []
    more = 0
    todo: list[tuple[CallPath, int | None, int]] = [
        (path, None, 1) for path in reversed(root.children.values())
    ]
    while todo:
        path, parent, depth = todo.pop()
        is_full = options.limit and len(rows) == options.limit
        if is_full or path.inclusive_ns < least_ns:
            more += 1
            continue
        number = len(rows)
        rows.append(
            {
                "id": number,
                "parent_id": parent,
                "depth": depth,
                "call_line": path.line or None,
                **_named(path.function or ("", 0, "")),
                "calls": path.calls,
                "self_ns": path.self_ns,
                "inclusive_ns": path.inclusive_ns,
                **marks.columns(path.function),
            }
        )
        if not options.depth or depth < options.depth:
            todo += [
                (below, number, depth + 1) for below in reversed(path.children.values())
            ]
    totals: Row = {"inclusive_ns": root.inclusive_ns}
    return Rows(columns=_TREE, rows=rows, more=more, totals=totals)


def callers(profile: Profile, sources: Sources, options: Options) -> Rows:
    """Return the rows of --callers; LineprofError for an unknown function."""
    totals = function_totals(profile)
    finder, marks = Finder(totals), Marks(profile)
    every = edges(profile.calls)
    gpu = edge_gpu_ns(profile) if profile.gpu.sums else {}
    rows: list[Row] = []
    more = 0
    for target in options.targets:
        key = finder.called(target, sources)
        into = edges_into(every, key)
        whole_ns = sum(edge.total_ns for edge in into)
        shown = limited(into, options, lambda edge: edge.total_ns, whole_ns)
        more += len(into) - len(shown)
        called = {**_named(key), **marks.columns(key)}
        for edge in shown:
            site = (edge.caller, edge.line, key)
            file = edge.caller[0] if edge.caller else ""
            rows.append(
                {
                    **called,
                    **_named(edge.caller, "caller"),
                    **marks.columns(edge.caller, "caller_"),
                    "call_line": edge.line or None,
                    **_numbers(edge),
                    "gpu_ns": gpu.get(site, 0) if profile.gpu.sums else None,
                    "source": sources.line(file, edge.line) if file else None,
                }
            )
        rest = unknown_calls(totals[key], into)
        if rest is not None:
            row = {**dict.fromkeys(_CALLERS), **called, **rest._asdict()}
            rows.append({**row, "caller": UNKNOWN_CALLER})
    return Rows(columns=_CALLERS, rows=rows, more=more)


def drill(profile: Profile, sources: Sources, options: Options) -> Rows:
    """Return the rows of --drill: each line, and below it its callees."""
    calls, found, more = sections(profile, sources, options)
    by_key = {function.key: function for function in profile.functions}
    own, marks = line_self_ns(profile), Marks(profile)
    gpu_lines = numbers_of_lines(profile.gpu) if profile.gpu.sums else {}
    rows: list[Row] = []
    for path, key in found:
        callees: dict[int, list[Edge]] = {}
        for edge in calls.by(key):
            callees.setdefault(edge.line, []).append(edge)
        for line in by_key[key].rows:
            numbers = gpu_lines.get(key, {}).get(line.line)
            place: Row = {"path": path, **_named(key), "line": line.line}
            rows.append(
                {
                    **place,
                    "hits": line.hits,
                    "time_ns": line.time_ns,
                    "self_ns": own.get(key, {}).get(line.line),
                    **_named(None, "callee"),
                    **dict.fromkeys(_CALLS),
                    "gpu_ns": numbers.gpu_ns if numbers else None,
                    **marks.columns(key),
                    "source": sources.line(key[0], line.line),
                }
            )
            rows += [
                {
                    **place,
                    **dict.fromkeys(("hits", "time_ns", "self_ns")),
                    **_named(edge.callee, "callee"),
                    **_numbers(edge),
                    "gpu_ns": calls.gpu.get((key, edge.line, edge.callee)),
                    **marks.columns(edge.callee),
                    "source": None,
                }
                for edge in callees.get(line.line, ())
            ]
    return Rows(columns=_DRILL, rows=rows, more=more)


# Values of columns.


def _named(key: Key | None, column: str = "function") -> Row:
    """Return the columns that name a function, which are null for none."""
    file = "file" if column == "function" else f"{column}_file"
    names = (file, column, f"{column}_line")
    if key is None:
        return dict.fromkeys(names)
    return dict(zip(names, (key[0], key[2], key[1])))


def _numbers(edge: Edge) -> Row:
    """Return the columns with the numbers of an edge."""
    return {name: getattr(edge, name) for name in _CALLS}
