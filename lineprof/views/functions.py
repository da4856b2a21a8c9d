"""All functions with calls and times, as cProfile has them."""

from __future__ import annotations

from typing import NamedTuple

from lineprof.call_edges import numbers_of
from lineprof.gpu_lines import numbers_of_functions
from lineprof.short_names import short_names
from lineprof.views.grid import Times, counted, grid, in_words, times_for
from lineprof.views.orders import OF_FUNCTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from lineprof.call_edges import FunctionNumbers
    from lineprof.records import Key
    from lineprof.stats import Profile
    from lineprof.views.view import Options


class _Row(NamedTuple):
    """One function."""

    key: Key
    numbers: FunctionNumbers
    gpu_ns: int

    @property
    def per_call(self) -> float:
        """Its time by primitive call, as pstats has it (ns)."""
        return self.numbers.total_ns / (self.numbers.primitive_calls or 1)


# Each order's key, the least first: times and counts are negative, for their
# greatest are to come first.
_ORDERS: Mapping[str, Callable[[_Row], tuple[object, ...]]] = {
    "calls": lambda row: (-row.numbers.calls,),
    "primitive": lambda row: (-row.numbers.primitive_calls,),
    "self": lambda row: (-row.numbers.self_ns,),
    "cumulative": lambda row: (-row.numbers.total_ns,),
    "per-call": lambda row: (-row.per_call,),
    "gpu": lambda row: (-row.gpu_ns,),
    "name": lambda row: (row.key[2], row.key[0], row.key[1]),
    "file": lambda row: row.key,
}


def functions(stats: Profile, options: Options) -> Iterator[str]:
    """Yield a row for each function, in the order of `options.sort_by`."""
    rows = _rows(stats, options)
    numbers = [row.numbers for row in rows]
    calls = sum(one.calls for one in numbers)
    primitive = sum(one.primitive_calls for one in numbers)
    together = counted(calls, "call")
    if primitive != calls:
        together += f" ({primitive} of them primitive)"
    together += f" of {counted(len(rows), 'function')}"
    if stats.calls.nodes:
        together += f": {in_words(sum(one.self_ns for one in numbers))} in all"
    rows.sort(key=_ORDERS[OF_FUNCTIONS[options.sort_by or "cumulative"]])
    shown = rows[: options.limit or None]
    yield together
    yield ""
    has_gpu = any(row.gpu_ns for row in rows)
    times = times_for(max(row.numbers.total_ns, row.gpu_ns) for row in rows)
    own, total, gpu = times.titles("Self", "Cumulative", "GPU")
    titles = ["Calls", own, "Per Call", total, "Per Call", "Function"]
    if has_gpu:
        titles.insert(-1, gpu)
    names = short_names(row.key for row in rows)
    cells = [
        (*_texts(row, times, has_gpu=has_gpu), names.function(row.key)) for row in shown
    ]
    yield from grid(titles, cells, options.screen)
    if len(rows) > len(shown):
        yield ""
        more = len(rows) - len(shown)
        yield f"{more} more {'is' if more == 1 else 'are'} not shown"


def _rows(stats: Profile, options: Options) -> list[_Row]:
    gpu = numbers_of_functions(stats.gpu) if stats.gpu.sums else {}
    ran = {
        function.key
        for function in stats.functions
        if any(cell.hits or cell.time_ns for cell in function.cells)
    }
    return [
        _Row(key, numbers, gpu[key].gpu_ns if key in gpu else 0)
        for key, numbers in numbers_of(stats).items()
        if not options.skip_zero
        or (numbers.calls or numbers.total_ns or key in ran or key in gpu)
    ]


def _texts(row: _Row, times: Times, *, has_gpu: bool) -> Iterator[str]:
    """Yield the numbers of a row; what is per call is blank where none was."""
    numbers = row.numbers
    calls, primitive = numbers.calls, numbers.primitive_calls
    yield f"{calls}" if calls == primitive else f"{calls}/{primitive}"
    yield times.text(numbers.self_ns)
    yield _each(numbers.self_ns, calls)
    yield times.text(numbers.total_ns)
    yield _each(numbers.total_ns, primitive)
    if has_gpu:
        yield times.text(row.gpu_ns) if row.gpu_ns else ""


def _each(ns: int, count: int) -> str:
    return in_words(ns / count) if count else ""
