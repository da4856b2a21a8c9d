"""With a DataLoader of two workers, kernels and copies are those of torch.profiler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from truth import compare

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ("torch",)
ALONE = True
LIMIT_S = 150
ROUNDS = 5

PROGRAM = """
import torch
from regions import compare, region

class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 256

    def __getitem__(self, number):
        return torch.full((4096,), float(number))

def work():
    total = torch.zeros((), device="cuda")
    for batch in loader:
        with region("copy"):
            there = batch.to("cuda", non_blocking=True)
        with region("sum"):
            total += there.square().sum()
    with region("read"):
        return total.item()

loader = torch.utils.data.DataLoader(
    Numbers(),
    batch_size=32,
    num_workers=2,
    pin_memory=True,
    multiprocessing_context="fork",
)
compare(work)
"""


def check(lab: Lab) -> None:
    copied = {
        "copy": {"HtoD": ROUNDS * 256 * 4096 * 4},
        "read": {"DtoH": ROUNDS * 4},
    }
    compare(lab, PROGRAM, rounds=ROUNDS, copied=copied)
