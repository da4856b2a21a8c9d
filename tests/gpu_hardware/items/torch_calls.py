"""Each function of PyTorch that launches work or waits ends in a known call.

The figures name the calls of the runtime and the driver, by line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ("torch",)

PROGRAM = """
import torch

def work(x, small, pageable, pinned):
    y = x + 1
    z = x @ x
    z.zero_()
    v = small.item()
    w = small.cpu()
    a = pageable.to("cuda")
    b = pinned.to("cuda", non_blocking=True)
    c = x.clone()
    torch.cuda.synchronize()
    torch.cuda.current_stream().synchronize()
    event = torch.cuda.Event()
    event.record()
    event.synchronize()

x = torch.randn(1000, 1000, device="cuda")
pageable = torch.randn(1 << 20)
values = x, x.sum(), pageable, pageable.pin_memory()
work(*values)  # what is chosen and compiled at first use is there
torch.cuda.synchronize()
from lineprof import LineProfiler
profiler = LineProfiler(work)
with profiler:
    work(*values)
profiler.dump_stats("program.lprof")
"""
# By line: whether it launches work, and whether it has to wait.
LINES = {
    "y = x + 1": (True, False),
    "z = x @ x": (True, False),
    "z.zero_()": (True, False),
    "small.item()": (True, True),
    "small.cpu()": (True, True),
    'pageable.to("cuda")': (True, None),
    'pinned.to("cuda"': (True, False),
    "c = x.clone()": (True, False),
    "    torch.cuda.synchronize()": (False, True),
    "current_stream().synchronize()": (False, True),
    "event.synchronize()": (False, True),
}


def check(lab: Lab) -> None:
    ran = lab.python(PROGRAM, LINEPROF_GPU_API=1)
    if not lab.expect_well(ran):
        return
    lab.expect_whole(ran)
    for words, (works, waits) in LINES.items():
        calls = [*ran.names(words, "runtime"), *ran.names(words, "driver")]
        lab.figure(**{words: " ".join(calls)})
        one = ran.line(words)
        did = bool(one.kernels or one.memsets or one.copies)
        lab.expect(did == works, f"`{words}` {'gave' if did else 'gave no'} work")
        if waits is not None:
            lab.expect(bool(one.waits) == waits, f"`{words}` has {one.waits} waits")
        lab.expect(calls, f"`{words}` made no call")
