"""A kernel of Numba and Numba's copies are on the lines that launch them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ("numba",)

PROGRAM = """
import numpy
from numba import cuda

numpy.row_stack = numpy.vstack  # numba-cuda 0.30 needs it, NumPy 2.5 lacks it

@cuda.jit
def add_one(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1

@profile
def work(host):
    x = cuda.to_device(host)
    for _ in range(100):
        add_one[40, 256](x)
    cuda.synchronize()
    return x.copy_to_host()

y = work(numpy.zeros(10_000, numpy.float32))
say(values=[float(y.min()), float(y.max())])
"""


def check(lab: Lab) -> None:
    ran = lab.kernprof(PROGRAM, options=["-q", "--gpu-api"])
    if not lab.expect_well(ran):
        return
    lab.expect_whole(ran)
    lab.expect_computed(
        ran.said["values"] == [100, 100], f"values: {ran.said['values']}"
    )
    names = ran.names("add_one[", "kernel")
    ours = sum(n for name, n in names.items() if "add_one" in name)
    lab.expect(ours == 100, f"the line's kernels are {names}")
    for words, wanted in (("cuda.to_device", "HtoD"), ("copy_to_host", "DtoH")):
        copies = {name: size for name, _, _, size in ran.line(words).copies}
        lab.expect(copies == {wanted: 40_000}, f"`{words}` copied {copies}")
    lab.figure(calls=" ".join(ran.names("add_one[", "runtime", "driver")))
