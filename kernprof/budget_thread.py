"""The budget of --max-overhead, kept while the program runs.

A thread that nobody sees looks what measuring has cost, and switches off what
costs too much: its time is its callers' from then on.
"""

from __future__ import annotations

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

_EVERY = 0.05  # s between looks
_NAMED = 5  # so many functions are named in one line
_SECOND = 1e9  # ns

# What events cost is measured in small loops, at their best. In programs it is more,
# and code with events in it runs slower between them, too.
_FALLS_SHORT = 2.0


class BudgetThread:
    """Keeps a program that is measured from getting slower than it may."""

    def __init__(self, limit: float, profiler: Callable[[], LineProfiler]) -> None:
        """Allow `limit` times as slow as alone; 0.0: never mind.

        `profiler` tells which one measures just now.
        """
        self._limit = limit
        self._profiler = profiler
        self._watched: LineProfiler | None = None
        self._began = 0  # ns
        self._off: list[str] = []  # names
        self._interval = Interval(_EVERY if limit else 0, self._look)

    def start(self) -> None:
        """Begin to look, just before the program's first line."""
        self._began = time.perf_counter_ns()
        self._interval.start()

    def stop(self) -> None:
        """Look no more."""
        self._interval.stop()
        self._watched = None

    def _look(self) -> None:
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
            profiler._remark(self._why(key, usage, elapsed))  # noqa: SLF001

    def _why(self, key: Key, usage: Usage, elapsed: int) -> str:
        file, line, name = key
        each = readable(usage.time_ns / max(1, usage.calls) / _SECOND).strip()
        took = readable(usage.cost_ns / _SECOND).strip()
        return (
            f"{file}:{line} {name}: switched off after {elapsed / _SECOND:.2f} s, so"
            f" as to stay within --max-overhead {self._limit:g}: to measure"
            f" {usage.calls} calls of {each} each had taken {took};"
            " what it did since is its callers'"
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
