"""Overhead budget (--max-overhead): functions that cost too much count less.

`Budget` decides which, from what events cost; it uses no clock, so that the same costs
give the same decision. `BudgetWatch` asks it while the program runs.

Whenever the cost has grown by a step, the thread that caused the step checks the
budget. A second thread checks as well, but seldom: for functions that loop without a
call. Waking a thread is expensive, because the program then continues with cold caches.
"""

from __future__ import annotations

import os
import time

from kernprof.periodic_dump import PeriodicDump
from lineprof.model.units import format_seconds
from lineprof.patterns import listed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import CodeType

    from lineprof.model.records import Key
    from lineprof.recording.discovery import Cost, Overhead
    from lineprof.recording.profiler import LineProfiler


_MIN_COST_NS = 10_000_000  # in all, before anything is switched off
_MIN_INTERVAL_NS = 2_000_000  # of a pace: two threads may check at once
_SHARE = 50  # functions with less than 1/50 of the cost come last,
_SHARE_KEPT = 1000  # and those with less than 1/1000 would save nothing
_LINES_PER_CALL = 2.5  # line events that cost as much as the events of a call
_MIN_SAVED = 0.2  # of a function's cost, for which its lines are given up first


class Usage:
    """Hits, cost and time of one function so far."""

    def __init__(
        self, hits: int = 0, cost_ns: int = 0, time_ns: int = 0, calls: int = 0
    ) -> None:
        """Begin with these values."""
        self.hits, self.cost_ns, self.time_ns = hits, cost_ns, time_ns
        self.calls = calls

    @property
    def lines_share(self) -> float:
        """The share of the cost that is of line events, 0 to 1; an estimate."""
        return self.hits / max(1.0, self.hits + _LINES_PER_CALL * self.calls)

    def add(self, cost: Cost) -> None:
        """Add the values of one code object of the function."""
        self.calls += cost.calls
        self.hits += cost.hits
        self.cost_ns += cost.cost_ns
        self.time_ns += cost.time_ns

    def since(self, before: Usage) -> Usage:
        """Return the difference to an earlier usage."""
        return Usage(
            self.hits - before.hits,
            self.cost_ns - before.cost_ns,
            self.time_ns - before.time_ns,
            self.calls - before.calls,
        )


