"""With several frameworks in one program each line has its kernels, none is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab import NotRunError

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()

# In sequence in one function, each if its framework can be used.
PARTS = {
    "torch": """
import torch
torch_x = torch.ones(1000, device="cuda")
def with_torch():
    return float((torch_x * 2).sum())
""",
    "cupy": """
import cupy
cupy_x = cupy.ones(1000)
def with_cupy():
    return float((cupy_x * 2).sum())
""",
    "numba": """
import numpy
from numba import cuda
numpy.row_stack = numpy.vstack  # numba-cuda 0.30 needs it, NumPy 2.5 lacks it
@cuda.jit
def twice(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 2
numba_x = cuda.to_device(numpy.ones(1000))
def with_numba():
    twice[4, 256](numba_x)
    return float(numba_x.copy_to_host().sum())
""",
    "jax": """
import jax
jax_x = jax.numpy.ones(1000)
def with_jax():
    return float((jax_x * 2).sum())
""",
}
ALSO = tuple(PARTS)
LEAST = 2  # frameworks


def check(lab: Lab) -> None:
    there = [name for name in PARTS if not lab.lack(name)]
    if len(there) < LEAST:
        raise NotRunError(f"it needs {LEAST} of {', '.join(PARTS)}")
    calls = [f"        sums.append(with_{name}())" for name in there]
    program = [PARTS[name] for name in there]
    program += ["@profile", "def work():", "    for _ in range(5):", *calls]
    program += ["sums = []", "work()", "say(sums=sums)"]
    ran = lab.kernprof("\n".join(program))
    if not lab.expect_well(ran):
        return
    lab.expect_whole(ran)
    for name in there:
        kernels = ran.line(f"with_{name}())").kernels
        lab.figure(**{name: kernels})
        lab.expect(kernels >= 5, f"{name} has {kernels} kernels in 5 calls")
    sums = ran.said["sums"]
    lab.expect(all(n >= 2000 for n in sums), f"the sums are {sums}")
