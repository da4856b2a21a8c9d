"""Coroutines that await each other and are suspended now and then."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator

PROFILED = ("fetch", "gather")
ROUNDS = 250


@types.coroutine
def pause() -> Generator[None, None, None]:
    """Suspend the caller once."""
    yield


async def fetch(i: int) -> int:
    """Pause, then return a number."""
    i += 1  # slow
    await pause()  # slow after
    return i


async def gather(rounds: int) -> int:
    """Await one fetch after the other."""
    total = 0
    for i in range(rounds):
        total += await fetch(i)
        total -= 1  # slow
    return total


def run() -> int:
    """Run the program once."""
    task = gather(ROUNDS)
    while True:
        try:
            task.send(None)
        except StopIteration as done:  # as event loops do
            return int(done.value)