class Budget:
    """Limit of how much slower recording may make a program."""

    def __init__(
        self, limit: float, factor: float = 1.0, *, has_calls_only: bool = False
    ) -> None:
        """Let the program take `limit` times as long as unprofiled; 1 or more.

        The costs of events are taken `factor` times. With `has_calls_only`, calls of a
        function can be counted without its lines.
        """
        self._limit = limit
        self._factor = factor
        self._has_calls_only = has_calls_only
        self.by_calls: set[Key] = set()  # whose calls alone are to be counted
        self._elapsed = 0
        self._registering = 0
        self._before: dict[Key, Usage] = {}
        self._off: set[Key] = set()

    def allowance(self, program_ns: int) -> int:
        """Return what recording may cost while the program itself runs that long."""
        return round(max(0, program_ns) * (self._limit - 1))

    def choose(
        self,
        elapsed_ns: int,
        costs: Iterable[Cost],
        *,
        registering_ns: int = 0,
        fixed_ns: int = 0,
    ) -> dict[Key, Usage]:
        """Return the functions to switch now, with the usage of each so far.

        Of those in `by_calls` calls alone are to be counted, the others nothing.

        `elapsed_ns` is the time since the beginning, `costs` are the costs of events
        since then. Two more costs cannot be saved by switching functions off:
        `registering_ns`, a part of `elapsed_ns`, and `fixed_ns`, before the beginning
        and after the end.

        Returns no functions while the program is within the budget, or would come back
        to it at the pace since the last call; else those with the highest cost for
        their own time, as many as necessary.
        """
        if elapsed_ns - self._elapsed < _MIN_INTERVAL_NS:
            return {}
        usage: dict[Key, Usage] = {}
        for cost in costs:
            usage.setdefault(cost.key, Usage()).add(cost)
        recent = {k: u.since(self._before.get(k, Usage())) for k, u in usage.items()}
        interval_ns = elapsed_ns - self._elapsed
        registered_ns = registering_ns - self._registering
        self._elapsed, self._before = elapsed_ns, usage
        self._registering = registering_ns
        total = self._cost_of(usage)
        unsaved = registering_ns + fixed_ns
        program_ns = elapsed_ns - total - registering_ns
        if total < _MIN_COST_NS or total + unsaved <= self.allowance(program_ns):
            return {}
        spent = self._cost_of(recent)
        allowed = self.allowance(interval_ns - spent - registered_ns)
        # Half of the allowance pays back what cannot be saved.
        excess = spent - allowed + min(allowed // 2, unsaved)
        chosen = {}
        for key in self._worst_first(recent):
            if excess <= 0:
                break
            excess -= round(
                recent[key].cost_ns * self._factor * self._give_up(key, recent[key])
            )
            chosen[key] = usage[key]
        return chosen

    def _give_up(self, key: Key, recent: Usage) -> float:
        """Give up a function's lines, or else all of it; return the share saved."""
        share = recent.lines_share
        if self._has_calls_only and key not in self.by_calls and share >= _MIN_SAVED:
            self.by_calls.add(key)
            return share
        self.switch_off(key)
        return 1.0

    def switch_off(self, key: Key) -> None:
        """Note that nothing of a function is counted."""
        self.by_calls.discard(key)
        self._off.add(key)

    def _cost_of(self, usage: dict[Key, Usage]) -> int:
        return round(sum(one.cost_ns for one in usage.values()) * self._factor)

    def _worst_first(self, recent: dict[Key, Usage]) -> Sequence[Key]:
        """Return the functions with recent cost, the highest for its own time first."""
        spent = sum(one.cost_ns for one in recent.values())

        def order(key: Key) -> tuple[bool, float, int, Key]:
            usage = recent[key]
            ratio = usage.cost_ns / max(1, usage.time_ns)
            return usage.cost_ns * _SHARE < spent, -ratio, -usage.cost_ns, key

        keys = [
            key
            for key, usage in recent.items()
            if usage.cost_ns * _SHARE_KEPT > spent and key not in self._off
        ]
        return sorted(keys, key=order)


_STEP_NS = 5_000_000  # of cost between checks
_COST_PER_CHECK = 20  # ns of cost between checks, for each ns that a check takes
_FIRST, _LONGEST = 0.05, 1.0  # s between checks of the thread: increasing
_MAX_NAMED = 5  # functions named in one line
_SECOND = 1e9  # ns

# The cost of events is measured in small loops, where it is lowest. In programs it is
# higher, and code with events in it runs slower between them as well.
_UNDERESTIMATE = 2.0

# Costs outside of the program's own time: from Python's start to the program's first
# line (benchmarks/startup.py); of writing a profile, and each function more
# ("end s" of benchmarks/real_programs.py).
_START_NS, _WRITE_NS, _WRITE_FUNCTION_NS = 40_000_000, 50_000_000, 150_000

# Estimates: what is left of the cost of SymPy's 3,700 functions in that benchmark, by
# function. At exit memory is freed; first calls run code that was just rewritten.
_FREE_FUNCTION_NS, _FIRST_CALLS_NS = 50_000, 100_000

_FREE_NS = 40_000_000  # of registering functions, however short the program is
_SHORTEST_PAUSE_NS, _LONGEST_PAUSE_NS = 1_000_000, 100_000_000
_LEAST_NS = 10_000_000  # of the program itself, which begins with Python's start
_TOLERANCE = 0.05  # of the limit, before it is said to be missed


class BudgetWatch:
    """Checks of a budget while the program runs."""

    def __init__(self, limit: float, profiler: Callable[[], LineProfiler]) -> None:
        """Let the program take `limit` times as long as unprofiled.

        `profiler` returns the profiler in use.
        """
        self._limit = limit
        self._profiler = profiler
        self._watched: LineProfiler | None = None
        self._budget = Budget(limit, _UNDERESTIMATE)
        self._began_ns = (0, 0)  # by the wall clock, and by that of the processor
        self._registered = 0  # functions
        self._paused_until_ns = 0  # by the wall clock: see `pause`
        self._off: list[str] = []  # names
        self._by_calls: dict[Key, str] = {}  # names, of functions without lines
        self._left_out = 0  # functions
        self._is_counting_all = True  # that lineprof costs
        self._costs: dict[str, int] = {}  # in ns, by what they were for
        self._ended_ns = 0  # when the run did, by the processor's clock
        self._checking_pid = 0  # of the process in which a check runs, or 0
        self._timer = PeriodicDump(_FIRST, self._check, longest=_LONGEST)

    def start(self) -> None:
        """Begin to check, just before the program's first line."""
        self._began_ns = _clocks()
        self._profiler().audit(self._check, _STEP_NS)
        self._timer.start()

    def stop(self) -> None:
        """Check no more."""
        profiler = self._profiler()
        profiler.audit(None)
        self._timer.stop()
        self._watched = None
        self._ended_ns = time.process_time_ns()
        overhead = profiler.overhead()
        self._left_out = overhead.left_out
        self._is_counting_all = profiler.core == "monitoring"
        self._costs = {
            "to record events": round(overhead.events_ns * _UNDERESTIMATE),
            "to register functions": self._registering_ns(overhead),
        }
        if overhead.left_out:
            profiler.warnings.append(self._why_left_out())

    def pause(self) -> int:
        """Return for how many ns no function can be registered; 0 if one can be now.

        Called for each function that the program calls for the first time.
        """
        rest_ns = self._paused_until_ns - time.perf_counter_ns()
        if rest_ns > 0:
            return rest_ns
        wait_ns = self._wait_ns()
        if wait_ns > 0:
            self._paused_until_ns = time.perf_counter_ns() + wait_ns
        else:
            self._registered += 1
        return wait_ns

    def _wait_ns(self) -> int:
        overhead = self._profiler().overhead()
        writing_ns = (_WRITE_FUNCTION_NS + _FREE_FUNCTION_NS) * self._registered
        if overhead.registering_ns + writing_ns > _FREE_NS:
            events_ns = round(overhead.events_ns * _UNDERESTIMATE)
            running_ns = events_ns + self._registering_ns(overhead)
            allowed_ns = self._budget.allowance(self._elapsed() - running_ns)
            lacking_ns = _START_NS + _WRITE_NS + writing_ns + running_ns - allowed_ns
            if lacking_ns > 0:
                wait_ns = lacking_ns / max(self._limit - 1, 1e-9)
                return int(min(max(wait_ns, _SHORTEST_PAUSE_NS), _LONGEST_PAUSE_NS))
        return 0

    def _registering_ns(self, overhead: Overhead) -> int:
        """Return what registering functions has cost, in ns."""
        return overhead.registering_ns + _FIRST_CALLS_NS * self._registered

    def _elapsed(self) -> int:
        """Return how long the program has run, in ns.

        That is wall time, or processor time if that is less: a program that waits is
        not slowed down by the time for which other programs keep the processor.
        """
        return max(0, min(map(int.__sub__, _clocks(), self._began_ns)))

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
            self._budget = Budget(
                self._limit,
                _UNDERESTIMATE,
                has_calls_only=profiler.core == "monitoring",
            )
            self._off.clear()
            self._by_calls.clear()
        elapsed = self._elapsed()
        costs = profiler.costs()
        chosen = self._budget.choose(
            elapsed,
            costs,
            registering_ns=self._registering_ns(profiler.overhead()),
            fixed_ns=_START_NS + _WRITE_NS + _WRITE_FUNCTION_NS * self._registered,
        )
        codes: dict[Key, list[CodeType]] = {key: [] for key in chosen}
        for cost in costs:
            if cost.key in chosen and cost.code is not None:
                codes[cost.key].append(cost.code)
        for key in chosen:
            lines_only = key in self._budget.by_calls and all(
                map(profiler.count_calls, codes[key])
            )
            if not lines_only:
                self._budget.switch_off(key)
                for code in codes[key]:
                    profiler.unwatch(code)
            profiler.cut(key, lines_only=lines_only)
            if lines_only:
                self._by_calls[key] = key[2]
            else:
                self._by_calls.pop(key, None)
                self._off.append(key[2])

    def summary(self) -> list[str]:
        """Return lines on what was not measured, and on a budget that was missed."""
        lines = []
        if self._by_calls:
            names = listed([*self._by_calls.values()], max_names=_MAX_NAMED)
            lines.append(
                f"--max-overhead {self._limit:g} has stopped counting the lines of"
                f" {names}; calls and totals are complete, and every view marks such a"
                " function"
            )
        if self._off:
            names = listed(self._off, max_names=_MAX_NAMED)
            lines.append(
                f"--max-overhead {self._limit:g} has switched off {names}: later time"
                " is in the lines that call them, and every view marks such a function"
            )
        if self._left_out:
            lines.append(self._why_left_out())
        missed = self._why_missed()
        if missed:
            lines.append(missed)
        if not self._is_counting_all:
            lines.append(
                f"--max-overhead {self._limit:g} leaves out that each call takes longer"
                " with the event source settrace: up to a fifth of the time of programs"
                " with many calls; Python 3.12 and later need no settrace"
            )
        return lines

    def _why_left_out(self) -> str:
        functions = f"{self._left_out} function{'s' * (self._left_out != 1)}"
        return (
            f"--max-overhead {self._limit:g} has left out {functions} for which there"
            " was no time: their time is in the lines that call them"
        )

    def _why_missed(self) -> str:
        """Return a line on by how much the budget was missed, and why; or ""."""
        now = time.process_time_ns()
        ends_ns = _START_NS + now - self._ended_ns
        ends_ns += _FREE_FUNCTION_NS * self._registered
        costs = {"to start and to write the profile": ends_ns, **self._costs}
        own = sum(costs.values())
        factor = now / max(_LEAST_NS, now - own)
        if factor <= self._limit + _TOLERANCE:
            return ""
        parts = ", ".join(
            f"{format_seconds(cost / _SECOND).strip()} {what}"
            for what, cost in sorted(costs.items(), key=lambda item: -item[1])
        )
        return (
            f"--max-overhead {self._limit:g} was not held: the program took about"
            f" {factor:.2f} times as long; {parts}"
        )


def _clocks() -> tuple[int, int]:
    return time.perf_counter_ns(), time.process_time_ns()
