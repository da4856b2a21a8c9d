"""Paired timing: plain, tool, plain, tool … so that a noisy machine cancels out.

The speed of a shared machine changes every few milliseconds to minutes. Two runs in a
row nearly always have the same speed, so that their quotient is reliable although
neither time is; the median over many short pairs leaves out those with a change in
between. Other processes also interrupt ours: slow-downs are therefore quotients of the
thread's processor time. If wall time is needed, because profiles consist of it,
interrupted runs do not count.
"""

from __future__ import annotations

import gc
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

MIN_PAIRS = 5
MAX_PAIRS = 80
TRIES = 25
INTERRUPTED = 0.003  # part of the wall time without processor time


@dataclass(frozen=True)
class Pairs:
    """Result of a series of pairs: the median ratio, and the minimum times in ns."""

    ratio: float
    base_ns: int
    tool_ns: int
    count: int


def spent(run: Callable[[], object]) -> int:
    """Return the processor time of one call, in ns."""
    start = time.thread_time_ns()
    run()
    return time.thread_time_ns() - start


def calm(run: Callable[[], object], *, before: Callable[[], object] = int) -> int:
    """Return the wall time of an uninterrupted call, in ns.

    An interrupted call is repeated, after another call of `before`; after too many
    attempts the last one counts.
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

    Both return their own time in ns, so that they can leave preparations out.
    At least `MIN_PAIRS` pairs are run, however long that takes.
    """
    base()
    tool()
    bases: list[int] = []
    tools: list[int] = []
    end = time.perf_counter() + budget_s
    gc.collect()
    gc.disable()
    try:
        while len(bases) < MIN_PAIRS or (
            len(bases) < MAX_PAIRS and time.perf_counter() < end
        ):
            first, second = (base, tool) if len(bases) % 2 else (tool, base)
            times = first(), second()
            bases.append(times[first is tool])
            tools.append(times[first is base])
    finally:
        gc.enable()
    ratios = [b / a for a, b in zip(bases, tools)]
    return Pairs(statistics.median(ratios), min(bases), min(tools), len(bases))
