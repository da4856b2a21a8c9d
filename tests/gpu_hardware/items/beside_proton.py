"""With Triton's Proton in any order both work, or a message names the tool in use.

The figures name the tool that held CUPTI.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ("torch", "triton")

PROGRAM = """
import sys
import torch
import triton.profiler as proton
from lineprof import LineProfiler, gpu_status

def work():
    for _ in range(50):
        x.add_(1)
    torch.cuda.synchronize()

def with_lineprof():
    global profiler
    profiler = LineProfiler(work)
    with profiler:
        work()

def start():
    try:
        proton.start("kernels")
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:100]
    return "started"

def finish():
    if how == "started":
        proton.finalize()

x = torch.zeros(1000, device="cuda")
work()
if sys.argv[1] == "before":
    how = start()
    work()
    finish()
    with_lineprof()
elif sys.argv[1] == "around":
    how = start()
    with_lineprof()
    finish()
else:
    with_lineprof()
    how = start()
    work()
    finish()
profiler.dump_stats("program.lprof")
status = gpu_status()
say(value=float(x[0]), proton=how, backend=status.backend, reason=status.reason)
"""
# Order, and the number of runs of work().
ORDERS = {"before": 3, "around": 2, "after": 3}


def check(lab: Lab) -> None:
    for order, times in ORDERS.items():
        ran = lab.python(PROGRAM, order)
        if not lab.expect_well(ran):
            continue
        said = ran.said
        lab.expect_computed(said["value"] == 50 * times, f"{order}: {said['value']}")
        kernels = ran.line("x.add_(1)").kernels
        lab.figure(**{order: f"lineprof {kernels} kernels, Proton {said['proton']}"})
        if said["backend"] == "cupti":
            lab.expect(kernels == 50, f"{order}: lineprof has {kernels} of 50 kernels")
        else:
            lab.expect(
                "held by" in said["reason"], f"{order}: no reason but {said['reason']}"
            )
