"""Views of calls as grids: --functions, --hot and --callers."""

from __future__ import annotations

from collections import Counter
from heapq import nlargest
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple, cast

from lineprof.model.call_graph import (
    COUNTS_OF_CALLS,
    TIMES_OF_CALLS,
    Edge,
    edge_gpu_ns,
    edge_memory,
    edges,
    function_totals,
    line_self_ns,
    sum_of_nodes,
    uncounted,
)
from lineprof.model.gpu import numbers_of_functions, numbers_of_lines
from lineprof.model.host_memory import (
    NO_BYTES,
    MemoryNumbers,
    memory_of_functions,
    memory_of_lines,
)
from lineprof.model.names import OUTSIDE, ShortNames, short_names
from lineprof.model.own_waits import OwnWait, own_waits
from lineprof.report.columns import (
    BYTES,
    COUNT,
    DATA,
    FUNCTION,
    NS,
    PART,
    PLACE,
    SHARE,
    SOURCE,
    SOURCE_TITLE,
    WORDS,
    Column,
    UpTo,
)
from lineprof.report.limits import limited
from lineprof.report.line_table import WAITS_FOR
from lineprof.report.lookup import Finder
from lineprof.report.marks import Marks, Part
from lineprof.report.memory_format import TITLES, marker
from lineprof.report.options import FUNCTION_ORDERS, Options
from lineprof.report.rows import Rows, rows_of
from lineprof.report.text_grid import (
    Context,
    counted,
    in_words,
    more_rows,
    percent_of,
    table,
    time_unit_for,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from lineprof.model.call_graph import FunctionTotals
    from lineprof.model.profile import Profile
    from lineprof.model.records import Key
    from lineprof.report.columns import Columns, Place
    from lineprof.source import Sources

UNKNOWN_CALLER = "not known from where"

NO_CALLS = (
    "the profile does not say who called whom: the time of a function includes the"
    " functions that its lines called"
)


def call_notes(profile: Profile, _: Options) -> Iterator[str]:
    """Yield what the marks of functions mean, and which calls the profile lacks."""
    yield from Marks(profile).note()
    if not profile.calls.nodes and not profile.why_empty:  # which is said in any case
        yield NO_CALLS


# Columns of memory, which only rows of a profile with memory have.


def memory_columns(profile: Profile, part: str = "") -> Columns:
    """Return the columns of a row's `memory`: {} for a profile without.

    Their names have `part`: "self_" for numbers without callees.
    """
    if not profile.memory.sums:
        return {}
    mark = marker(profile.memory)

    def column(name: str) -> Column:
        def value(row: _Function | HotLine) -> int:
            return mark(getattr(row.memory, name))

        return Column(BYTES, TITLES[name], value=value, optional=True, spare=4)

    return {f"host_{part}{name}": column(name) for name in TITLES}


def alloc_column(profile: Profile) -> Columns:
    """Return the column of what calls allocated: {} for a profile without memory."""
    mark = marker(profile.memory)
    column = Column(
        BYTES,
        TITLES["alloc_bytes"],
        value=lambda row: mark(row.alloc_bytes),
        optional=True,
    )
    return {"host_alloc_bytes": column} if profile.memory.sums else {}


# --functions: all functions with calls and times, as cProfile prints them.


class _Function(NamedTuple):
    """One row of --functions."""

    function: Key
    numbers: FunctionTotals
    gpu_ns: int | None
    part: Part | None
    mark: str
    is_counted: bool
    memory: MemoryNumbers = NO_BYTES

    @property
    def per_call(self) -> float:
        """Time by primitive call (ns), as pstats has it."""
        return self.numbers.total_ns / (self.numbers.primitive_calls or 1)


def _calls(numbers: FunctionTotals | Edge) -> str:
    """Return the number of calls and, if it is another one, that of primitive calls."""
    primitive = f"/{numbers.primitive_calls}" if numbers.recurses else ""
    return f"{numbers.calls}{primitive}"


def _per_call(of: Callable[[FunctionTotals], tuple[int, int]], *, spare: int) -> Column:
    """Return the column of a time (ns) per call, from the time and the calls."""

    def text(row: _Function) -> str:
        ns, calls = of(row.numbers)
        return in_words(ns / calls) if calls else ""

    return Column(DATA, "Per Call", value=text, spare=spare, is_data=False)


FUNCTIONS: Columns = {
    "function": Column(
        FUNCTION,
        "Function",
        shown=lambda row, names: names.function(row.function) + row.mark,
    ),
    "calls": Column(
        COUNT,
        "Calls",
        value=lambda row: row.numbers.calls,
        shown=lambda row, _: _calls(row.numbers) if row.is_counted else "",
    ),
    "primitive_calls": Column(COUNT, value=lambda row: row.numbers.primitive_calls),
    "self_ns": Column(NS, "Self", value=lambda row: row.numbers.self_ns),
    "self_per_call": _per_call(lambda one: (one.self_ns, one.calls), spare=2),
    "total_ns": Column(NS, "Cumulative", value=lambda row: row.numbers.total_ns),
    "per_call": _per_call(lambda one: (one.total_ns, one.primitive_calls), spare=1),
    "gpu_ns": Column(NS, "GPU", optional=True),
    "part": Column(PART),
}

# Sort keys of the orders; times and counts are negative, so that the greatest come
# first.
_ORDERS: Mapping[str, Callable[[_Function], tuple[object, ...]]] = {
    "calls": lambda row: (-row.numbers.calls,),
    "primitive": lambda row: (-row.numbers.primitive_calls,),
    "self": lambda row: (-row.numbers.self_ns,),
    "cumulative": lambda row: (-row.numbers.total_ns,),
    "per-call": lambda row: (-row.per_call,),
    "gpu": lambda row: (-(row.gpu_ns or 0),),
    "host-alloc": lambda row: (-row.memory.alloc_bytes,),
    "host-live": lambda row: (-row.memory.live_bytes,),
    "host-peak": lambda row: (-row.memory.peak_bytes,),
    "name": lambda row: (row.function[2], row.function),
    "file": lambda row: row.function,
}


def functions(profile: Profile, _: Sources, options: Options) -> Iterator[str]:
    """Yield a row for each function, in the order of `options.sort_by`."""
    rows, shown = _functions(profile, options)
    every = sum_of_nodes([row.numbers for row in rows])
    summary = counted(len(rows), "function")
    if all(row.is_counted for row in rows):
        primitive = f" ({every.primitive_calls} of them primitive)"
        more = primitive if every.recurses else ""
        summary = f"{counted(every.calls, 'call')}{more} of {summary}"
    if profile.calls.nodes:
        summary += f": {in_words(every.self_ns)} in all"
    yield summary
    yield ""
    names = short_names(row.function for row in rows)
    context = Context(terminal=options.terminal, names=names)
    unit = time_unit_for(max(row.numbers.total_ns, row.gpu_ns or 0) for row in rows)
    yield from table(_columns_of_functions(profile), shown, context, unit=unit)
    yield from more_rows(len(rows) - len(shown))


def function_rows(profile: Profile, sources: Sources, options: Options) -> Rows:
    """Return the rows of --functions for other programs."""
    every, shown = _functions(profile, options)
    totals = {"self_ns": sum(row.numbers.self_ns for row in every)}
    more = len(every) - len(shown)
    columns = _columns_of_functions(profile)
    return rows_of(columns, shown, sources, more=more, totals=totals)


def _columns_of_functions(profile: Profile) -> Columns:
    return {**FUNCTIONS, **memory_columns(profile)}


def _functions(
    profile: Profile, options: Options
) -> tuple[list[_Function], list[_Function]]:
    """Return the rows of all functions, and those to show, in the order asked for."""
    gpu = numbers_of_functions(profile.gpu) if profile.gpu.sums else {}
    memory = memory_of_functions(profile.memory)
    ran = {
        function.key
        for function in profile.functions
        if any(cell.hits or cell.time_ns for cell in function.thread_lines)
    }
    marks, unknown = Marks(profile), uncounted(profile)
    rows = [
        _Function(
            function=key,
            numbers=numbers,
            gpu_ns=(gpu[key].gpu_ns if key in gpu else 0) if profile.gpu.sums else None,
            part=marks.part(key),
            mark=marks.after(key),
            is_counted=key not in unknown,
            memory=memory.get(key, NO_BYTES),
        )
        for key, numbers in function_totals(profile).items()
        if not options.skip_zero
        or (numbers.calls or numbers.total_ns or key in ran or key in gpu)
    ]
    rows.sort(key=_ORDERS[FUNCTION_ORDERS[options.sort_by or "cumulative"]])
    whole_ns = sum(row.numbers.self_ns for row in rows)
    return rows, limited(rows, options, lambda row: row.numbers.total_ns, whole_ns)


# --hot: the lines of the whole program that took most time themselves.


class HotLine(NamedTuple):
    """One line that took time, with what is looked up for a row of --hot."""

    place: Place
    self_ns: int  # without its callees
    gpu_self_ns: int | None  # of work that it launched itself; None: not recorded
    hits: int = 0
    wait: OwnWait | None = None
    part: Part | None = None
    mark: str = ""  # of the function
    memory: MemoryNumbers = NO_BYTES  # without callees

    @property
    def ns(self) -> int:
        """Self time or GPU time, whichever is longer: it may only launch a kernel."""
        return max(self.self_ns, self.gpu_self_ns or 0)


def _own_wait(row: HotLine) -> int | None:
    """Return the time that a line waited, which may be an upper bound."""
    if row.wait is None:
        return None
    return row.wait.max_ns if row.wait.is_known else UpTo(row.wait.max_ns)


HOT: Columns = {
    "place": Column(PLACE, "Line"),
    "hits": Column(COUNT, "Hits"),
    "self_ns": Column(NS, "Own"),
    "self_share": Column(SHARE, "% Own", of="self_ns"),
    "own_wait_min_ns": Column(NS, value=lambda row: row.wait and row.wait.min_ns),
    "own_wait_max_ns": Column(NS, "Wait", value=_own_wait, optional=True),
    "own_wait_cause": Column(
        DATA,
        "For",
        value=lambda row: (row.wait and row.wait.cause) or None,
        shown=lambda row, _: row.wait and WAITS_FOR.get(row.wait.cause, row.wait.cause),
        optional=True,
        spare=2,
    ),
    "gpu_self_ns": Column(NS, "GPU", optional=True),
    "gpu_share": Column(SHARE, "% GPU", of="gpu_self_ns", optional=True),
    "part": Column(PART),
    "function": Column(
        WORDS,
        "Function",
        value=lambda row: row.place[0],
        shown=lambda row, names: names.name(row.place[0]) + row.mark,
        spare=1,
        is_data=False,
    ),
    "source": Column(SOURCE, SOURCE_TITLE, value=lambda row: row.place),
}


def hot(profile: Profile, sources: Sources, options: Options) -> Iterator[str]:
    """Yield a row for each of the hottest lines."""
    rows, lines, totals = hottest_lines(profile, options)
    self_ns, gpu_ns = totals["self_ns"], totals["gpu_self_ns"]
    gpu_words = f", and {in_words(gpu_ns)} on GPUs" if gpu_ns else ""
    yield (
        f"{len(rows):,} of {lines:,} lines, by their own time; all lines together"
        f" took {in_words(self_ns)}{gpu_words}:"
    )
    yield ""
    names = short_names(function.key for function in profile.functions)
    context = Context(terminal=options.terminal, names=names, sources=sources)
    heat = [percent_of(row.self_ns, self_ns) for row in rows]
    columns = columns_of_hot_lines(profile)
    yield from table(columns, rows, context, late=("hits",), heat=heat, totals=totals)


def hot_rows(profile: Profile, sources: Sources, options: Options) -> Rows:
    """Return the rows of --hot for other programs."""
    rows, lines, totals = hottest_lines(profile, options)
    of_all = {"self_ns": totals["self_ns"]}
    columns = columns_of_hot_lines(profile)
    return rows_of(columns, rows, sources, more=lines - len(rows), totals=of_all)


def columns_of_hot_lines(profile: Profile) -> Columns:
    """Return the columns of --hot, for the data that a profile has."""
    return {**HOT, **memory_columns(profile, "self_")}


def hottest_lines(
    profile: Profile, options: Options
) -> tuple[list[HotLine], int, dict[str, int]]:
    """Return the `options.lines` most expensive lines, the most expensive first.

    Also the number of all lines that took time, and their sums.
    """
    every = _hot_lines(profile)
    totals = {
        "self_ns": sum(one.self_ns for one in every),
        "gpu_self_ns": sum(one.gpu_self_ns or 0 for one in every),
    }
    longest = nlargest(options.lines, every, key=lambda one: one.ns)
    shown = limited(longest, options, lambda one: one.ns, max(totals.values()))
    places = [one.place for one in shown]
    hits, waits = _hits_of(places, profile), own_waits(profile, places)
    marks, memory = Marks(profile), memory_of_lines(profile.memory, alone=True)
    rows = [
        one._replace(
            hits=hits[one.place],
            memory=memory.get(one.place[0], {}).get(one.place[1], NO_BYTES),
            wait=waits.get(one.place),
            part=marks.part(one.place[0]),
            mark=marks.after(one.place[0]),
        )
        for one in shown
    ]
    return rows, len(every), totals


def _hot_lines(profile: Profile) -> list[HotLine]:
    """Return all lines that took time."""
    gpu = numbers_of_lines(profile.gpu, alone=True) if profile.gpu.sums else {}
    no_gpu_ns = 0 if profile.gpu.sums else None
    own = line_self_ns(profile)
    rows = []
    for key in dict.fromkeys((*own, *gpu)):
        of_cpu, of_gpu = own.get(key, {}), gpu.get(key, {})
        for line in dict.fromkeys((*of_cpu, *of_gpu)):
            gpu_ns = of_gpu[line].self_ns if line in of_gpu else no_gpu_ns
            self_ns, place = of_cpu.get(line, 0), (key, line)
            if self_ns or gpu_ns:
                rows.append(HotLine(place=place, self_ns=self_ns, gpu_self_ns=gpu_ns))
    return rows


def _hits_of(places: Iterable[Place], profile: Profile) -> Counter[Place]:
    """Return how often each line of `places` ran, in all threads."""
    wanted = {*places}
    keys = {key for key, _ in wanted}
    hits: Counter[Place] = Counter()
    for function in profile.functions:
        if function.key in keys:
            for cell in function.thread_lines:
                if (function.key, cell.line) in wanted:
                    hits[function.key, cell.line] += cell.hits
    return hits


# --callers: the lines that call a function, how often, and their cost.


class _Caller(NamedTuple):
    """One row of --callers: a line that calls the function, or the sum of several."""

    edge: Edge
    label: str  # of a sum
    part: Part | None
    caller_part: Part | None
    mark: str  # of the caller
    gpu_ns: int | None
    alloc_bytes: int

    @property
    def place(self) -> Place | None:
        """The calling line; a C function has no lines."""
        caller = self.edge.caller
        return (caller, self.edge.line) if caller and caller[0] else None


def _caller_name(row: _Caller, names: ShortNames) -> str:
    """Return the name of a caller."""
    caller = row.edge.caller
    if row.label or caller is None:
        return row.label or OUTSIDE
    name = names.name(caller) if caller[0] else names.function(caller)
    return f"{name}{' (itself)' if caller == row.edge.callee else ''}{row.mark}"


CALLERS: Columns = {
    "function": Column(FUNCTION, value=lambda row: row.edge.callee),
    "part": Column(PART),
    "place": Column(PLACE, "Line", is_data=False),
    "caller": Column(
        FUNCTION, "Caller", value=lambda row: row.edge.caller, shown=_caller_name
    ),
    "caller_part": Column(PART),
    "call_line": Column(COUNT, value=lambda row: row.edge.line or None),
    "calls": Column(
        COUNT,
        "Calls",
        value=lambda row: row.edge.calls,
        shown=lambda row, _: _calls(row.edge),
    ),
    "primitive_calls": Column(COUNT, value=lambda row: row.edge.primitive_calls),
    "total_ns": Column(NS, "Time", value=lambda row: row.edge.total_ns),
    "share": Column(SHARE, "Share", of="total_ns"),
    "inclusive_ns": Column(NS, "Inclusive", value=lambda row: row.edge.inclusive_ns),
    "gpu_ns": Column(NS, "GPU", optional=True),
    "source": Column(SOURCE, SOURCE_TITLE, value=lambda row: row.place),
}


class _Callers:
    """The calls of each function of a profile, by their callers."""

    def __init__(self, profile: Profile, options: Options) -> None:
        self._options = options
        self._totals = function_totals(profile)
        self.finder = Finder(self._totals)
        self.marks = Marks(profile)
        self._edges = edges(profile.calls)
        self._gpu = edge_gpu_ns(profile) if profile.gpu.sums else None
        self._memory = edge_memory(profile)
        self.columns = {**CALLERS, **alloc_column(profile)}

    def rows(self, key: Key) -> tuple[list[_Caller], list[_Caller], list[_Caller]]:
        """Return the callers to show, the others, and those that are not known."""
        into = [edge for edge in self._edges if edge.callee == key]
        into.sort(key=lambda edge: (-edge.total_ns, -edge.inclusive_ns, -edge.calls))
        rows = [*map(self.row, into)]
        rest = self._unknown_calls(key, into)
        unknown = [self.row(rest, UNKNOWN_CALLER)] if rest else []
        known_ns = _sum_of(key, into).total_ns
        shown = limited(rows, self._options, lambda row: row.edge.total_ns, known_ns)
        return shown, rows[len(shown) :], unknown  # they are sorted

    def row(self, edge: Edge, label: str = "") -> _Caller:
        """Return the row of an edge, or of a sum of edges, which has a label."""
        return _Caller(
            edge=edge,
            label=label,
            part=self.marks.part(edge.callee),
            caller_part=self.marks.part(edge.caller),
            mark=self.marks.after(edge.caller),
            gpu_ns=None if self._gpu is None or label else self._gpu.get(edge.ends, 0),
            alloc_bytes=0
            if label
            else self._memory.get(edge.ends, NO_BYTES).alloc_bytes,
        )

    def _unknown_calls(self, key: Key, known: Sequence[Edge]) -> Edge | None:
        """Return the calls of a function that are not among the `known`, if any."""
        function = self._totals[key]
        sums = _sum_of(key, known)
        calls, rest_ns = function.calls - sums.calls, function.total_ns - sums.total_ns
        if known and calls <= 0 and rest_ns <= 0:
            return None
        return Edge(
            caller=cast("Key", (None, None, UNKNOWN_CALLER)),
            line=0,
            callee=key,
            calls=max(0, calls),
            primitive_calls=max(0, function.primitive_calls - sums.primitive_calls),
            total_ns=max(0, rest_ns),
            inclusive_ns=max(0, rest_ns),
        )


def callers(profile: Profile, sources: Sources, options: Options) -> Iterator[str]:
    """Yield the callers of each of `options.targets`; LineprofError if unknown.

    Below them is their sum, which is the function's numbers. GPU time and bytes are not
    summed: what a recursive function did counts for each line on the call path.
    """
    every = _Callers(profile, options)
    names = every.finder.names
    context = Context(terminal=options.terminal, names=names, sources=sources)
    gpu_of = numbers_of_functions(profile.gpu) if profile.gpu.sums else {}
    memory_of = memory_of_functions(profile.memory)
    for index, target in enumerate(options.targets):
        key = every.finder.called(target, sources)
        if index:
            yield ""
        name = options.terminal.clean(names.called(key))
        yield f"{name}{every.marks.after(key)} is called from:"
        yield ""
        shown, others, unknown = every.rows(key)
        rows = [*shown, *unknown]
        if others:
            sums = _sum_of(key, [row.edge for row in others])
            rest = every.row(sums, f"{len(others)} more")
            rows.insert(len(shown), rest)
        hidden = ["inclusive_ns"]
        if any(row.edge.inclusive_ns != row.edge.total_ns for row in rows):
            hidden = []
        total = _sum_of(key, [row.edge for row in rows])
        gpu_ns = gpu_of[key].gpu_ns if key in gpu_of else None
        size = memory_of.get(key, NO_BYTES).alloc_bytes
        row = every.row(total, "all together")
        rows.append(row._replace(gpu_ns=gpu_ns, alloc_bytes=size))
        totals = {"total_ns": total.total_ns}
        yield from table(every.columns, rows, context, hidden=hidden, totals=totals)


def caller_rows(profile: Profile, sources: Sources, options: Options) -> Rows:
    """Return the rows of --callers; LineprofError for an unknown function."""
    every = _Callers(profile, options)
    rows: list[_Caller] = []
    more = 0
    for target in options.targets:
        key = every.finder.called(target, sources)
        shown, others, unknown = every.rows(key)
        rows += [*shown, *unknown]
        more += len(others)
    return rows_of(every.columns, rows, sources, more=more)


def _sum_of(key: Key, every: Sequence[Edge]) -> Edge:
    """Return the sums over calls of a function."""
    numbers = (*COUNTS_OF_CALLS, *TIMES_OF_CALLS)
    sums = {name: sum(map(attrgetter(name), every)) for name in numbers}
    return Edge(caller=None, line=0, callee=key, **sums)
