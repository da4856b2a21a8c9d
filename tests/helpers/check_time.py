"""Exact times of lines: the clock moves only when the program calls ``tick``.

A line's expected time is written as ``#= ns``, its time suspended in an await as
``#~ ns``; a line without a mark must have no time.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from running import new_profiler, plain, program_file

if TYPE_CHECKING:
    from settable_clock import Clock

    from lineprof import LineProfiler, LineStats

TIME = re.compile(r"#= (\d+)")
AWAIT = re.compile(r"#~ (\d+)")


def expected(mark: re.Pattern[str], text: str) -> dict[int, int]:
    """Return the expected times that are written in the program's lines."""
    found = ((n, mark.search(line)) for n, line in enumerate(text.splitlines(), 1))
    return {number: int(match[1]) for number, match in found if match}


def measure(text: str, clock: Clock, profiler: LineProfiler | None = None) -> LineStats:
    """Run a program under lineprof with the settable clock."""
    profiler = profiler or new_profiler(clock=clock.capsule)
    with program_file(text) as file:
        namespace = {"profile": profiler, "tick": clock.tick, "__name__": "program"}
        exec(compile(text, file, "exec", dont_inherit=True), namespace)
        return profiler.get_stats()


def check_times(program: str, clock: Clock) -> LineStats:
    """Run *program* and compare its times with those written in its lines."""
    text = plain(program)
    stats = measure(text, clock)
    times: dict[int, int] = {}
    awaits: dict[int, int] = {}
    for function in stats.functions:
        for row in function.rows:
            assert row.raw_ns == row.time_ns, "nothing to calibrate"
            times[row.line] = times.get(row.line, 0) + row.time_ns
            awaits[row.line] = awaits.get(row.line, 0) + row.await_ns
    assert {line: ns for line, ns in times.items() if ns} == expected(TIME, text)
    assert {line: ns for line, ns in awaits.items() if ns} == expected(AWAIT, text)
    return stats


def totals(stats: LineStats) -> dict[str, int]:
    """Return the total time (ns) by the last part of a function's name."""
    return {f.name.rpartition(".")[2]: f.total_ns for f in stats.functions}
