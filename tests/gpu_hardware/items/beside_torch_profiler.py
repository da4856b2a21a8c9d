"""With torch.profiler in any order both work, or a message names the tool in use.

The figures have the number of records of each tool.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ("torch",)

PROGRAM = """
import json
import sys
import torch
from lineprof import LineProfiler, gpu_status
from torch.profiler import ProfilerActivity

def work():
    for _ in range(50):
        x.add_(1)
    torch.cuda.synchronize()

def with_torch():
    both = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    return torch.profiler.profile(activities=both)

def with_lineprof():
    global profiler
    profiler = LineProfiler(work)
    return profiler

def seen(theirs):
    theirs.export_chrome_trace("trace.json")
    with open("trace.json") as file:
        events = json.load(file)["traceEvents"]
    return sum(event.get("cat") == "kernel" for event in events)

x = torch.zeros(1000, device="cuda")
work()
kernels = 0
if sys.argv[1] == "before":
    with with_torch() as theirs:
        work()
    kernels = seen(theirs)
    with with_lineprof():
        work()
elif sys.argv[1] == "around":
    with with_torch() as theirs:
        with with_lineprof():
            work()
    kernels = seen(theirs)
elif sys.argv[1] == "within":
    with with_lineprof():
        with with_torch() as theirs:
            work()
    kernels = seen(theirs)
else:
    with with_lineprof():
        work()
    with with_torch() as theirs:
        work()
    kernels = seen(theirs)
profiler.dump_stats("program.lprof")
status = gpu_status()
say(value=float(x[0]), torch=kernels, backend=status.backend, reason=status.reason)
"""
# Order, and the number of runs of work().
ORDERS = {"before": 3, "around": 2, "within": 2, "after": 3}


def check(lab: Lab) -> None:
    for order, times in ORDERS.items():
        ran = lab.python(PROGRAM, order)
        if not lab.expect_well(ran):
            continue
        said = ran.said
        lab.expect_computed(said["value"] == 50 * times, f"{order}: {said['value']}")
        kernels = ran.line("x.add_(1)").kernels
        lab.figure(
            **{order: f"lineprof {kernels}, torch.profiler {said['torch']} kernels"}
        )
        if said["backend"] == "cupti":
            lab.expect(kernels == 50, f"{order}: lineprof has {kernels} of 50 kernels")
        else:
            lab.expect(
                "held by" in said["reason"], f"{order}: no reason but {said['reason']}"
            )
            lab.expect(said["torch"] >= 50, f"{order}: neither has the kernels")
