"""With torch.profiler in any order both work, or a message names the tool in use.

The figures have the number of records of each tool.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab, Ran

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
# PyTorch's profiler keeps CUPTI after its end. Does it give it back with this?
GIVEN_BACK = {"TEARDOWN_CUPTI": "1"}


def check(lab: Lab) -> None:
    for order, times in ORDERS.items():
        check_run(lab, lab.python(PROGRAM, order), order, times)
    ran = lab.python(PROGRAM, "before", **GIVEN_BACK)
    check_run(lab, ran, "before, given back", ORDERS["before"])


def check_run(lab: Lab, ran: Ran, what: str, times: int) -> None:
    """Check that lineprof has all kernels of a run, or gives a reason."""
    if not lab.expect_well(ran):
        return
    said = ran.said
    lab.expect_computed(said["value"] == 50 * times, f"{what}: {said['value']}")
    kernels = ran.line("x.add_(1)").kernels
    told = f"{said['backend']}: {said['reason']}"
    figure = f"lineprof {kernels}, torch.profiler {said['torch']} kernels; {told}"
    lab.figure(**{what: figure})
    if said["backend"] == "cupti":
        lab.expect(kernels == 50, f"{what}: lineprof has {kernels} of 50 kernels")
    else:
        lab.expect("held by" in said["reason"], f"{what}: no reason but {told}")
        lab.expect(said["torch"] >= 50, f"{what}: neither has the kernels")
