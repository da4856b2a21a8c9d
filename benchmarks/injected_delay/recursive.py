"""A tree that is walked recursively: a slow line counts in every open call."""

from __future__ import annotations

PROFILED = ("walk", "start")
DEPTH = 2
ROUNDS = 200


def walk(depth: int) -> int:
    """Count the nodes below."""
    if depth == 0:
        leaf = 1
        return leaf  # slow  # noqa: RET504 - two lines are wanted
    total = 1  # slow
    total += walk(depth - 1)
    total += walk(depth - 1)
    return total


def start(rounds: int) -> int:
    """Walk the tree again and again."""
    nodes = 0
    for _ in range(rounds):
        nodes += walk(DEPTH)
        nodes -= 1  # slow
    return nodes


def run() -> int:
    """Run the program once."""
    return start(ROUNDS)
