"""Decorated coroutines that await each other, driven by hand."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Coroutine, Generator

PROFILED = ("step", "work")
ROUNDS = 2_000


@types.coroutine
def pause() -> Generator[None, None, None]:
    """Return control to the loop once."""
    yield


async def step(i: int) -> int:
    """Pause in every fourth step."""
    if i % 4 == 0:
        await pause()
    doubled = i * 2
    return doubled + 1


async def work(rounds: int) -> int:
    """Await one step after the other."""
    total = 0
    for i in range(rounds):
        value = await step(i)
        total += value
    return total


def drive(coroutine: Coroutine[None, None, int]) -> int:
    """Run a coroutine to its end, as an event loop would."""
    while True:
        try:
            coroutine.send(None)
        except StopIteration as done:  # as event loops do
            return int(done.value)


def run() -> int:
    """Do one round: three tasks, one after the other."""
    return sum(drive(work(ROUNDS)) for _ in range(3))
