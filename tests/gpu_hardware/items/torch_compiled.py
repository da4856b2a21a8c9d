"""Kernels and graphs of torch.compile are on the line that calls the function."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from lab import NotRunError

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ("torch", "triton")
LIMIT_S = 240

PROGRAM = """
import sys
import torch

def compute(x, y):
    return torch.tanh(x * 2 + y).sin() * y

@profile
def work(fast, x, y, times):
    for _ in range(times):
        x = fast(x, y).clone()
    return x.sum().item()

fast = torch.compile(compute, mode=sys.argv[1])
x, y = torch.randn(2, 1 << 20, device="cuda")
work(fast, x, y, 5)  # it is compiled, and captured where graphs are wanted
from lineprof import LineProfiler
profiler = LineProfiler(work)
with profiler:
    work(fast, x, y, 50)
profiler.dump_stats("program.lprof")
"""


def check(lab: Lab) -> None:
    if not any(map(shutil.which, [os.environ.get("CC") or "cc", "gcc", "clang"])):
        raise NotRunError("there is no C compiler")
    for mode in ("default", "reduce-overhead"):
        ran = lab.python(PROGRAM, mode, limit_s=240)
        if not lab.expect_well(ran):
            continue
        lab.expect_whole(ran)
        names = ran.names("x = fast", "kernel")
        lab.figure(**{mode: {name[:50]: n for name, n in names.items()}})
        compiled = sum(n for name, n in names.items() if name.startswith("triton_"))
        lab.expect(
            compiled >= 50, f"{mode}: {compiled} compiled kernels in 50 calls: {names}"
        )
        lab.expect(
            not ran.unattributed.kernels,
            f"{mode}: {ran.unattributed.kernels} kernels have no line",
        )
