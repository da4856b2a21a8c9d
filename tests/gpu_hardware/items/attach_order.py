"""A profiler made before or after CUDA, a context or a warm-up records GPU work."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()

RAW = """
import sys

def attach(when):
    global profiler
    if when == sys.argv[1]:
        from lineprof import LineProfiler
        begun = clock()
        profiler = LineProfiler(work)
        say(ms=(clock() - begun) / 1e6)

def work():
    for _ in range(50):
        gpu.empty()  #> kernels=50

attach("first")
gpu.init()
attach("context")
work()
gpu.wait()
attach("warm")
with profiler:
    work()
profiler.dump_stats("program.lprof")
"""
# Launches that are also recorded before the profiler is enabled.
RAW_BESIDE = {"first": "kernels=50", "context": "kernels=50", "warm": ""}


def check(lab: Lab) -> None:
    for when, beside in RAW_BESIDE.items():
        ran = lab.python(RAW, when)
        if lab.expect_well(ran):
            lab.figure(**{f"{when}_ms": ran.said["ms"]})
            lab.expect_marks(ran, unattributed=beside)
            lab.expect_whole(ran)
