"""The profile for other programs, as JSON: docs/json.md describes it."""

from __future__ import annotations

from lineprof.records import Row
from lineprof.views.view import RAW, SKIP_ZERO, SORT, Options, View, uncalibrated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lineprof.records import FunctionStats
    from lineprof.source import Sources
    from lineprof.stats import Profile
    from lineprof.views.json_calls import CallFields
    from lineprof.views.json_gpu import GpuFields

    Fields = tuple[GpuFields, CallFields]

FORMAT = 1  # raised when a field changes its meaning or goes


def render(stats: Profile, sources: Sources, options: Options) -> Iterator[str]:
    """Yield the profile as one JSON object; every measured line on a line."""
    if options.raw:
        stats = uncalibrated(stats)
    from lineprof.views.json_calls import call_fields, call_list  # noqa: PLC0415
    from lineprof.views.json_gpu import gpu_fields, summary  # noqa: PLC0415  # as json

    gpu = gpu_fields(stats.gpu)
    fields = (gpu, call_fields(stats, raw=options.raw))
    functions = list(stats.functions)
    if options.skip_zero:
        functions = [one for one in functions if one.cells or one.key in gpu.functions]
    if options.sort:
        functions.sort(key=lambda function: function.total_ns)
    yield f'{{"format": {FORMAT}, "unit": "ns",'
    yield ' "functions": ['
    yield from _separated(_function(one, sources, fields) for one in functions)
    yield " ],"
    if stats.calls.nodes:
        yield ' "calls": ['
        yield from _separated([f"  {_json(edge)}"] for edge in call_list(stats))
        yield " ],"
    yield ' "processes": ['
    yield from _separated([f"  {_json(one._asdict())}"] for one in stats.processes)
    yield " ],"
    once = summary(stats.gpu)
    yield f' "warnings": {_json(stats.warnings)}{"," if once else "}"}'
    if once:
        yield f' "gpu": {_json(once)}}}'


def _json(value: object) -> str:
    import json  # noqa: PLC0415  # the other views need none

    return json.dumps(value)


def _separated(items: Iterable[Iterable[str]]) -> Iterator[str]:
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


def _function(
    function: FunctionStats, sources: Sources, fields: Fields
) -> Iterator[str]:
    gpu, calls = fields
    known = {
        "file": function.file,
        "name": function.name,
        "line": function.line,
        "total_ns": function.total_ns,
        "calls": function.calls,
        **calls.of_function(function.key),
        **gpu.of_function(function.key),
    }
    yield f'  {_json(known)[:-1]}, "lines": ['
    yield from _separated([line] for line in _lines(function, sources, fields))
    yield "  ]}"


def _lines(function: FunctionStats, sources: Sources, fields: Fields) -> Iterator[str]:
    gpu, calls = fields
    rows = {row.line: row for row in function.rows}
    for line in gpu.lines_of(function.key):  # these may have no numbers of their own
        rows.setdefault(line, Row(line))
    for line, row in sorted(rows.items()):
        known = {
            "line": line,
            "hits": row.hits,
            "time_ns": row.time_ns,
            "await_ns": row.await_ns,
            "raw_ns": row.raw_ns,
            **_extremes(row),
            **calls.of_line(function.key, line),
            **gpu.of_line(function.key, line),
            "source": sources.line(function.file, line),
        }
        yield f"   {_json(known)}"


def _extremes(row: Row) -> dict[str, object]:
    """Return the times of the shortest and the longest execution, if known."""
    if row.min_ns is None or row.max_ns is None:
        return {}
    return {"min_ns": row.min_ns, "max_ns": row.max_ns}


VIEW = View(
    name="json",
    suffix=".json",
    help="JSON for other programs, times in nanoseconds",
    options=(SKIP_ZERO, SORT, RAW),
    render=render,
)
