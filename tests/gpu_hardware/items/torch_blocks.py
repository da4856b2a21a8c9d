"""Blocks of PyTorch's caching allocator are on the lines that ask for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ("torch",)

PROGRAM = """
import torch

@profile
def work():
    kept = torch.empty(1 << 24, dtype=torch.uint8, device="cuda")
    for _ in range(5):
        memory = torch.empty(1 << 23, dtype=torch.uint8, device="cuda")
        del memory
    return kept

@profile
def train():
    loss = weights.sum()
    loss.backward()

weights = torch.ones(1 << 20, device="cuda", requires_grad=True)
weights.sum().backward()
weights.grad = None
kept = work()
train()
"""


def check(lab: Lab) -> None:
    ran = lab.kernprof(PROGRAM, options=["-q", "--gpu-memory", "torch"])
    if not lab.expect_well(ran):
        return
    kept, memory = ran.line("kept = torch.empty"), ran.line("memory = torch.empty")
    for found, known in ((kept, (1, 1, 1)), (memory, (2.5, 0, 0.5))):
        numbers = (found.alloc_bytes, found.live_bytes, found.peak_bytes)
        expected = tuple(int(part * (1 << 24)) for part in known)
        lab.expect(numbers == expected, f"{numbers} are not {expected}")
    # The gradient, by a thread of autograd: 4 bytes for each weight.
    grown = ran.line("loss.backward()").live_bytes
    lab.expect(grown == 1 << 22, f"backward() keeps {grown} bytes, not {1 << 22}")
    peaks = {one.pool: one.peak_bytes for one in ran.stats.gpu.memory.peaks}
    lab.figure(**peaks)
    lab.expect("device" in peaks, "the driver's memory has no peak of its own")
