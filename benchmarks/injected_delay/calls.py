"""Three functions that call each other, with loops and clean-ups around."""

from __future__ import annotations

PROFILED = ("outer", "middle", "inner")
ROUNDS = 250


def inner(n: int) -> int:
    """Do the work at the bottom."""
    value = n * 3  # slow
    while value > n:
        value -= n + 1  # slow
    return value  # slow


def middle(n: int) -> int:
    """Call the bottom twice, once under a clean-up."""
    first = inner(n)
    try:
        second = inner(n + 1)
    finally:
        n += 1  # slow
    return first + second


def outer(rounds: int) -> int:
    """Call the middle in a loop."""
    total = 0
    for i in range(rounds):
        total += middle(i)
        total -= i  # slow
    return total


def run() -> int:
    """Run the program once."""
    return outer(ROUNDS)
