"""A two-line decorated function, called 20 000 times from plain code."""

from __future__ import annotations

PROFILED = ("tiny",)
CALLS = 20_000


def tiny(x: int) -> int:
    """Add one, in two lines."""
    y = x + 1
    return y  # noqa: RET504 - two lines are wanted


def run() -> int:
    """Do one round: 20 000 calls."""
    total = 0
    for i in range(CALLS):
        total += tiny(i)
    return total
