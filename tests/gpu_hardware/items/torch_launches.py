"""A loop of PyTorch's operations takes at most 1.5 times as long with lineprof.

The figures are ns for each operation: bare, with lineprof, torch.profiler, Proton.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ("torch",)
LIMIT_S = 200
ALSO = ("triton",)
MOST = 1.5
TIMES, ROUNDS = 20_000, 4

PROGRAM = """
import contextlib
import sys
import torch

@profile
def work(times):
    for _ in range(times):
        x.add_(1)

def beside():
    if sys.argv[1] == "torch.profiler":
        from torch.profiler import ProfilerActivity
        both = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
        return torch.profiler.profile(activities=both)
    return contextlib.nullcontext()

x = torch.zeros(1000, device="cuda")
times, took = 20_000, []
if sys.argv[1] == "proton":
    import triton.profiler as proton
    proton.start("launches")
for _ in range(4):
    with beside():
        begun = clock()
        work(times)
        took.append((clock() - begun) / times)
        torch.cuda.synchronize()
if sys.argv[1] == "proton":
    proton.finalize()
say(ns=min(took))
"""


def check(lab: Lab) -> None:
    bare, ours = lab.python(PROGRAM, "bare"), lab.kernprof(PROGRAM, "lineprof")
    if not (lab.expect_well(bare) and lab.expect_well(ours)):
        return
    lab.expect_whole(ours)
    found, wanted = ours.line("x.add_(1)").kernels, TIMES * ROUNDS
    lab.expect(found == wanted, f"{found} kernels are recorded of {wanted}")
    alone, under = bare.said["ns"], ours.said["ns"]
    lab.figure(bare_ns=alone, with_lineprof_ns=under, ratio=under / alone)
    lab.expect(
        under / alone <= MOST,
        f"it takes {under / alone:.2f} times as long, {under:.0f} for {alone:.0f} ns",
    )
    for other in ("torch.profiler", "proton"):
        lack = lab.lack("triton") if other == "proton" else ""
        ran = None if lack else lab.python(PROGRAM, other)
        # The overhead of other profilers is only a figure, not part of the verdict.
        what = f"not run: {lack}" if ran is None else ran.said.get("ns", ran.gist)
        lab.figure(**{f"with_{other}_ns": what})
