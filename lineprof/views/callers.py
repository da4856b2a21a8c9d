"""Who calls one function: the lines, how often, and what it cost."""

from __future__ import annotations

from typing import NamedTuple

from lineprof.call_edges import edges, gpu_of_edges, numbers_of
from lineprof.gpu_lines import numbers_of_functions
from lineprof.short_names import OUTSIDE
from lineprof.views.find import Finder
from lineprof.views.grid import Times, grid, percent, times_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lineprof.call_edges import Edge, FunctionNumbers
    from lineprof.short_names import ShortNames
    from lineprof.source import Sources
    from lineprof.stats import Profile
    from lineprof.views.view import Options

_UNKNOWN = "not known from where"


class _Row(NamedTuple):
    """One line that calls, or all together."""

    place: str
    caller: str
    source: str
    calls: int
    primitive_calls: int
    total_ns: int
    inclusive_ns: int
    gpu_ns: int


def callers(stats: Profile, sources: Sources, options: Options) -> Iterator[str]:
    """Yield who calls each of `options.targets`; LineprofError for an unknown one."""
    numbers = numbers_of(stats)
    finder = Finder(numbers)
    every = edges(stats.calls)
    gpu = gpu_of_edges(stats) if stats.gpu.sums else {}
    gpu_of = numbers_of_functions(stats.gpu) if stats.gpu.sums else {}
    for place, key in enumerate(map(finder.function, options.targets)):
        if place:
            yield ""
        into = [edge for edge in every if edge.callee == key]
        into.sort(key=lambda edge: (-edge.total_ns, -edge.inclusive_ns, -edge.calls))
        rows = [
            _row(edge, gpu.get((edge.caller, edge.line, key), 0), sources, finder.names)
            for edge in into
        ]
        yield f"{finder.names.called(key)} is called from:"
        yield ""
        gpu_ns = gpu_of[key].gpu_ns if key in gpu_of else 0
        yield from _table(rows, numbers[key], gpu_ns, options)


def _row(edge: Edge, gpu_ns: int, sources: Sources, names: ShortNames) -> _Row:
    place, caller, text = "", OUTSIDE, ""
    if edge.caller is not None:
        file, _, caller = edge.caller
        if file:
            place = names.line(file, edge.line)
            text = (sources.line(file, edge.line) or "").strip()
        else:  # of C: it has no lines
            caller = names.function(edge.caller)
    if edge.caller == edge.callee:
        caller += " (itself)"
    return _Row(
        place,
        caller,
        text,
        edge.calls,
        edge.primitive_calls,
        edge.total_ns,
        edge.inclusive_ns,
        gpu_ns,
    )


def _table(
    rows: list[_Row], whole: FunctionNumbers, gpu_ns: int, options: Options
) -> Iterator[str]:
    """Yield the rows and below them their sum, which is the function's `whole`.

    GPU time is not summed: what a function that recurs has launched counts for
    each line on the way.
    """
    known = _sums(rows)
    calls, primitive = whole.calls - known[0], whole.primitive_calls - known[1]
    rest_ns = whole.total_ns - known[2]
    if not rows or calls > 0 or rest_ns > 0:
        rest = (max(0, calls), max(0, primitive), max(0, rest_ns), max(0, rest_ns))
        rows = [*rows, _Row("", _UNKNOWN, "", *rest, gpu_ns=0)]
    total = _Row("", "all together", "", *_sums(rows), gpu_ns=gpu_ns)
    times = times_for(max(row.inclusive_ns, row.gpu_ns) for row in (*rows, total))
    once, inclusive, gpu = times.titles("Time", "Inclusive", "GPU")
    titles = ["Calls", once, "Share", "Line", "Caller", "Line Contents"]
    recursive = any(row.inclusive_ns != row.total_ns for row in rows)
    if total.gpu_ns:
        titles.insert(3, gpu)
    if recursive:  # each call counts, however deep it is
        titles.insert(3, inclusive)
    cells = [_texts(row, total, times, recursive=recursive) for row in (*rows, total)]
    yield from grid(titles, cells, options.screen, words=3)


def _sums(rows: list[_Row]) -> tuple[int, int, int, int]:
    """Return the sums of calls, primitive calls and both times."""
    return (
        sum(row.calls for row in rows),
        sum(row.primitive_calls for row in rows),
        sum(row.total_ns for row in rows),
        sum(row.inclusive_ns for row in rows),
    )


def _texts(row: _Row, total: _Row, times: Times, *, recursive: bool) -> Sequence[str]:
    calls = f"{row.calls}"
    if row.primitive_calls != row.calls:
        calls += f"/{row.primitive_calls}"
    texts = [calls, times.text(row.total_ns), percent(row.total_ns, total.total_ns)]
    if recursive:
        texts.append(times.text(row.inclusive_ns))
    if total.gpu_ns:
        texts.append(times.text(row.gpu_ns) if row.gpu_ns else "")
    return [*texts, row.place, row.caller, row.source]
