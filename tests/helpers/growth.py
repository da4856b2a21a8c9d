"""Growth of memory by many calls, and functions to call."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROUNDS = 200
TRIES = 20  # at least two


def work(n: int) -> int:
    """Sum the numbers below `n`."""
    total = 0
    for i in range(n):
        total += i
    return total


def numbers(n: int) -> Iterator[int]:
    """Yield the numbers below `n`."""
    try:
        yield 0
        yield from range(1, n)
    finally:
        n = 0


class Usage(ctypes.Structure):
    """The result of mallinfo2, of which two fields are used."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in [
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keepcost",
        ]
    )


def used() -> tuple[int, int]:
    """Return blocks of Python's allocator, and bytes of C's (0 if unknown)."""
    gc.collect()
    with contextlib.suppress(AttributeError):
        read = ctypes.CDLL(None).mallinfo2
        read.restype = Usage
        usage = read()
        return sys.getallocatedblocks(), usage.uordblks + usage.hblkhd
    return sys.getallocatedblocks(), 0


def must_not_grow(call: Callable[[], object], rounds: int = ROUNDS) -> None:
    """Fail if every second call leaves a block, or each call leaves 32 bytes.

    A cache that fills or a list that doubles looks like a leak for some tries: the C
    library counts freed memory that it keeps for each thread and size as in use, and
    may fill that for 200 calls (glibc 2.43). A leak shows in any two tries together;
    in one alone it may take memory that was kept.
    """
    for _ in range(20):
        call()
    points = [used()]
    for _ in range(TRIES):
        for _ in range(rounds):
            call()
        points.append(used())
        if len(points) > 2:
            blocks, size = (now - then for now, then in zip(points[-1], points[-3]))
            if blocks < rounds and size < 32 * 2 * rounds:
                return
    pytest.fail(f"{blocks} blocks and {size} bytes are left by {2 * rounds} calls")
