"""Generators that delegate: delays before a yield and after a resume."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PROFILED = ("leaves", "branches", "consume")
ROUNDS = 250


def leaves(n: int) -> Iterator[int]:
    """Yield two values."""
    value = n  # slow
    yield value  # slow after
    value += 1
    yield value


def branches(rounds: int) -> Iterator[int]:
    """Yield the leaves of every branch."""
    for i in range(rounds):
        yield from leaves(i)
        i += 1  # slow  # noqa: PLW2901 - any statement will do


def consume(rounds: int) -> int:
    """Return the sum of all values."""
    total = 0
    for value in branches(rounds):
        total += value  # slow
    return total


def run() -> int:
    """Run the program once."""
    return consume(ROUNDS)
