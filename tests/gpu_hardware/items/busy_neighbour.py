"""Work of another process on the same device is not in the profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()
ALONE = True

BESIDE = """
import time

gpu.init()
print("ready", flush=True)
end = time.monotonic() + 60
while time.monotonic() < end:
    gpu.spin(5_000_000)
    gpu.wait()
"""
PROGRAM = """
import time

@profile
def work():
    gpu.spin(1_000_000)  #> kernels=1
    gpu.wait()
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        sum(range(10_000))
    gpu.spin(1_000_000)  #> kernels=1

gpu.init()
work()
"""


def check(lab: Lab) -> None:
    with lab.beside(BESIDE):
        ran = lab.kernprof(PROGRAM)
    if not lab.expect_well(ran):
        return
    lab.expect_marks(ran)
    lab.expect_whole(ran)
    lab.expect(not ran.line("sum(range").gpu_ns, "the processor's line has GPU time")
    lab.figure(kernels_ms=ran.totals.gpu_ns / 1e6)
