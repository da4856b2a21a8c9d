"""The budget of --max-overhead, kept while the program runs.

Whenever measuring has cost a little more, the thread that it cost looks what takes
most, and switches off what takes too much: its time is its callers' from then on. A
thread that nobody sees does so, too, but seldom: for what goes round without a call.
To wake one is dear, for the program's then goes on with a processor's caches cold.
"""

from __future__ import annotations

import os
import time

from kernprof.budget import Budget
from kernprof.interval import Interval
from lineprof.units import readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kernprof.budget import Usage
    from lineprof.profiler import LineProfiler
    from lineprof.records import Key

_STEP_NS = 5_000_000  # of cost between looks
_SHARE = 20  # of cost for each ns that a look takes; more, and it is asked less often
_FIRST, _LONGEST = 0.05, 1.0  # s between looks of the thread: ever more
_NAMED = 5  # so many functions are named in one line
_SECOND = 1e9  # ns

# What events cost is measured in small loops, at their best. In programs it is more,
# and code with events in it runs slower between them, too.
_FALLS_SHORT = 2.0


class BudgetWatch:
    """Keeps a program that is measured from getting slower than it may."""

    def __init__(self, limit: float, profiler: Callable[[], LineProfiler]) -> None:
        """Allow `limit` times as slow as alone.

        `profiler` tells which one measures just now.
        """
        self._limit = limit
        self._profiler = profiler
        self._watched: LineProfiler | None = None
        self._began = 0  # ns
        self._off: list[str] = []  # names
        self._looks = 0  # the process in which somebody does; 0: nobody
        self._interval = Interval(_FIRST, self._look, longest=_LONGEST)

    def start(self) -> None:
        """Begin to look, just before the program's first line."""
        self._began = time.perf_counter_ns()
        self._profiler().audit(self._look, _STEP_NS)
        self._interval.start()

    def stop(self) -> None:
        """Look no more."""
        self._profiler().audit(None)
        self._interval.stop()
        self._watched = None

    def _look(self) -> int:
        """Look; return after how many more ns of cost to do so again."""
        before = time.thread_time_ns()
        process = os.getpid()  # a forked one has none of the others' threads
        if self._looks != process:
            self._looks = process
            try:
                self._switch_off()
            finally:
                self._looks = 0
        return max(_STEP_NS, _SHARE * (time.thread_time_ns() - before))

    def _switch_off(self) -> None:
        profiler = self._profiler()
        if profiler is not self._watched:  # the program's own, in the whole's stead
            self._watched, self._budget = (
                profiler,
                Budget(1 + (self._limit - 1) / _FALLS_SHORT),
            )
            self._off.clear()
        elapsed = time.perf_counter_ns() - self._began
        costs = profiler.costs()
        chosen = self._budget.choose(elapsed, costs)
        for cost in costs:
            if cost.key in chosen and cost.code is not None:
                profiler.unwatch(cost.code)
        for key, usage in chosen.items():
            self._off.append(key[2])
            profiler.warnings.append(self._why(key, usage, elapsed))

    def _why(self, key: Key, usage: Usage, elapsed: int) -> str:
        file, line, name = key
        hits = f"{usage.hits} hit{'s' * (usage.hits != 1)}"
        took = readable(usage.cost_ns / _SECOND).strip()
        return (
            f"{file}:{line} {name}: switched off after {elapsed / _SECOND:.2f} s, so"
            f" as to stay within --max-overhead {self._limit:g}: to measure its"
            f" {hits} had taken {took}; what it did since is its callers'"
        )

    def said(self) -> str:
        """Return the line on what was switched off, "" for nothing."""
        if not self._off:
            return ""
        names = ", ".join(self._off[:_NAMED])
        more = len(self._off) - _NAMED
        if more > 0:
            names += f" and {more} more"
        return (
            f"--max-overhead {self._limit:g} has switched off {names}: what they did"
            " since is their callers'; the profile says when and why"
        )
