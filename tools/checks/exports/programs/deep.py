"""Recursion of 50,000 calls: of one function, and of two that call each other."""

from __future__ import annotations

import sys
import threading

DEPTH = 50_000


def down(left: int) -> int:
    """Recurse `left` times."""
    if not left:
        return 0
    return 1 + down(left - 1)


def even(left: int) -> bool:
    """Return whether a number is even, by recursion."""
    return True if not left else odd(left - 1)


def odd(left: int) -> bool:
    """Return whether a number is odd, by recursion."""
    return False if not left else even(left - 1)


def main() -> None:
    """Run both recursions."""
    assert down(DEPTH) == DEPTH  # noqa: S101  # the known result
    assert even(DEPTH)  # noqa: S101  # the same


sys.setrecursionlimit(DEPTH + 1_000)
threading.stack_size(1 << 30)  # with a frame evaluator calls use the C stack
thread = threading.Thread(target=main, name="deep")
thread.start()
thread.join()
