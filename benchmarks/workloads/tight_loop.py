"""Worst case: a loop of lines of three or four instructions."""

from __future__ import annotations

PROFILED = ("tight_loop",)
ROUNDS = 25_000


def tight_loop(rounds: int) -> int:
    """Count upwards in short lines."""
    c = 0
    for i in range(rounds):
        a = i * 2
        b = a + 1
        c = b - a
    return c


def run() -> int:
    """Do one round: about 100 000 line events."""
    return tight_loop(ROUNDS)
