"""The worst case: lines of three or four instructions, nothing else."""

from __future__ import annotations

PROFILED = ("tight_loop",)
ROUNDS = 25_000


def tight_loop(rounds: int) -> int:
    """Count upwards in lines that do next to nothing."""
    c = 0
    for i in range(rounds):
        a = i * 2
        b = a + 1
        c = b - a
    return c


def run() -> int:
    """Do one round: about 100 000 line events."""
    return tight_loop(ROUNDS)
