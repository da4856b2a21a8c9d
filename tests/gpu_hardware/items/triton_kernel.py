"""A kernel of Triton is on the line that launches it, with its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ("torch", "triton")

PROGRAM = """
import torch
import triton
import triton.language as tl

@triton.jit
def add_one(x, n, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = places < n
    tl.store(x + places, tl.load(x + places, mask=mask) + 1, mask=mask)

@profile
def work(x):
    for _ in range(100):
        add_one[(triton.cdiv(x.numel(), 256),)](x, x.numel(), BLOCK=256)
    torch.cuda.synchronize()

x = torch.zeros(10_000, device="cuda")
work(x)
say(values=[float(x.min()), float(x.max())])
"""


def check(lab: Lab) -> None:
    ran = lab.kernprof(PROGRAM, options=["-q", "--gpu-api"])
    if not lab.expect_well(ran):
        return
    lab.expect_whole(ran)
    lab.expect_computed(
        ran.said["values"] == [100, 100], f"values: {ran.said['values']}"
    )
    names = ran.names("add_one[", "kernel")
    lab.expect(names == {"add_one": 100}, f"the line's kernels are {names}")
    lab.figure(calls=" ".join(ran.names("add_one[", "runtime", "driver")))
