"""Two hundred threads, each with its own calls."""

from __future__ import annotations

import threading

THREADS = 200


def leaf(count: int) -> int:
    """Add some numbers up."""
    total = 0
    for number in range(count):
        total += number
    return total


def middle(count: int) -> int:
    """Call the leaf, twice."""
    return leaf(count) + leaf(count // 2)


def work(number: int) -> None:
    """Run the calls of one thread."""
    middle(50 + number)


def main() -> None:
    """Start all threads, and wait for them."""
    threads = [
        threading.Thread(target=work, args=(number,), name=f"worker {number}")
        for number in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


main()
