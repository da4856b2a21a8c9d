"""Kernels are recorded whether modules are loaded eagerly or lazily."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()
PROGRAM = """
@profile
def work():
    for _ in range(5):
        module = gpu.load()
        gpu.run(module)  #> kernels=5
        gpu.empty()  #> kernels=5
    gpu.wait()

gpu.init()
work()
"""


def check(lab: Lab) -> None:
    for how in ("EAGER", "LAZY"):
        ran = lab.kernprof(PROGRAM, CUDA_MODULE_LOADING=how)
        if lab.expect_well(ran):
            lab.expect_marks(ran)
            lab.expect_whole(ran)
            names = ran.names("gpu.run(module)", "kernel")
            lab.figure(**{how: names})
            lab.expect(names == {"short_lived": 5}, f"{how}: the names are {names}")
