"""Time of a line that calls profiled functions: the true time, and the reported one.

Its time has the cost of all events in the callees in it, which is subtracted. Runs are
short, and the minimum of many counts: what disturbs a run only adds to it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FunctionType

CALLS = 100  # in a run


@dataclass(frozen=True)
class Caller:
    """A statement that calls the function `callee`, and the source of that."""

    title: str
    text: str
    callee: str
    rounds: int = 300  # in a sample


CALLERS = (
    Caller(
        "helper of 120 short lines",
        "callee(60)",
        "def callee(n):\n"
        "    t = 0\n"
        "    for i in range(n):\n"
        "        t += i\n"
        "    return t\n",
    ),
    Caller(
        "tiny generator",
        "for y in callee(2): x = y",
        "def callee(n):\n    for i in range(n):\n        yield i\n",
    ),
)


def load(caller: Caller) -> dict[str, Any]:
    """Return the names of a new copy of the caller's program."""
    names: dict[str, Any] = {}
    source = (
        f"{caller.callee}def run(n):\n    for _ in range(n):\n        {caller.text}\n"
    )
    exec(compile(source, f"<{caller.title}>", "exec"), names)  # noqa: S102
    return names


def timed_ns(run: FunctionType) -> int:
    """Return the time of a run, in ns."""
    start = time.perf_counter_ns()
    run(CALLS)
    return time.perf_counter_ns() - start


def sample(caller: Caller, make: Callable[[], Any]) -> tuple[float, float]:
    """Return the true and the reported time of the line with its loop, in ns."""
    plain, profiled = load(caller)["run"], load(caller)
    truth = min(timed_ns(plain) for _ in range(caller.rounds))
    profiler = make()
    profiler.add_function(profiled["callee"])
    profiler.add_function(profiled["run"])
    reported = []
    with profiler:
        for _ in range(caller.rounds // 10):
            profiled["run"](CALLS)  # warms the caches
            profiler.reset()
            profiled["run"](CALLS)
            stats = profiler.get_stats()
            found = next(f for f in stats.functions if f.name == "run")
            reported.append(found.total_ns)
    del profiler  # some hooks trace as long as a profiler exists
    truth = min(truth, *(timed_ns(plain) for _ in range(caller.rounds)))
    return truth / CALLS, min(reported) / CALLS
