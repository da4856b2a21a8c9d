"""A compiled block has the kernels and times of torch.profiler and of CUDA events."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from lab import NotRunError
from truth import compare

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ("torch", "triton")
ALONE = True
LIMIT_S = 240

PROGRAM = """
import torch
from regions import compare, region

class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.wide = torch.nn.Linear(width, 4 * width)
        self.back = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.back(torch.nn.functional.gelu(self.wide(self.norm(x))))

def work():
    torch.cuda._sleep(100_000_000)  # so that all of the step is launched early
    with region("forward"):
        loss = fast(inputs).square().mean()
    with region("backward"):
        loss.backward()
    model.zero_grad()

torch.manual_seed(1)
model = Block(1024).to("cuda")
fast = torch.compile(model)
inputs = torch.randn(8192, 1024, device="cuda")
compare(work)
"""


def check(lab: Lab) -> None:
    if not any(map(shutil.which, [os.environ.get("CC") or "cc", "gcc", "clang"])):
        raise NotRunError("there is no C compiler")
    timed = ("forward", "backward")
    compare(lab, PROGRAM, timed=timed, limit_s=200, one_by_one=True)
