"""Paired timing: plain, tool, plain, tool … so that a noisy machine cancels out.

A machine that others share has speed states that last from milliseconds to
minutes.  A run and the run right beside it are nearly always in the same state,
so their quotient is sound where neither time is; the median over many short
pairs drops the ones that straddled a change. And other processes take turns with ours:
so slow-downs are quotients of the thread's processor time; where wall time is
what counts, for a profile is made of it, runs that were interrupted do not.
"""

from __future__ import annotations

import gc
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

FEWEST = 5
MOST = 80
TRIES = 25
INTERRUPTED = 0.003


@dataclass(frozen=True)
class Pairs:
    """What a series of pairs says: a ratio, and the best times in ns."""

    ratio: float
    base_ns: int
    tool_ns: int
    count: int


def spent(run: Callable[[], object]) -> int:
    """Give the processor time of one call, in ns."""
    start = time.thread_time_ns()
    run()
    return time.thread_time_ns() - start


def calm(run: Callable[[], object], *, before: Callable[[], object] = int) -> int:
    """Give the wall time of a call that nothing interrupted, in ns.

    Interrupted calls are done again, each time with `before` in front; after
    too many the last one has to do.
    """
    for _ in range(TRIES):
        before()
        cpu = time.thread_time_ns()
        start = time.perf_counter_ns()
        run()
        wall = time.perf_counter_ns() - start
        cpu = time.thread_time_ns() - cpu
        if wall - cpu < wall * INTERRUPTED:
            break
    return wall


def measure(
    base: Callable[[], int],
    tool: Callable[[], int],
    *,
    budget_s: float,
) -> Pairs:
    """Time `base` and `tool` in turn for about `budget_s` seconds.

    Both give their own time in ns, so that they can leave preparations out.
    At least `FEWEST` pairs are run, whatever they take.
    """
    base()
    tool()
    bases: list[int] = []
    tools: list[int] = []
    end = time.perf_counter() + budget_s
    gc.collect()
    gc.disable()
    try:
        while len(bases) < FEWEST or (len(bases) < MOST and time.perf_counter() < end):
            first, second = (base, tool) if len(bases) % 2 else (tool, base)
            times = first(), second()
            bases.append(times[first is tool])
            tools.append(times[first is base])
    finally:
        gc.enable()
    ratios = [b / a for a, b in zip(bases, tools)]
    return Pairs(statistics.median(ratios), min(bases), min(tools), len(bases))
