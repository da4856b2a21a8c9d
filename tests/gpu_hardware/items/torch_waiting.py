"""Wait has the blocked time of PyTorch: `.item()`, synchronize(), copies to host."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ("torch",)
ALONE = True
SLACK = 0.25  # of the kernel's time

PROGRAM = """
import torch

def busy():
    torch.cuda._sleep(cycles)

@profile
def work(small, large, pinned):
    busy()
    small.item()
    busy()
    torch.cuda.synchronize()
    busy()
    event = torch.cuda.Event()
    event.record()
    event.synchronize()
    busy()
    large.cpu()
    busy()  # before a copy that returns at once
    pinned.copy_(large, non_blocking=True)
    torch.cuda.current_stream().synchronize()

def measure(cycles):
    begin, end = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
    begin.record()
    torch.cuda._sleep(cycles)
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)

small, large = torch.ones(1, device="cuda"), torch.ones(1 << 18, device="cuda")
pinned = torch.empty(1 << 18, pin_memory=True)
cycles = 40_000_000
work(small, large, pinned)
measure(cycles)
ms = measure(cycles)
say(ms=ms)
from lineprof import LineProfiler
profiler = LineProfiler(work)
with profiler:
    work(small, large, pinned)
profiler.dump_stats("program.lprof")
"""
WAITS = (
    "small.item()",
    "torch.cuda.synchronize()",
    "event.synchronize()",
    "large.cpu()",
    "current_stream().synchronize()",
)


def check(lab: Lab) -> None:
    ran = lab.python(PROGRAM)
    if not lab.expect_well(ran):
        return
    lab.expect_whole(ran)
    wanted = ran.said["ms"] * 1e6
    lab.figure(to_wait_for_ms=wanted / 1e6)
    for words in WAITS:
        wait, time = ran.line(words).wait_ns, ran.time_ns(words)
        lab.figure(**{words: f"wait {wait / 1e6:.2f} ms of {time / 1e6:.2f} ms"})
        lab.expect(
            abs(wait - wanted) < SLACK * wanted,
            f"`{words}` waited {wait / 1e6:.2f} ms of {wanted / 1e6:.2f}",
        )
        lab.expect(
            -50_000 < time - wait < SLACK * wanted,
            f"`{words}` took {time / 1e6:.2f} ms, {wait / 1e6:.2f} of it waiting",
        )
    one = ran.line("pinned.copy_")
    lab.expect(not one.wait_ns, f"a copy that returns at once waited {one.wait_ns} ns")
