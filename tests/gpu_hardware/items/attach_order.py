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
TORCH = """
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
        x.add_(1)  #> kernels=50

attach("first")
import torch
attach("import")
x = torch.zeros(1000, device="cuda")
attach("context")
work()
torch.cuda.synchronize()
attach("warm")
with profiler:
    work()
profiler.dump_stats("program.lprof")
"""
# Launches that are also recorded before the profiler is enabled.
RAW_BESIDE = {"first": "kernels=50", "context": "kernels=50", "warm": ""}
TORCH_MOMENTS = ("first", "import", "context", "warm")


def check(lab: Lab) -> None:
    for when, beside in RAW_BESIDE.items():
        ran = lab.python(RAW, when)
        if lab.expect_well(ran):
            lab.figure(**{f"{when}_ms": ran.said["ms"]})
            lab.expect_marks(ran, unattributed=beside)
            lab.expect_whole(ran)
    for when in TORCH_MOMENTS:
        if lab.lack("torch"):
            lab.figure(torch=f"not run: {lab.lack('torch')}")
            return
        ran = lab.python(TORCH, when)
        if lab.expect_well(ran):
            lab.figure(**{f"torch_{when}_ms": ran.said["ms"]})
            kernels = ran.line("x.add_(1)").kernels
            lab.expect(kernels == 50, f"{kernels} of 50 kernels, attached at {when}")
            lab.expect_whole(ran)
