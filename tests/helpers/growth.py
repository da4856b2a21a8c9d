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

    A cache that fills or a list that doubles may look like a leak once, so there
    are five tries; a leak shows in each of them.
    """
    for _ in range(20):
        call()
    for _ in range(5):
        before = used()
        for _ in range(rounds):
            call()
        blocks, size = (now - then for now, then in zip(used(), before))
        if blocks < rounds // 2 and size < 32 * rounds:
            return
    pytest.fail(f"{blocks} blocks and {size} bytes are left by {rounds} calls")
