"""The profile for other programs, as JSON: docs/json.md describes it."""

from __future__ import annotations

from lineprof.gpu_records import NO_GPU
from lineprof.records import Row
from lineprof.views.view import RAW, SKIP_ZERO, SORT, Options, View, uncalibrated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lineprof.records import FunctionStats
    from lineprof.source import Sources
    from lineprof.stats import LineStats
    from lineprof.views.json_gpu import GpuFields

FORMAT = 1  # raised when a field changes its meaning or goes


def render(stats: LineStats, sources: Sources, options: Options) -> Iterator[str]:
    """Yield the profile as one JSON object; every measured line on a line."""
    if options.raw:
        stats = uncalibrated(stats)
    functions = list(stats.functions)
    if options.skip_zero:
        functions = [function for function in functions if function.cells]
    if options.sort:
        functions.sort(key=lambda function: function.total_ns)
    gpu, once = _gpu(stats)
    yield f'{{"format": {FORMAT}, "unit": "ns",'
    yield ' "functions": ['
    yield from _separated(_function(function, sources, gpu) for function in functions)
    yield " ],"
    yield ' "processes": ['
    yield from _separated([f"  {_json(vars(one))}"] for one in stats.processes)
    yield " ],"
    yield f' "warnings": {_json(stats.warnings)}{once}}}'


def _gpu(stats: LineStats) -> tuple[GpuFields | None, str]:
    """Return the GPU numbers of lines and functions, and the field of the whole."""
    if stats.gpu == NO_GPU:
        return None, ""
    from lineprof.views.json_gpu import gpu_fields, summary  # noqa: PLC0415  # seldom

    once = summary(stats.gpu)
    return gpu_fields(stats.gpu), f',\n "gpu": {_json(once)}' if once else ""


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
    function: FunctionStats, sources: Sources, gpu: GpuFields | None
) -> Iterator[str]:
    known = {
        "file": function.file,
        "name": function.name,
        "line": function.line,
        "total_ns": function.total_ns,
        "calls": function.calls,
        **(gpu.of_function(function.key) if gpu else {}),
    }
    yield f'  {_json(known)[:-1]}, "lines": ['
    yield from _separated([line] for line in _lines(function, sources, gpu))
    yield "  ]}"


def _lines(
    function: FunctionStats, sources: Sources, gpu: GpuFields | None
) -> Iterator[str]:
    rows = {row.line: row for row in function.rows}
    if gpu:  # a line may have launched, and yet have no numbers of its own
        more = gpu.lines_of(function.key) - rows.keys()
        rows.update({line: Row(line, 0, 0, 0, 0) for line in more})
    for line, row in sorted(rows.items()):
        known = {
            "line": line,
            "hits": row.hits,
            "time_ns": row.time_ns,
            "await_ns": row.await_ns,
            "raw_ns": row.raw_ns,
            **(gpu.of_line(function.key, line) if gpu else {}),
            "source": sources.line(function.file, line),
        }
        yield f"   {_json(known)}"


VIEW = View(
    name="json",
    suffix=".json",
    help="JSON for other programs, times in nanoseconds",
    options=(SKIP_ZERO, SORT, RAW),
    render=render,
)
