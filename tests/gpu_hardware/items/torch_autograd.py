"""The backward pass, launched by PyTorch's own threads, is on backward()'s line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ("torch",)
LEAST = 0.95  # of it, marked: its first kernel comes from the calling thread

PROGRAM = """
import sys
import torch

@profile
def train(steps):
    for _ in range(steps):
        loss = model(inputs).square().mean()
        loss.backward()
    torch.cuda.synchronize()

layers = [torch.nn.Linear(1024, 1024) for _ in range(8)]
model = torch.nn.Sequential(*layers).to("cuda")
inputs = torch.randn(256, 1024, device="cuda")
train(2)
if sys.argv[1] == "torch":
    from torch.profiler import ProfilerActivity
    both = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=both) as profiler:
        train(10)
    profiler.export_chrome_trace("trace.json")
else:
    from lineprof import LineProfiler
    profiler = LineProfiler(train)
    with profiler:
        train(10)
    profiler.dump_stats("program.lprof")
"""


def check(lab: Lab) -> None:
    other = lab.python(PROGRAM, "torch")
    ran = lab.python(PROGRAM, "lineprof")
    if not (lab.expect_well(other) and lab.expect_well(ran)):
        return
    lab.expect_whole(ran)
    forward, backward = ran.line("loss = model"), ran.line("loss.backward()")
    share = backward.adopted_ns / max(1, backward.gpu_ns)
    lab.figure(
        forward_kernels=forward.kernels,
        backward_kernels=backward.kernels,
        adopted_share_of_backward=share,
    )
    lab.expect(share >= LEAST, f"{share:.1%} of backward comes from other threads")
    lab.expect(not forward.adopted_ns, "some of forward comes from other threads")
    lab.expect(
        not ran.unattributed.kernels, f"{ran.unattributed.kernels} kernels have no line"
    )
    trace = json.loads((other.folder / "trace.json").read_text(encoding="utf-8"))
    theirs = sum(event.get("cat") == "kernel" for event in trace["traceEvents"])
    lab.expect(
        forward.kernels + backward.kernels == theirs,
        f"lines have {forward.kernels} + {backward.kernels} kernels,"
        f" torch.profiler {theirs}",
    )
