"""Work that still runs when the program ends is completely in the profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()
ALONE = True
LONG_NS = 500_000_000

PROGRAM = """
@profile
def work():
    for _ in range(1000):
        gpu.empty()  #> kernels=1000
    gpu.spin(500_000_000)  #> kernels=1

gpu.init()
work()
"""
OWN = """
import atexit
from lineprof import LineProfiler

profile = LineProfiler()

@profile
def work():
    gpu.spin(500_000_000)  #> kernels=1

@atexit.register
def write():
    profile.dump_stats("program.lprof")

gpu.init()
work()
"""


def check(lab: Lab) -> None:
    for ran in (lab.kernprof(PROGRAM), lab.python(OWN)):
        if not lab.expect_well(ran):
            continue
        lab.expect_marks(ran)
        lab.expect_whole(ran)
        ns = ran.line("gpu.spin").gpu_ns
        lab.expect(ns > 0.97 * LONG_NS, f"the last kernel ran for {ns} ns")
