"""A loop of CuPy has the kernels, copies and times that torch.profiler has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from truth import compare

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ("torch", "cupy")
ALONE = True
LIMIT_S = 150
ROUNDS = 5

PROGRAM = """
import cupy
import numpy
import torch
from regions import compare, region

def work():
    for _ in range(10):
        with region("copy in"):
            x = cupy.asarray(host)
        with region("multiply"):
            y = cupy.tanh(x @ weights)
        with region("sum"):
            total = y.sum(axis=0)
        with region("copy out"):
            back = cupy.asnumpy(total)
    return back

torch.ones(1, device="cuda").sum().item()
numbers = numpy.random.default_rng(1)
host = numbers.standard_normal((1024, 2048), dtype=numpy.float32)
weights = cupy.asarray(numbers.standard_normal((2048, 2048), dtype=numpy.float32))
compare(work)
"""


def check(lab: Lab) -> None:
    copied = {
        "copy in": {"HtoD": ROUNDS * 10 * 1024 * 2048 * 4},
        "copy out": {"DtoH": ROUNDS * 10 * 2048 * 4},
    }
    compare(lab, PROGRAM, rounds=ROUNDS, copied=copied)
