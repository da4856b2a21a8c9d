"""A raw kernel of CuPy and CuPy's copies are on the lines that launch them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab, Ran

NEEDS = ("cupy",)

PROGRAM = """
import cupy
import numpy

SOURCE = '''
extern "C" __global__ void add_one(float *x, int n)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) {
        x[i] += 1;
    }
}
'''
add_one = cupy.RawKernel(SOURCE, "add_one")

@profile
def work(host):
    x = cupy.asarray(host)
    for _ in range(100):
        add_one((40,), (256,), (x, numpy.int32(x.size)))
    y = x * 2
    return cupy.asnumpy(y)

y = work(numpy.zeros(10_000, numpy.float32))
say(values=[float(y.min()), float(y.max())])
"""


def check(lab: Lab) -> None:
    for knobs in ({}, {"CUPY_CUDA_PER_THREAD_DEFAULT_STREAM": 1}):
        check_run(lab, lab.kernprof(PROGRAM, options=["-q", "--gpu-api"], **knobs))


def check_run(lab: Lab, ran: Ran) -> None:
    """Check the lines of one run of the program."""
    if not lab.expect_well(ran):
        return
    lab.expect_whole(ran)
    lab.expect_computed(
        ran.said["values"] == [200, 200], f"values: {ran.said['values']}"
    )
    names = ran.names("add_one((", "kernel")
    lab.expect(names == {"add_one": 100}, f"the line's kernels are {names}")
    lab.expect(ran.line("y = x * 2").kernels == 1, "an operation's kernel is missing")
    for words, wanted in (("cupy.asarray", "HtoD"), ("cupy.asnumpy", "DtoH")):
        copies = {name: size for name, _, _, size in ran.line(words).copies}
        lab.expect(copies == {wanted: 40_000}, f"`{words}` copied {copies}")
    lab.figure(calls=" ".join(ran.names("add_one((", "runtime", "driver")))
