"""Views of calls as grids: --functions, --hot and --callers."""

from __future__ import annotations

from heapq import nlargest
from typing import TYPE_CHECKING, NamedTuple

from lineprof.model.call_graph import (
    edge_gpu_ns,
    edges,
    function_totals,
    line_self_ns,
    uncounted,
)
from lineprof.model.gpu import numbers_of_functions, numbers_of_lines
from lineprof.model.names import OUTSIDE, short_names
from lineprof.model.own_waits import own_waits
from lineprof.report.limits import limited
from lineprof.report.line_table import WAITS_FOR
from lineprof.report.lookup import Finder
from lineprof.report.marks import Marks
from lineprof.report.options import FUNCTION_ORDERS
from lineprof.report.text_grid import (
    TimeUnit,
    counted,
    grid,
    in_words,
    more_rows,
    percent,
    percent_of,
    time_unit_for,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from lineprof.model.call_graph import Edge, FunctionTotals
    from lineprof.model.names import ShortNames
    from lineprof.model.own_waits import OwnWait
    from lineprof.model.profile import Profile
    from lineprof.model.records import Key
    from lineprof.report.options import Options
    from lineprof.source import Sources

UNKNOWN_CALLER = "not known from where"

_HOT_PERCENT = 20  # of the time of all lines

NO_CALLS = (
    "the profile does not say who called whom: a function's time is that of all its"
    " lines, with what these called"
)


def call_notes(profile: Profile, _: Options) -> Iterator[str]:
    """Yield what the marks of functions mean, and which calls the profile lacks."""
    yield from Marks(profile).note()
    if not profile.calls.nodes and not profile.why_empty:  # which is said in any case
        yield NO_CALLS


# --functions: all functions with calls and times, as cProfile prints them.


class _FunctionRow(NamedTuple):
    """One row of --functions."""

    key: Key
    numbers: FunctionTotals
    gpu_ns: int

    @property
    def per_call(self) -> float:
        """Time by primitive call (ns), as pstats has it."""
        return self.numbers.total_ns / (self.numbers.primitive_calls or 1)


# Sort keys of the orders; times and counts are negative, so that the greatest come
# first.
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
    rows, shown = listed_functions(profile, options)
    numbers = [row.numbers for row in rows]
    calls = sum(one.calls for one in numbers)
    primitive = sum(one.primitive_calls for one in numbers)
    unknown = uncounted(profile)
    summary = counted(len(rows), "function")
    if not any(row.key in unknown for row in rows):
        more = f" ({primitive} of them primitive)" if primitive != calls else ""
        summary = f"{counted(calls, 'call')}{more} of {summary}"
    if profile.calls.nodes:
        summary += f": {in_words(sum(one.self_ns for one in numbers))} in all"
    yield summary
    yield ""
    has_gpu = any(row.gpu_ns for row in rows)
    times = time_unit_for(max(row.numbers.total_ns, row.gpu_ns) for row in rows)
    self_time, cumulative, gpu = times.titles("Self", "Cumulative", "GPU")
    titles = ["Calls", self_time, "Per Call", cumulative, "Per Call", "Function"]
    if has_gpu:
        titles.insert(-1, gpu)
    names, marks = short_names(row.key for row in rows), Marks(profile)
    cells = [
        (
            "" if row.key in unknown else _calls_of(row),
            *_function_texts(row, times, has_gpu=has_gpu),
            names.function(row.key) + marks.after(row.key),
        )
        for row in shown
    ]
    per_call = [titles.index("Per Call", 3), titles.index("Per Call")]
    yield from grid(titles, cells, options.terminal, spare=per_call)
    yield from more_rows(len(rows) - len(shown))


def listed_functions(
    profile: Profile, options: Options
) -> tuple[list[_FunctionRow], list[_FunctionRow]]:
    """Return the rows of all functions, and those to show, in the order asked for."""
    rows = _function_rows(profile, options)
    rows.sort(key=_ORDERS[FUNCTION_ORDERS[options.sort_by or "cumulative"]])
    whole_ns = sum(row.numbers.self_ns for row in rows)
    return rows, limited(rows, options, lambda row: row.numbers.total_ns, whole_ns)


def _function_rows(profile: Profile, options: Options) -> list[_FunctionRow]:
    gpu = numbers_of_functions(profile.gpu) if profile.gpu.sums else {}
    ran = {
        function.key
        for function in profile.functions
        if any(cell.hits or cell.time_ns for cell in function.thread_lines)
    }
    return [
        _FunctionRow(
            key=key, numbers=numbers, gpu_ns=gpu[key].gpu_ns if key in gpu else 0
        )
        for key, numbers in function_totals(profile).items()
        if not options.skip_zero
        or (numbers.calls or numbers.total_ns or key in ran or key in gpu)
    ]


def _calls_of(row: _FunctionRow) -> str:
    calls, primitive = row.numbers.calls, row.numbers.primitive_calls
    return f"{calls}" if calls == primitive else f"{calls}/{primitive}"


def _function_texts(
    row: _FunctionRow, times: TimeUnit, *, has_gpu: bool
) -> Iterator[str]:
    """Yield the times of a row; those per call are blank if there was no call."""
    numbers = row.numbers
    calls, primitive = numbers.calls, numbers.primitive_calls
    yield times.text(numbers.self_ns)
    yield _each(numbers.self_ns, calls)
    yield times.text(numbers.total_ns)
    yield _each(numbers.total_ns, primitive)
    if has_gpu:
        yield times.text(row.gpu_ns) if row.gpu_ns else ""


def _each(ns: int, count: int) -> str:
    return in_words(ns / count) if count else ""


# --hot: the lines of the whole program that took most time themselves.


class _HotLine(NamedTuple):
    """One line that took time."""

    key: Key
    line: int
    self_ns: int  # without its callees
    gpu_ns: int  # of work that it launched itself


class _HottestLines(NamedTuple):
    """The lines with the most time of their own, and the sums of all lines."""

    shown: list[_HotLine]
    lines: int  # that took time, in all
    self_ns: int
    gpu_ns: int


def hottest_lines(profile: Profile, options: Options) -> _HottestLines:
    """Return the `options.lines` most expensive lines, the most expensive first.

    They are sorted by self time or GPU time, whichever is greater: a line may
    only launch a kernel.
    """
    rows = _hot_lines(profile)
    shown = nlargest(options.lines, rows, key=lambda row: max(row.self_ns, row.gpu_ns))
    self_ns, gpu_ns = sum(row.self_ns for row in rows), sum(row.gpu_ns for row in rows)
    shown = limited(
        shown, options, lambda row: max(row.self_ns, row.gpu_ns), max(self_ns, gpu_ns)
    )
    return _HottestLines(shown=shown, lines=len(rows), self_ns=self_ns, gpu_ns=gpu_ns)


def hot(profile: Profile, sources: Sources, options: Options) -> Iterator[str]:
    """Yield a row for each of the hottest lines."""
    hottest = hottest_lines(profile, options)
    shown, self_ns, gpu_ns = hottest.shown, hottest.self_ns, hottest.gpu_ns
    gpu_words = f" and {in_words(gpu_ns)} on GPUs" if gpu_ns else ""
    yield (
        f"{len(shown)} of {hottest.lines} lines, of all that took {in_words(self_ns)}"
        f"{gpu_words} themselves:"
    )
    yield ""
    times = time_unit_for(max(row.self_ns, row.gpu_ns) for row in shown)
    own_title, gpu_title, wait_title = times.titles("Own", "GPU", "Wait")
    waits = own_waits(profile, [(row.key, row.line) for row in shown])
    has_waits = any(wait.max_ns for wait in waits.values())
    titles = [own_title, "% Own"]
    titles += [wait_title, "For"] if has_waits else []
    titles += [gpu_title, "% GPU"] if gpu_ns else []
    names = short_names(function.key for function in profile.functions)
    marks = Marks(profile)
    hits = hits_of_lines(profile, {(row.key, row.line) for row in shown})
    cells = []
    for row in shown:
        texts = [times.text(row.self_ns), percent(row.self_ns, self_ns)]
        if has_waits:
            wait = waits[row.key, row.line]
            texts += [_wait_text(wait, times), WAITS_FOR.get(wait.cause, wait.cause)]
        if gpu_ns:
            shares = (times.text(row.gpu_ns), percent(row.gpu_ns, gpu_ns))
            texts += shares if row.gpu_ns else ("", "")
        texts += [f"{hits[row.key, row.line]}", names.line(row.key[0], row.line)]
        source = sources.line(row.key[0], row.line) or ""
        cells.append([*texts, row.key[2] + marks.after(row.key), source.strip()])
    titles += ["Hits", "Line", "Function", "Line Contents"]
    is_hot = [percent_of(row.self_ns, self_ns) >= _HOT_PERCENT for row in shown]
    spare = [titles.index(one) for one in ("Function", "For") if one in titles]
    terminal = options.terminal
    yield from grid(titles, cells, terminal, words=3, hot=is_hot, spare=spare)


def _wait_text(wait: OwnWait, times: TimeUnit) -> str:
    """Return the time that a line waited; "" if it did not."""
    if not wait.max_ns:
        return ""
    return f"{'' if wait.is_known else '<= '}{times.text(wait.max_ns)}"


def _hot_lines(profile: Profile) -> list[_HotLine]:
    """Return all lines that took time."""
    gpu = numbers_of_lines(profile.gpu, alone=True) if profile.gpu.sums else {}
    own = line_self_ns(profile)
    rows = []
    for key in dict.fromkeys((*own, *gpu)):
        of_cpu, of_gpu = own.get(key, {}), gpu.get(key, {})
        for line in dict.fromkeys((*of_cpu, *of_gpu)):
            gpu_ns = of_gpu[line].self_ns if line in of_gpu else 0
            if of_cpu.get(line) or gpu_ns:
                self_ns = of_cpu.get(line, 0)
                row = _HotLine(key=key, line=line, self_ns=self_ns, gpu_ns=gpu_ns)
                rows.append(row)
    return rows


def hits_of_lines(
    profile: Profile, wanted: set[tuple[Key, int]]
) -> dict[tuple[Key, int], int]:
    """Return the hits of the lines that are `wanted`."""
    hits = dict.fromkeys(wanted, 0)
    keys = {key for key, _ in wanted}
    for function in profile.functions:
        if function.key in keys:
            for cell in function.thread_lines:
                if (function.key, cell.line) in hits:
                    hits[function.key, cell.line] += cell.hits
    return hits


# --callers: the lines that call a function, how often, and their cost.


class _CallSums(NamedTuple):
    """Sums over calls of one function."""

    calls: int
    primitive_calls: int
    total_ns: int  # recursion counts once
    inclusive_ns: int  # each call counts, however deep in a recursion


class _CallerRow(NamedTuple):
    """One row of --callers: a line that calls the function, or the sum of all."""

    caller: str
    sums: _CallSums
    place: str = ""
    source: str = ""
    gpu_ns: int = 0


def callers(profile: Profile, sources: Sources, options: Options) -> Iterator[str]:
    """Yield the callers of each of `options.targets`; LineprofError if unknown."""
    numbers = function_totals(profile)
    finder, marks = Finder(numbers), Marks(profile)
    every = edges(profile.calls)
    gpu = edge_gpu_ns(profile) if profile.gpu.sums else {}
    gpu_of = numbers_of_functions(profile.gpu) if profile.gpu.sums else {}
    for index, target in enumerate(options.targets):
        key = finder.called(target, sources)
        if index:
            yield ""
        into = edges_into(every, key)
        rows = [
            _caller_row(
                edge, gpu.get((edge.caller, edge.line, key), 0), sources, finder.names
            )
            for edge in into
        ]
        rows = [
            row._replace(caller=row.caller + marks.after(edge.caller))
            for row, edge in zip(rows, into)
        ]
        name = options.terminal.clean(finder.names.called(key))
        yield f"{name}{marks.after(key)} is called from:"
        yield ""
        gpu_ns = gpu_of[key].gpu_ns if key in gpu_of else 0
        rows = _folded(rows, options)
        yield from _caller_table(rows, numbers[key], gpu_ns, options)


def edges_into(every: Iterable[Edge], key: Key) -> list[Edge]:
    """Return the calls of a function among all edges, the longest first."""
    into = [edge for edge in every if edge.callee == key]
    into.sort(key=lambda edge: (-edge.total_ns, -edge.inclusive_ns, -edge.calls))
    return into


def _caller_row(
    edge: Edge, gpu_ns: int, sources: Sources, names: ShortNames
) -> _CallerRow:
    place, caller, text = "", OUTSIDE, ""
    if edge.caller is not None:
        file, _, caller = edge.caller
        if file:
            place = names.line(file, edge.line)
            text = (sources.line(file, edge.line) or "").strip()
        else:  # a C function has no lines
            caller = names.function(edge.caller)
    if edge.caller == edge.callee:
        caller += " (itself)"
    sums = _CallSums(
        calls=edge.calls,
        primitive_calls=edge.primitive_calls,
        total_ns=edge.total_ns,
        inclusive_ns=edge.inclusive_ns,
    )
    return _CallerRow(place=place, caller=caller, source=text, sums=sums, gpu_ns=gpu_ns)


def _folded(rows: list[_CallerRow], options: Options) -> list[_CallerRow]:
    """Return the rows that `options` leave, and one with the sums of the others."""
    whole_ns = _added(rows).total_ns
    shown = limited(rows, options, lambda row: row.sums.total_ns, whole_ns)
    rest = rows[len(shown) :]  # they are sorted
    if not rest:
        return rows
    return [*shown, _CallerRow(caller=f"{len(rest)} more", sums=_added(rest))]


def _caller_table(
    rows: list[_CallerRow], function: FunctionTotals, gpu_ns: int, options: Options
) -> Iterator[str]:
    """Yield the rows and below them their sum, which is the function's numbers.

    GPU time is not summed: work that a recursive function launched counts for
    each line on the call path.
    """
    rest = unknown_calls(function, [row.sums for row in rows])
    if rest is not None:
        rows = [*rows, _CallerRow(caller=UNKNOWN_CALLER, sums=rest)]
    total = _CallerRow(caller="all together", sums=_added(rows), gpu_ns=gpu_ns)
    shown = [*rows, total]
    times = time_unit_for(max(row.sums.inclusive_ns, row.gpu_ns) for row in shown)
    once, inclusive, gpu = times.titles("Time", "Inclusive", "GPU")
    titles = ["Calls", once, "Share", "Line", "Caller", "Line Contents"]
    recursive = any(row.sums.inclusive_ns != row.sums.total_ns for row in rows)
    if total.gpu_ns:
        titles.insert(3, gpu)
    if recursive:
        titles.insert(3, inclusive)
    cells = [_caller_texts(row, total, times, recursive=recursive) for row in shown]
    yield from grid(titles, cells, options.terminal, words=3)


def unknown_calls(
    function: FunctionTotals, known: Sequence[_CallSums | Edge]
) -> _CallSums | None:
    """Return the calls of a function that are not among the `known`, if any."""
    sums = _sum_of_calls(known)
    rest_ns = function.total_ns - sums.total_ns
    if known and function.calls <= sums.calls and rest_ns <= 0:
        return None
    return _CallSums(
        calls=max(0, function.calls - sums.calls),
        primitive_calls=max(0, function.primitive_calls - sums.primitive_calls),
        total_ns=max(0, rest_ns),
        inclusive_ns=max(0, rest_ns),
    )


def _added(rows: list[_CallerRow]) -> _CallSums:
    """Return the sums over all rows."""
    return _sum_of_calls([row.sums for row in rows])


def _sum_of_calls(calls: Sequence[_CallSums | Edge]) -> _CallSums:
    return _CallSums(
        calls=sum(one.calls for one in calls),
        primitive_calls=sum(one.primitive_calls for one in calls),
        total_ns=sum(one.total_ns for one in calls),
        inclusive_ns=sum(one.inclusive_ns for one in calls),
    )


def _caller_texts(
    row: _CallerRow, total: _CallerRow, times: TimeUnit, *, recursive: bool
) -> Sequence[str]:
    sums = row.sums
    calls = f"{sums.calls}"
    if sums.primitive_calls != sums.calls:
        calls += f"/{sums.primitive_calls}"
    share = percent(sums.total_ns, total.sums.total_ns)
    texts = [calls, times.text(sums.total_ns), share]
    if recursive:
        texts.append(times.text(sums.inclusive_ns))
    if total.gpu_ns:
        texts.append(times.text(row.gpu_ns) if row.gpu_ns else "")
    return [*texts, row.place, row.caller, row.source]
