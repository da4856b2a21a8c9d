"""Kernels of PyTorch are the same, by name, as those that torch.profiler records."""

from __future__ import annotations

import json
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ("torch",)
TOLERANCE_NS, TOLERANCE = 2000, 0.1  # of two runs, because the clock rate varies

PROGRAM = """
import sys
import torch

@profile
def work(a, b):
    for _ in range(20):
        c = torch.relu(a @ b + 1)
        total = c.sum()
    torch.cuda.synchronize()
    return total

a, b = torch.randn(2, 4096, 4096, device="cuda")
work(a, b)  # what is chosen and compiled at first use is there
if sys.argv[1] == "torch":
    from torch.profiler import ProfilerActivity
    both = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=both) as profiler:
        work(a, b)
    profiler.export_chrome_trace("trace.json")
else:
    from lineprof import LineProfiler
    profile = LineProfiler(work)
    with profile:
        work(a, b)
    profile.dump_stats("program.lprof")
"""


def check(lab: Lab) -> None:
    from lineprof.report.gpu_format import demangled  # noqa: PLC0415 - a dry run needs none

    other = lab.python(PROGRAM, "torch")
    ran = lab.python(PROGRAM, "lineprof")
    if not (lab.expect_well(other) and lab.expect_well(ran)):
        return
    lab.expect_whole(ran)
    trace = json.loads((other.folder / "trace.json").read_text(encoding="utf-8"))
    theirs: dict[str, list[float]] = {}
    for event in trace["traceEvents"]:
        if event.get("cat") == "kernel":
            theirs.setdefault(event["name"], []).append(event["dur"] * 1000)
    ours: dict[str, list[float]] = {}
    for record in ran.events("kernel"):
        if record.path >= 0:
            ours.setdefault(demangled(record.name), []).append(record.ns)
    lab.expect(theirs, "torch.profiler saw no kernel")
    counts = [{n: len(some) for n, some in one.items()} for one in (ours, theirs)]
    lab.expect(counts[0] == counts[1], f"lineprof has {counts[0]}, torch {counts[1]}")
    for name in sorted({*ours} & {*theirs}):
        mine, other_one = median(ours[name]), median(theirs[name])
        lab.figure(**{name[:40]: f"{mine:.0f} ns, torch.profiler {other_one:.0f} ns"})
        lab.expect(
            abs(mine - other_one) <= TOLERANCE_NS + TOLERANCE * other_one,
            f"{name[:40]}: {mine:.0f} ns here, {other_one:.0f} ns there",
        )
