"""A loop of NumPy's arrays of 160 kB, one in 500 of which is kept."""

from __future__ import annotations

import sys
import time

import numpy as np


def work(turns: int) -> list[np.ndarray]:
    """Allocate, and keep one array in 500."""
    kept: list[np.ndarray] = []
    for turn in range(turns):
        ones = np.ones(20_000)
        twos = ones * 2.0
        threes = twos + ones
        if turn % 500 == 0:
            kept.append(threes)
    return kept


start = time.process_time_ns()
work(int(sys.argv[1]))
print(time.process_time_ns() - start)
