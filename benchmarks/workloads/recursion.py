"""Recursion: two lines a call, every call decorated."""

from __future__ import annotations

PROFILED = ("fib",)
DEPTH = 19


def fib(n: int) -> int:
    """Give the n-th Fibonacci number the slow way."""
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


def run() -> int:
    """Do one round: 13 529 calls."""
    return fib(DEPTH)
