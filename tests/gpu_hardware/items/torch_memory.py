"""Allocations of PyTorch are on the lines that ask for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ("torch",)

# With this setting PyTorch calls the driver for each allocation.
PROGRAM = """
import torch

@profile
def work():
    for _ in range(5):
        memory = torch.empty(1 << 23, dtype=torch.uint8, device="cuda")
        memory.zero_()
        del memory

torch.ones(1, device="cuda").sum().item()
work()
"""
ASKED = "backend:cudaMallocAsync"


def check(lab: Lab) -> None:
    knobs = {"PYTORCH_ALLOC_CONF": ASKED, "PYTORCH_CUDA_ALLOC_CONF": ASKED}
    ran = lab.kernprof(PROGRAM, options=["-q", "--gpu-memory"], **knobs)
    if lab.expect_well(ran):
        asked = ran.line("torch.empty").alloc_bytes
        lab.figure(alloc_bytes=asked)
        lab.expect(asked >= 5 << 23, f"PyTorch's line allocated {asked} bytes")
        lab.expect_whole(ran)
