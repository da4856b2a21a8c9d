"""NVTX ranges of lines and PyTorch's own ranges reach a tool side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from items.nvtx_ranges import check_ranges, run_with_spy

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ("torch",)

PROGRAM = """
import torch

@profile
def work(x):
    for _ in range(10):
        x = x @ x
        torch.cuda.nvtx.range_push("of PyTorch")
        x = x / x.norm()
        torch.cuda.nvtx.range_pop()
    return x.sum().item()

work(torch.randn(256, 256, device="cuda"))
"""


def check(lab: Lab) -> None:
    ran, heard = run_with_spy(lab, PROGRAM)
    if lab.expect_well(ran):
        lab.expect_whole(ran)
        check_ranges(lab, ran, heard)
