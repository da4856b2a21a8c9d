"""Recursion, 50,000 calls deep: of one function, and of two that call each other."""

from __future__ import annotations

import sys
import threading

DEPTH = 50_000


def down(left: int) -> int:
    """Call itself `left` times."""
    if not left:
        return 0
    return 1 + down(left - 1)


def even(left: int) -> bool:
    """Tell whether a number is even, by way of the one below it."""
    return True if not left else odd(left - 1)


def odd(left: int) -> bool:
    """Tell whether a number is odd, by way of the one below it."""
    return False if not left else even(left - 1)


def main() -> None:
    """Go down both ways."""
    assert down(DEPTH) == DEPTH  # noqa: S101  # a program that knows its answer
    assert even(DEPTH)  # noqa: S101  # the same


sys.setrecursionlimit(DEPTH + 1_000)
threading.stack_size(1 << 30)  # with a frame evaluator a call needs C's stack
thread = threading.Thread(target=main, name="deep")
thread.start()
thread.join()
