"""A million frames of a generator that yields once."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

FRAMES = 1_000_000


def once(number: int) -> Iterator[int]:
    """Yield one number."""
    yield number


def total(frames: int) -> int:
    """Return the sum of the values of many generators."""
    found = 0
    for number in range(frames):
        for value in once(number):
            found += value
    return found


print(total(FRAMES))
