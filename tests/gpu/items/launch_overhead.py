"""A loop that does nothing but launch takes at most half as long again with lineprof.

The figures are ns for each launch: bare, with lineprof, torch.profiler, Proton.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

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
    compare(lab, "raw", lab.python(RAW, times).said, lab.kernprof(RAW, times).said)
    if lab.lack("torch"):
        lab.figure(torch=f"not run: {lab.lack('torch')}")
        return
    bare, ours = lab.python(TORCH, "bare").said, lab.kernprof(TORCH, "lineprof").said
    compare(lab, "torch", bare, ours)
    for other in ("torch.profiler", "proton"):
        lack = lab.lack("triton") if other == "proton" else ""
        ran = None if lack else lab.python(TORCH, other)
        # What others do is a figure, and no verdict on us.
        what = f"not run: {lack}" if ran is None else ran.said.get("ns", ran.gist)
        lab.figure(**{f"torch_with_{other}_ns": what})


def compare(
    lab: Lab, name: str, bare: dict[str, float], ours: dict[str, float]
) -> None:
    """Compare a loop alone with the same under lineprof."""
    if not lab.expect("ns" in bare and "ns" in ours, f"{name}: a loop did not end"):
        return
    lab.figure(**{f"{name}_ns": bare["ns"], f"{name}_with_lineprof_ns": ours["ns"]})
    ratio = ours["ns"] / bare["ns"]
    lab.expect(
        ratio <= MOST or lab.doubles, f"{name}: it takes {ratio:.2f} times as long"
    )
