"""A function of a module, which workers import."""

# mypy: ignore-errors

from __future__ import annotations

import builtins

profile = getattr(builtins, "profile", lambda function: function)


@profile
def add(n: int) -> int:
    """Return the sum of the numbers below `n`."""
    total = 0
    for number in range(n):
        total += number
    return total
