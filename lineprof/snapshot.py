"""From the core's raw counters to a profile's values."""

from __future__ import annotations

from lineprof.process import thread_names
from lineprof.records import Cell, FunctionStats, Thread
from lineprof.source_file import read_source
from lineprof.stats import LineStats
from lineprof.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lineprof.records import Key, Process

    Line = tuple[int, int, int, int, int, int]
    Code = tuple[tuple[object, ...], int, int, int, int, Sequence[Line], int]


class Scale(Value):
    """From ticks of the core's clock, and costs in parts of one, to ns."""

    ns_per_tick: int  # times 2**32
    cost_one: int  # parts in a tick
    holds: float = 1.0  # how much of a calibrated cost is taken out

    def ns(self, ticks: int) -> int:
        """Return `ticks` in ns, as the clock saw them."""
        return (ticks * self.ns_per_tick) >> 32

    def cost_ns(self, cost: int) -> int:
        """Return a cost in ns."""
        return self.ns(int(cost * self.holds) // self.cost_one)

    def net_ns(self, ticks: int, cost: int) -> int:
        """Return `ticks` less their cost in ns, never below 0."""
        return max(0, self.ns(ticks) - self.cost_ns(cost))


def profile_of(
    ids: Sequence[tuple[int, str]],
    codes: Sequence[Code],
    scale: Scale,
    process: Process,
    *,
    warnings: Iterable[str],
) -> LineStats:
    """Return the profile of a process from what ``Tracer.snapshot`` gives.

    `ids` has the native ids and the names of threads when they were first seen.
    """
    threads, places = _threads(ids, codes, thread_names())
    functions = _functions(codes, scale, places)
    files = dict.fromkeys(function.file for function in functions)
    return LineStats.from_functions(
        functions,
        processes=(process,),
        threads=threads,
        sources={file: read_source(file) for file in files},
        warnings=warnings,
    )


def _functions(
    codes: Sequence[Code], scale: Scale, threads: Mapping[int, int]
) -> tuple[FunctionStats, ...]:
    """Return a `FunctionStats` per function, in order of registration.

    Code objects of the same file, line and name are one function. `threads`
    maps the core's thread numbers to the profile's.
    """
    parts: dict[Key, list[Code]] = {}
    for code in codes:
        key = code[0]
        name = (str(key[0]), int(str(key[1])), str(key[2]))
        parts.setdefault(name, []).append(code)
    return tuple(
        _function(name, group, scale, threads) for name, group in parts.items()
    )


def _function(
    key: Key, codes: Sequence[Code], scale: Scale, threads: Mapping[int, int]
) -> FunctionStats:
    file, line, name = key
    total = sum(scale.net_ns(code[2], code[3]) for code in codes)
    return FunctionStats(
        file=file,
        name=name,
        line=line,
        cells=tuple(
            Cell(  # by position: there may be a million
                number,
                threads[thread],
                hits,
                scale.net_ns(ticks, cost),
                scale.ns(awaited),
                scale.ns(ticks),
            )
            for code in codes
            for number, thread, hits, ticks, cost, awaited in code[5]
        ),
        calls=sum(code[1] for code in codes),
        recursive_ns=total if any(code[4] for code in codes) else None,
    )


def _threads(
    known: Sequence[tuple[int, str]], codes: Sequence[Code], names: Mapping[int, str]
) -> tuple[tuple[Thread, ...], dict[int, int]]:
    """Return the threads that ran profiled lines, and their new numbers.

    `known` has the core's native ids and names of when the threads were first
    seen; `names` what those that still run are called now.
    """
    used = sorted({line[1] for code in codes for line in code[5]})
    threads = tuple(
        Thread(0, number, names.get(number) or name)
        for number, name in (known[thread] for thread in used)
    )
    return threads, {thread: place for place, thread in enumerate(used)}
