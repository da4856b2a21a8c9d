"""After the primary context was reset new work is recorded, and the old is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()
PROGRAM = """
@profile
def work():
    for _ in range(100):
        gpu.spin(10_000)  #> kernels=300
    gpu.wait()

for _ in range(3):
    gpu.init()
    work()
    gpu.reset()
"""


def check(lab: Lab) -> None:
    ran = lab.kernprof(PROGRAM)
    if not lab.expect_well(ran):
        return
    lab.expect_marks(ran)
    lab.expect_whole(ran)
    lab.figure(gpu_ms=ran.line("gpu.spin").gpu_ns / 1e6, run=str(ran.run))
