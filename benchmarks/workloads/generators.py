"""A generator and its consumer, both decorated."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PROFILED = ("numbers", "consume")
ROUNDS = 15_000


def numbers(rounds: int) -> Iterator[int]:
    """Yield the even numbers below twice the rounds."""
    for i in range(rounds):
        value = i + i
        yield value


def consume(rounds: int) -> int:
    """Sum what the generator yields."""
    total = 0
    for value in numbers(rounds):
        total += value
    return total


def run() -> int:
    """Do one round: 15 000 values."""
    return consume(ROUNDS)
