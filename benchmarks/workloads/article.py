"""A classic example of line profiling, for benchmarks/article.py.

A function draws a random array, sums it, and looks a number up in a list of a
million; another calls it a hundred times.
"""

from __future__ import annotations

import builtins
import random
from array import array
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

CALLS = 100
MILLION = list(range(1_000_000))


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """Stand in for the decorator where no profiler runs."""
    return function


profile = getattr(builtins, "profile", plain)


@profile
def look_up() -> float:
    """Draw, sum, and look a number up."""
    numbers = array("d", drawn(1000))
    total = sum(numbers)
    if random.randrange(900_000, 1_100_000) in MILLION:  # noqa: S311 - no secret
        total += 1.0
    return total


def drawn(count: int) -> list[float]:
    """Draw random numbers."""
    return [random.random() for _ in range(count)]  # noqa: S311 - no secret


@profile
def call_often() -> float:
    """Look up a hundred times."""
    total = 0.0
    for _ in range(CALLS):
        total += look_up()
    return total


if __name__ == "__main__":
    random.seed(5)
    print(f"{call_often():.6f}")
