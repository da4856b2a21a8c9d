"""Tasks and an actor of Ray that call a function of this program, and one of a module.

Argument: a folder in which workers write profiles by the recipe, or "".
"""

# mypy: ignore-errors

from __future__ import annotations

import builtins
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import profiled
import ray
import sums

from lineprof import LineStats, load_stats

if TYPE_CHECKING:
    from collections.abc import Callable

profile = getattr(builtins, "profile", lambda function: function)
TASKS = range(100, 108)
LIMIT_S = 60


@profile
def work(n: int) -> int:
    """Return the sum of the numbers below `n`."""
    total = 0
    for number in range(n):
        total += number
    return total


@ray.remote
def task(function: Callable[[int], int], n: int) -> int:
    """Call a function."""
    return function(n)


@ray.remote
class Actor:
    """An actor that calls functions."""

    def run(self, function: Callable[[int], int], n: int) -> int:
        """Call one."""
        return function(n)


def wait_for(calls: int, folder: str) -> None:
    """Wait until the profiles of the workers have so many calls, or too long."""
    until = time.monotonic() + LIMIT_S
    found = 0
    while found < calls and time.monotonic() < until:
        time.sleep(profiled.EVERY_S)
        stats = [load_stats(file) for file in Path(folder).glob("ray.*.lprof")]
        merged = LineStats.from_stats_objects(*stats).functions if stats else ()
        found = sum(one.calls for one in merged)


def main(folder: str) -> None:
    """Run the tasks, and the first of them as a method of an actor."""
    environment = {}
    if folder:
        environment["env_vars"] = {"PROFILES": folder}
        environment["worker_process_setup_hook"] = profiled.profile_worker
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        configure_logging=False,
        runtime_env=environment,
    )
    first, *others = TASKS
    actors = []  # they live until their profiles are written
    for function in (work, sums.add):
        tasks = [task.remote(function, n) for n in others]
        actors.append(Actor.remote())
        print(sum(ray.get([*tasks, actors[-1].run.remote(function, first)])))
    if folder:
        wait_for(2 * len(TASKS), folder)
    ray.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
