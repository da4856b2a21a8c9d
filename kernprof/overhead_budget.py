"""The budget of --max-overhead, kept while the program runs.

Whenever measuring has cost a little more, the thread that it cost looks what takes
most, and switches off what takes too much: its time is its callers' from then on. A
thread that nobody sees does so, too, but seldom: for what goes round without a call.
To wake one is dear, for the program's then goes on with a processor's caches cold.
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


# What to stop measuring, once measuring takes more than it may.
#
# Nothing here looks at a clock or a program: from what things cost follows what is
# switched off, the same each time.


_LEAST_NS = 10_000_000  # of cost in all, before anything is switched off
_SHARE = 50  # who takes less than a fiftieth of the cost is asked last


class Usage:
    """What the code objects of one function took so far, times in ns."""

    def __init__(self, hits: int = 0, cost_ns: int = 0, time_ns: int = 0) -> None:
        """Begin with these."""
        self.hits, self.cost_ns, self.time_ns = hits, cost_ns, time_ns

    def add(self, cost: Cost) -> None:
        """Add those of one code object."""
        self.hits += cost.hits
        self.cost_ns += cost.cost_ns
        self.time_ns += cost.time_ns

    def since(self, before: Usage) -> Usage:
        """Return what came on top of an earlier usage."""
        return Usage(
            self.hits - before.hits,
            self.cost_ns - before.cost_ns,
            self.time_ns - before.time_ns,
        )


class Budget:
    """How much slower a program may get by being measured."""

    def __init__(self, limit: float) -> None:
        """Let it take `limit` times as long as alone; 1 or more."""
        self._limit = limit
        self._elapsed = 0
        self._before: dict[Key, Usage] = {}
        self._off: set[Key] = set()

    def choose(self, elapsed_ns: int, costs: Iterable[Cost]) -> dict[Key, Usage]:
        """Return the functions to switch off now, with what each took so far.

        `elapsed_ns` is the time since the beginning, `costs` are those since then.
        None while the program is within the budget, or would come back to it if it
        went on as it did since the last call; else those that cost most for the
        time that they take themselves, as many as it needs for that.
        """
        usage: dict[Key, Usage] = {}
        for cost in costs:
            usage.setdefault(cost.key, Usage()).add(cost)
        recent = {k: u.since(self._before.get(k, Usage())) for k, u in usage.items()}
        lately = elapsed_ns - self._elapsed
        self._elapsed, self._before = elapsed_ns, usage
        total = sum(one.cost_ns for one in usage.values())
        if total < _LEAST_NS or self._excess(elapsed_ns, total) <= 0:
            return {}
        spent = sum(one.cost_ns for one in recent.values())
        excess = self._excess(lately, spent)
        chosen = {}
        for key in self._worst_first(recent, spent):
            if excess <= 0:
                break
            excess -= recent[key].cost_ns
            chosen[key] = usage[key]
        self._off.update(chosen)
        return chosen

    def _excess(self, elapsed: int, cost: int) -> int:
        """Return by how much `cost` is more than it may be in that time, in ns."""
        return cost - round(max(0, elapsed - cost) * (self._limit - 1))

    def _worst_first(self, recent: dict[Key, Usage], spent: int) -> Sequence[Key]:
        """Return what has cost anything lately: most for its own time first."""

        def order(key: Key) -> tuple[bool, float, int, Key]:
            one = recent[key]
            ratio = one.cost_ns / max(1, one.time_ns)
            return one.cost_ns * _SHARE < spent, -ratio, -one.cost_ns, key

        some = [k for k, u in recent.items() if u.cost_ns > 0 and k not in self._off]
        return sorted(some, key=order)


_STEP_NS = 5_000_000  # of cost between looks

_SHARE_OF_WATCHING = (
    20  # of cost for each ns that a look takes; more, and it is asked less often
)

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
        self._interval = PeriodicDump(_FIRST, self._look, longest=_LONGEST)

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
        return max(_STEP_NS, _SHARE_OF_WATCHING * (time.thread_time_ns() - before))

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
        took = format_seconds(usage.cost_ns / _SECOND).strip()
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
