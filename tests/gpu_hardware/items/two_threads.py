"""Two interleaved profiled threads each have their own kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()

PROGRAM = """
import threading

@profile
def one():
    gpu.bind()
    together.wait()
    for _ in range(2000):
        gpu.empty()  # of one  #> kernels=2000
    gpu.wait()

@profile
def other():
    gpu.bind()
    together.wait()
    for _ in range(1000):
        helper()  #> kernels=3000
    gpu.wait()

@profile
def helper():
    gpu.empty()  # of another  #> kernels=1000
    gpu.empty(); gpu.empty()  #> kernels=2000

gpu.init()
together = threading.Barrier(2)
threads = [threading.Thread(target=function) for function in (one, other)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def check(lab: Lab) -> None:
    ran = lab.kernprof(PROGRAM)
    if lab.expect_well(ran):
        lab.expect_marks(ran)
        lab.expect_whole(ran)
