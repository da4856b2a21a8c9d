"""Recursion: two lines a call, every call decorated."""

from __future__ import annotations

PROFILED = ("fib",)
DEPTH = 19


def fib(n: int) -> int:
    """Return the n-th Fibonacci number by recursion."""
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


def run() -> int:
    """Do one round: 13 529 calls."""
    return fib(DEPTH)
