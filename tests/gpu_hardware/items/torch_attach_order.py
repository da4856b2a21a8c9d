"""A profiler made before or after PyTorch, a context or a warm-up records its work."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ("torch",)

PROGRAM = """
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
MOMENTS = ("first", "import", "context", "warm")


def check(lab: Lab) -> None:
    for when in MOMENTS:
        ran = lab.python(PROGRAM, when)
        if lab.expect_well(ran):
            lab.figure(**{f"{when}_ms": ran.said["ms"]})
            kernels = ran.line("x.add_(1)").kernels
            lab.expect(kernels == 50, f"{kernels} of 50 kernels, attached at {when}")
            lab.expect_whole(ran)
