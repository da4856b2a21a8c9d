"""A loop of launches takes at most 1.5 times as long with lineprof.

The figures are ns for each launch: bare, with lineprof, torch.profiler, Proton.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab, Ran

NEEDS = ()
MOST = 1.5

RAW = """
import sys

@profile
def work(times):
    for _ in range(times):
        gpu.empty()

gpu.init()
times, took = int(sys.argv[1]), []
for _ in range(6):
    begun = clock()
    work(times)
    took.append((clock() - begun) / times)
    gpu.wait()
say(ns=min(took))
"""
TORCH = """
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
    times = lab.many(200_000)
    ours = lab.kernprof(RAW, times)
    compare(lab, "raw", lab.python(RAW, times), ours, 6 * times)
    if lab.lack("torch"):
        lab.figure(torch=f"not run: {lab.lack('torch')}")
        return
    ours = lab.kernprof(TORCH, "lineprof")
    compare(lab, "torch", lab.python(TORCH, "bare"), ours, 4 * 20_000)
    for other in ("torch.profiler", "proton"):
        lack = lab.lack("triton") if other == "proton" else ""
        ran = None if lack else lab.python(TORCH, other)
        # The overhead of other profilers is only a figure, not part of the verdict.
        what = f"not run: {lack}" if ran is None else ran.said.get("ns", ran.gist)
        lab.figure(**{f"torch_with_{other}_ns": what})


def compare(lab: Lab, name: str, bare: Ran, ours: Ran, kernels: int) -> None:
    """Compare a loop alone with the same loop under lineprof."""
    if not (lab.expect_well(bare) and lab.expect_well(ours)):
        return
    lab.expect_whole(ours)
    found = ours.line("gpu.empty" if name == "raw" else "x.add_(1)").kernels
    lab.expect(found == kernels, f"{name}: {found} kernels are recorded of {kernels}")
    alone, under = bare.said["ns"], ours.said["ns"]
    lab.figure(**{f"{name}_ns": alone, f"{name}_with_lineprof_ns": under})
    lab.expect(
        under / alone <= MOST or lab.doubles,
        f"{name}: it takes {under / alone:.2f} times as long",
    )
