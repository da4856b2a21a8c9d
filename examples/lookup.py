"""Which line is slow: drawing an array, adding it up, or looking a number up?

Guess first, then: `kernprof -l -v examples/lookup.py`.
"""

from __future__ import annotations

import random

from lineprof import profile

MILLION = list(range(1_000_000))


@profile
def draw_sum_look_up() -> tuple[float, bool]:
    """Draw an array, add it up, look a number up in a list."""
    array = [random.random() for _ in range(1_000)]
    total = sum(array)
    wanted = random.randrange(2_000_000)
    found = wanted in MILLION
    return total, found


@profile
def hundred_times() -> int:
    """Count the numbers that are found."""
    hits = 0
    for _ in range(100):
        _, found = draw_sum_look_up()
        hits += found
    return hits


if __name__ == "__main__":
    random.seed(1)
    print(f"{hundred_times()} of 100 numbers were in the list")
