"""All functions with calls and times, as cProfile has them."""

from __future__ import annotations

from heapq import nlargest
from typing import TYPE_CHECKING, NamedTuple

from lineprof.model.call_graph import edges, gpu_of_edges, numbers_of, own_line_ns
from lineprof.model.gpu import numbers_of_functions, numbers_of_lines
from lineprof.model.names import OUTSIDE, short_names
from lineprof.report.lookup import Finder
from lineprof.report.options import FUNCTION_ORDERS
from lineprof.report.text_grid import (
    TimeUnit,
    counted,
    grid,
    in_words,
    percent,
    percent_of,
    time_unit_for,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from lineprof.model.call_graph import Edge, FunctionNumbers
    from lineprof.model.names import ShortNames
    from lineprof.model.profile import Profile
    from lineprof.model.records import Key
    from lineprof.report.options import Options
    from lineprof.source import Sources


# What a reader of the views of calls should know beside their rows, a line each.


NO_CALLS = (
    "the profile does not say who called whom: a function's time is that of all its"
    " lines, with what these called"
)


def call_notes(profile: Profile, _: Options) -> Iterator[str]:
    """Yield what the profile does not know of calls."""
    if not profile.calls.nodes:
        if not profile.why_empty:  # that will be said, and is enough
            yield NO_CALLS
    elif profile.calls.folded:
        yield (
            f"there were too many ways to keep them all: {profile.calls.folded} calls"
            " count where another way to the same function stands"
        )


# Who calls one function: the lines, how often, and what it cost.


_UNKNOWN = "not known from where"


class _CallerRow(NamedTuple):
    """One line that calls, or all together."""

    place: str
    caller: str
    source: str
    calls: int
    primitive_calls: int
    total_ns: int
    inclusive_ns: int
    gpu_ns: int


def callers(profile: Profile, sources: Sources, options: Options) -> Iterator[str]:
    """Yield who calls each of `options.targets`; LineprofError for an unknown one."""
    numbers = numbers_of(profile)
    finder = Finder(numbers)
    every = edges(profile.calls)
    gpu = gpu_of_edges(profile) if profile.gpu.sums else {}
    gpu_of = numbers_of_functions(profile.gpu) if profile.gpu.sums else {}
    for place, key in enumerate(map(finder.function, options.targets)):
        if place:
            yield ""
        into = [edge for edge in every if edge.callee == key]
        into.sort(key=lambda edge: (-edge.total_ns, -edge.inclusive_ns, -edge.calls))
        rows = [
            _caller_row(
                edge, gpu.get((edge.caller, edge.line, key), 0), sources, finder.names
            )
            for edge in into
        ]
        yield f"{finder.names.called(key)} is called from:"
        yield ""
        gpu_ns = gpu_of[key].gpu_ns if key in gpu_of else 0
        yield from _caller_table(rows, numbers[key], gpu_ns, options)


def _caller_row(
    edge: Edge, gpu_ns: int, sources: Sources, names: ShortNames
) -> _CallerRow:
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
    return _CallerRow(
        place,
        caller,
        text,
        edge.calls,
        edge.primitive_calls,
        edge.total_ns,
        edge.inclusive_ns,
        gpu_ns,
    )


def _caller_table(
    rows: list[_CallerRow], whole: FunctionNumbers, gpu_ns: int, options: Options
) -> Iterator[str]:
    """Yield the rows and below them their sum, which is the function's `whole`.

    GPU time is not summed: what a function that recurs has launched counts for
    each line on the way.
    """
    known = _caller_sums(rows)
    calls, primitive = whole.calls - known[0], whole.primitive_calls - known[1]
    rest_ns = whole.total_ns - known[2]
    if not rows or calls > 0 or rest_ns > 0:
        rest = (max(0, calls), max(0, primitive), max(0, rest_ns), max(0, rest_ns))
        rows = [*rows, _CallerRow("", _UNKNOWN, "", *rest, gpu_ns=0)]
    total = _CallerRow("", "all together", "", *_caller_sums(rows), gpu_ns=gpu_ns)
    times = time_unit_for(max(row.inclusive_ns, row.gpu_ns) for row in (*rows, total))
    once, inclusive, gpu = times.titles("Time", "Inclusive", "GPU")
    titles = ["Calls", once, "Share", "Line", "Caller", "Line Contents"]
    recursive = any(row.inclusive_ns != row.total_ns for row in rows)
    if total.gpu_ns:
        titles.insert(3, gpu)
    if recursive:  # each call counts, however deep it is
        titles.insert(3, inclusive)
    cells = [
        _caller_texts(row, total, times, recursive=recursive) for row in (*rows, total)
    ]
    yield from grid(titles, cells, options.terminal, words=3)


def _caller_sums(rows: list[_CallerRow]) -> tuple[int, int, int, int]:
    """Return the sums of calls, primitive calls and both times."""
    return (
        sum(row.calls for row in rows),
        sum(row.primitive_calls for row in rows),
        sum(row.total_ns for row in rows),
        sum(row.inclusive_ns for row in rows),
    )


def _caller_texts(
    row: _CallerRow, total: _CallerRow, times: TimeUnit, *, recursive: bool
) -> Sequence[str]:
    calls = f"{row.calls}"
    if row.primitive_calls != row.calls:
        calls += f"/{row.primitive_calls}"
    texts = [calls, times.text(row.total_ns), percent(row.total_ns, total.total_ns)]
    if recursive:
        texts.append(times.text(row.inclusive_ns))
    if total.gpu_ns:
        texts.append(times.text(row.gpu_ns) if row.gpu_ns else "")
    return [*texts, row.place, row.caller, row.source]


class _FunctionRow(NamedTuple):
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
_ORDERS: Mapping[str, Callable[[_FunctionRow], tuple[object, ...]]] = {
    "calls": lambda row: (-row.numbers.calls,),
    "primitive": lambda row: (-row.numbers.primitive_calls,),
    "self": lambda row: (-row.numbers.self_ns,),
    "cumulative": lambda row: (-row.numbers.total_ns,),
    "per-call": lambda row: (-row.per_call,),
    "gpu": lambda row: (-row.gpu_ns,),
    "name": lambda row: (row.key[2], row.key[0], row.key[1]),
    "file": lambda row: row.key,
}


def functions(profile: Profile, _: Sources, options: Options) -> Iterator[str]:
    """Yield a row for each function, in the order of `options.sort_by`."""
    rows = _function_rows(profile, options)
    numbers = [row.numbers for row in rows]
    calls = sum(one.calls for one in numbers)
    primitive = sum(one.primitive_calls for one in numbers)
    together = counted(calls, "call")
    if primitive != calls:
        together += f" ({primitive} of them primitive)"
    together += f" of {counted(len(rows), 'function')}"
    if profile.calls.nodes:
        together += f": {in_words(sum(one.self_ns for one in numbers))} in all"
    rows.sort(key=_ORDERS[FUNCTION_ORDERS[options.sort_by or "cumulative"]])
    shown = rows[: options.limit or None]
    yield together
    yield ""
    has_gpu = any(row.gpu_ns for row in rows)
    times = time_unit_for(max(row.numbers.total_ns, row.gpu_ns) for row in rows)
    own, total, gpu = times.titles("Self", "Cumulative", "GPU")
    titles = ["Calls", own, "Per Call", total, "Per Call", "Function"]
    if has_gpu:
        titles.insert(-1, gpu)
    names = short_names(row.key for row in rows)
    cells = [
        (*_function_texts(row, times, has_gpu=has_gpu), names.function(row.key))
        for row in shown
    ]
    yield from grid(titles, cells, options.terminal)
    if len(rows) > len(shown):
        yield ""
        more = len(rows) - len(shown)
        yield f"{more} more {'is' if more == 1 else 'are'} not shown"


def _function_rows(profile: Profile, options: Options) -> list[_FunctionRow]:
    gpu = numbers_of_functions(profile.gpu) if profile.gpu.sums else {}
    ran = {
        function.key
        for function in profile.functions
        if any(cell.hits or cell.time_ns for cell in function.cells)
    }
    return [
        _FunctionRow(key, numbers, gpu[key].gpu_ns if key in gpu else 0)
        for key, numbers in numbers_of(profile).items()
        if not options.skip_zero
        or (numbers.calls or numbers.total_ns or key in ran or key in gpu)
    ]


def _function_texts(
    row: _FunctionRow, times: TimeUnit, *, has_gpu: bool
) -> Iterator[str]:
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


# The lines of the whole program that took most time themselves.


_EMPHASIZED = 20  # %


class _HotLine(NamedTuple):
    """One line."""

    key: Key
    line: int
    own_ns: int  # without what it called
    gpu_ns: int  # that no line further in has caused


def hot(profile: Profile, sources: Sources, options: Options) -> Iterator[str]:
    """Yield the `options.lines` most expensive lines, the first one first.

    What counts is the greater of a line's own time and the GPU time that it
    has caused itself: a line may do no more than start a kernel.
    """
    rows = _hot_lines(profile)
    shown = nlargest(options.lines, rows, key=lambda row: max(row.own_ns, row.gpu_ns))
    own, gpu = (sum(row.own_ns for row in rows), sum(row.gpu_ns for row in rows))
    gpu_words = f" and {in_words(gpu)} on GPUs" if gpu else ""
    yield (
        f"{len(shown)} of {len(rows)} lines, of all that took {in_words(own)}"
        f"{gpu_words} themselves:"
    )
    yield ""
    times = time_unit_for(max(row.own_ns, row.gpu_ns) for row in shown)
    of_cpu, of_gpu, of_waits = times.titles("Own", "GPU", "Wait")
    waits = _hot_waits(profile, shown)
    titles = [of_cpu, "% Own"]
    titles += [of_waits] if any(waits.values()) else []
    titles += [of_gpu, "% GPU"] if gpu else []
    names = short_names(function.key for function in profile.functions)
    hits = _hot_hits(profile, {(row.key, row.line) for row in shown})
    cells = []
    for row in shown:
        texts = [times.text(row.own_ns), percent(row.own_ns, own)]
        if any(waits.values()):
            waited = waits[row.key, row.line]
            texts.append(times.text(waited) if waited else "")
        if gpu:
            shares = (times.text(row.gpu_ns), percent(row.gpu_ns, gpu))
            texts += shares if row.gpu_ns else ("", "")
        texts += [f"{hits[row.key, row.line]}", names.line(row.key[0], row.line)]
        source = sources.line(row.key[0], row.line) or ""
        cells.append([*texts, row.key[2], source.strip()])
    titles += ["Hits", "Line", "Function", "Line Contents"]
    is_hot = [percent_of(row.own_ns, own) >= _EMPHASIZED for row in shown]
    yield from grid(titles, cells, options.terminal, words=3, hot=is_hot)


def _hot_waits(profile: Profile, rows: list[_HotLine]) -> dict[tuple[Key, int], int]:
    """Return how long lines waited (ns); 0 for those that called anything.

    What they waited is known with what they called alone, as their time is.
    """
    found = {(row.key, row.line): 0 for row in rows}
    for wait in profile.waits:
        if (wait.function, wait.line) in found:
            found[wait.function, wait.line] += wait.ns
    for edge in edges(profile.calls) if any(found.values()) else ():
        if edge.caller is not None and (edge.caller, edge.line) in found:
            found[edge.caller, edge.line] = 0
    return found


def _hot_lines(profile: Profile) -> list[_HotLine]:
    """Return all lines that took any time."""
    gpu = numbers_of_lines(profile.gpu, alone=True) if profile.gpu.sums else {}
    own = own_line_ns(profile)
    rows = []
    for key in dict.fromkeys((*own, *gpu)):
        of_cpu, of_gpu = own.get(key, {}), gpu.get(key, {})
        for line in dict.fromkeys((*of_cpu, *of_gpu)):
            gpu_ns = of_gpu[line].self_ns if line in of_gpu else 0
            if of_cpu.get(line) or gpu_ns:
                rows.append(_HotLine(key, line, of_cpu.get(line, 0), gpu_ns))
    return rows


def _hot_hits(
    profile: Profile, wanted: set[tuple[Key, int]]
) -> dict[tuple[Key, int], int]:
    """Return how often each of the lines that are `wanted` ran."""
    hits = dict.fromkeys(wanted, 0)
    keys = {key for key, _ in wanted}
    for function in profile.functions:
        if function.key in keys:
            for cell in function.cells:
                if (function.key, cell.line) in hits:
                    hits[function.key, cell.line] += cell.hits
    return hits
