"""A DataLoader with forked workers works, and the parent's copies are counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ("torch",)

PROGRAM = """
import torch

class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, n):
        return torch.full((256,), float(n))

@profile
def read(loader):
    total = 0.0
    for batch in loader:
        there = batch.to("cuda")
        total += there.sum().item()
    return total

torch.ones(3, device="cuda").sum().item()
loader = torch.utils.data.DataLoader(
    Numbers(), batch_size=8, num_workers=4, multiprocessing_context="fork"
)
say(totals=[read(loader) for _ in range(2)])
"""
TOTAL = 256 * sum(range(64))


def check(lab: Lab) -> None:
    ran = lab.kernprof(PROGRAM)
    if not lab.expect_well(ran):
        return
    lab.expect_whole(ran)
    totals = ran.said["totals"]
    lab.expect_computed(totals == [TOTAL] * 2, f"the sums are {totals}, not {TOTAL}")
    copies = [(name, n, size) for name, n, _, size in ran.line("batch.to").copies]
    lab.expect(copies == [("HtoD", 16, 64 * 256 * 4 * 2)], f"the copies are {copies}")
    lab.expect(ran.line("there.sum()").kernels >= 16, "kernels are missing")
