"""Exact slices of a trace: the clock moves only when the program calls ``tick``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from running import hook_name, plain, program_file

from lineprof import LineProfiler
from lineprof.recording.trace import TraceOptions

if TYPE_CHECKING:
    from settable_clock import Clock

    from lineprof import LineStats
    from lineprof.model.timelines import Slice, Trace

# start and end (ns) since the program began, name of the function, line or 0
Row = tuple[int, int, str, int]


def traced(clock: Clock, lines_ns: float = 0.0, memory_mb: int = 1) -> LineProfiler:
    """Return a profiler that keeps slices of lines of at least `lines_ns`."""
    options = TraceOptions(lines_us=lines_ns / 1000, memory_mb=memory_mb)
    return LineProfiler(core=hook_name(), clock=clock.capsule, trace=options)


def slices_of(
    program: str, clock: Clock, *, lines_ns: float = 0.0, **names: Any
) -> list[Row]:
    """Run *program*, and return its slices in order."""
    profiler = traced(clock, lines_ns)
    text = plain(program)
    begin = clock.now()
    with program_file(text) as file:
        namespace = {"profile": profiler, "tick": clock.tick, **names}
        exec(compile(text, file, "exec", dont_inherit=True), namespace)
        return rows_of(profiler.get_stats(), begin)


def rows_of(stats: LineStats, begin: int = 0) -> list[Row]:
    """Return all slices in order; fail unless they nest."""
    return [
        (start, start + one.ns, name(one), one.line)
        for trace in stats.traces
        for one in nested(trace)
        for start in [one.start_ns + trace.origin_ns - begin]
    ]


def name(one: Slice) -> str:
    """Return the last part of the function's name."""
    return one.function[2].rpartition(".")[2]


def nested(trace: Trace) -> list[Slice]:
    """Fail unless the slices of each thread lie within one another or apart."""
    found = list(trace)
    assert len(found) == trace.count
    order = [(one.start_ns, -one.ns) for one in found]
    assert order == sorted(order)
    for thread in {one.thread for one in found}:
        ends: list[int] = []
        for one in found:
            if one.thread != thread:
                continue
            while ends and ends[-1] <= one.start_ns:
                ends.pop()
            assert not ends or one.start_ns + one.ns <= ends[-1], one
            if one.ns:
                ends.append(one.start_ns + one.ns)
    return found
