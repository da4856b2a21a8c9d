"""Few decorated lines, each followed by 250 lines of a plain helper."""

from __future__ import annotations

PROFILED = ("driver",)
ROUNDS = 400


def helper(seed: int) -> int:
    """Run about 250 short lines."""
    total = 0
    for i in range(62):
        a = seed + i
        b = a * 3
        total += b & 7
    return total


def driver(rounds: int) -> int:
    """Call the helper and little else."""
    total = 0
    for i in range(rounds):
        total += helper(i)
    return total


def run() -> int:
    """Do one round: 800 decorated lines, 100 000 plain ones."""
    return driver(ROUNDS)
