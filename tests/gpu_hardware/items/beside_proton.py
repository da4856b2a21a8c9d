"""With Triton's Proton in any order both work, or a message names the tool in use.

Proton has a libcupti of its own, and lineprof that of PyTorch; or both have PyTorch's.
The figures have the kernels of lineprof, and what each tool was told.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from overhead import WHERE, for_proton

if TYPE_CHECKING:
    from lab import Lab, Ran

NEEDS = ("torch", "triton")
LIMIT_S = 240

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
    where = lab.python(WHERE).said.get("path", "")
    for order, times in ORDERS.items():
        for cupti, knobs in (("its", {}), ("the same", for_proton(lab, where))):
            what = f"{order}, {cupti} CUPTI"
            ran = lab.python(PROGRAM, order, limit_s=40, **knobs)
            if lab.expect_well(ran):
                check_run(lab, ran, what, times)


def check_run(lab: Lab, ran: Ran, what: str, times: int) -> None:
    """Check the profile of a run beside Proton, and its reason if it has none."""
    said = ran.said
    lab.expect_computed(said["value"] == 50 * times, f"{what}: {said['value']}")
    kernels = ran.line("x.add_(1)").kernels
    told = f"{said['backend']}: {said['reason']}"
    figure = f"lineprof {kernels} kernels, {told}; Proton {said['proton']}"
    lab.figure(**{what: figure})
    words = [sys.executable, "-m", "lineprof", "view", "program.lprof"]
    table = lab.run(words, ran.text).out
    if said["backend"] == "cupti":
        # Two libraries may not know of each other, so that one takes all records.
        says = "its" in what and any(one in table for one in ("nother tool", "Lost"))
        good = kernels == 50 or says
        lab.expect(good, f"{what}: lineprof has {kernels} of 50 kernels")
    else:
        wanted = "CUPTI" if "its" in what else "held by"
        lab.expect(wanted in said["reason"], f"{what}: no reason but {said['reason']}")
