"""Overhead budget (--max-overhead): functions that cost too much are switched off.

`Budget` decides which, from what events cost; it uses no clock, so that the same costs
give the same decision. `BudgetWatch` asks it while the program runs.

Whenever the cost has grown by a step, the thread that caused the step checks the
budget. A second thread checks as well, but seldom: for functions that loop without a
call. Waking a thread is expensive, because the program then continues with cold caches.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from kernprof.periodic_dump import PeriodicDump
from lineprof.model.units import format_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from lineprof.model.records import Key
    from lineprof.recording.discovery import Cost
    from lineprof.recording.profiler import LineProfiler


_MIN_COST_NS = 10_000_000  # in all, before anything is switched off
_SHARE = 50  # functions with less than 1/50 of the cost come last


class Usage:
    """Hits, cost and time of one function so far."""

    def __init__(self, hits: int = 0, cost_ns: int = 0, time_ns: int = 0) -> None:
        """Begin with these values."""
        self.hits, self.cost_ns, self.time_ns = hits, cost_ns, time_ns

    def add(self, cost: Cost) -> None:
        """Add the values of one code object of the function."""
        self.hits += cost.hits
        self.cost_ns += cost.cost_ns
        self.time_ns += cost.time_ns

    def since(self, before: Usage) -> Usage:
        """Return the difference to an earlier usage."""
        return Usage(
            self.hits - before.hits,
            self.cost_ns - before.cost_ns,
            self.time_ns - before.time_ns,
        )


class Budget:
    """Limit of how much slower recording may make a program."""

    def __init__(self, limit: float) -> None:
        """Let the program take `limit` times as long as unprofiled; 1 or more."""
        self._limit = limit
        self._elapsed = 0
        self._before: dict[Key, Usage] = {}
        self._off: set[Key] = set()

    def choose(self, elapsed_ns: int, costs: Iterable[Cost]) -> dict[Key, Usage]:
        """Return the functions to switch off now, with the usage of each so far.

        `elapsed_ns` is the time since the beginning, `costs` are the costs since then.
        Returns no functions while the program is within the budget, or would come back
        to it at the pace since the last call; else those with the highest cost for
        their own time, as many as necessary.
        """
        usage: dict[Key, Usage] = {}
        for cost in costs:
            usage.setdefault(cost.key, Usage()).add(cost)
        recent = {k: u.since(self._before.get(k, Usage())) for k, u in usage.items()}
        interval_ns = elapsed_ns - self._elapsed
        self._elapsed, self._before = elapsed_ns, usage
        total = sum(one.cost_ns for one in usage.values())
        if total < _MIN_COST_NS or self._excess(elapsed_ns, total) <= 0:
            return {}
        spent = sum(one.cost_ns for one in recent.values())
        excess = self._excess(interval_ns, spent)
        chosen = {}
        for key in self._worst_first(recent, spent):
            if excess <= 0:
                break
            excess -= recent[key].cost_ns
            chosen[key] = usage[key]
        self._off.update(chosen)
        return chosen

    def _excess(self, elapsed: int, cost: int) -> int:
        """Return the part of `cost` above the limit for that time; all in ns."""
        return cost - round(max(0, elapsed - cost) * (self._limit - 1))

    def _worst_first(self, recent: dict[Key, Usage], spent: int) -> Sequence[Key]:
        """Return the functions with recent cost, the highest for its own time first."""

        def order(key: Key) -> tuple[bool, float, int, Key]:
            usage = recent[key]
            ratio = usage.cost_ns / max(1, usage.time_ns)
            return usage.cost_ns * _SHARE < spent, -ratio, -usage.cost_ns, key

        keys = [k for k, u in recent.items() if u.cost_ns > 0 and k not in self._off]
        return sorted(keys, key=order)


_STEP_NS = 5_000_000  # of cost between checks
_COST_PER_CHECK = 20  # ns of cost between checks, for each ns that a check takes
_FIRST, _LONGEST = 0.05, 1.0  # s between checks of the thread: increasing
_MAX_NAMED = 5  # functions named in one line
_SECOND = 1e9  # ns

# The cost of events is measured in small loops, where it is lowest. In programs it is
# higher, and code with events in it runs slower between them as well.
_UNDERESTIMATE = 2.0


class BudgetWatch:
    """Checks of a budget while the program runs."""

    def __init__(self, limit: float, profiler: Callable[[], LineProfiler]) -> None:
        """Let the program take `limit` times as long as unprofiled.

        `profiler` returns the profiler in use.
        """
        self._limit = limit
        self._profiler = profiler
        self._watched: LineProfiler | None = None
        self._start_ns = 0
        self._off: list[str] = []  # names
        self._checking_pid = 0  # of the process in which a check runs, or 0
        self._timer = PeriodicDump(_FIRST, self._check, longest=_LONGEST)

    def start(self) -> None:
        """Begin to check, just before the program's first line."""
        self._start_ns = time.perf_counter_ns()
        self._profiler().audit(self._check, _STEP_NS)
        self._timer.start()

    def stop(self) -> None:
        """Check no more."""
        self._profiler().audit(None)
        self._timer.stop()
        self._watched = None

    def _check(self) -> int:
        """Check the budget; return after how many ns of cost to check again."""
        before = time.thread_time_ns()
        pid = os.getpid()  # a forked process does not have the thread that checked
        if self._checking_pid != pid:
            self._checking_pid = pid
            try:
                self._switch_off()
            finally:
                self._checking_pid = 0
        return max(_STEP_NS, _COST_PER_CHECK * (time.thread_time_ns() - before))

    def _switch_off(self) -> None:
        profiler = self._profiler()
        if profiler is not self._watched:  # the program has begun to use @profile
            self._watched = profiler
            self._budget = Budget(1 + (self._limit - 1) / _UNDERESTIMATE)
            self._off.clear()
        elapsed = time.perf_counter_ns() - self._start_ns
        costs = profiler.costs()
        chosen = self._budget.choose(elapsed, costs)
        for cost in costs:
            if cost.key in chosen and cost.code is not None:
                profiler.unwatch(cost.code)
        for key, usage in chosen.items():
            profiler.cut(key)
            self._off.append(key[2])
            profiler.warnings.append(self._why(key, usage, elapsed))

    def _why(self, key: Key, usage: Usage, elapsed: int) -> str:
        file, line, name = key
        hits = f"{usage.hits} hit{'s' * (usage.hits != 1)}"
        took = format_seconds(usage.cost_ns / _SECOND).strip()
        return (
            f"{file}:{line} {name}: switched off after {elapsed / _SECOND:.2f} s, so"
            f" as to stay within --max-overhead {self._limit:g}: to measure its"
            f" {hits} had taken {took}; what it did since is its callers'"
        )

    def summary(self) -> str:
        """Return one line on the functions that were switched off, or ""."""
        if not self._off:
            return ""
        names = ", ".join(self._off[:_MAX_NAMED])
        more = len(self._off) - _MAX_NAMED
        if more > 0:
            names += f" and {more} more"
        return (
            f"--max-overhead {self._limit:g} has switched off {names}: what they did"
            " since is their callers'; the profile says when and why"
        )
