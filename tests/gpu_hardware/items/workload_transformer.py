"""A transformer's step has the kernels and times of torch.profiler and CUDA events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from truth import compare

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ("torch",)
ALONE = True
LIMIT_S = 150

PROGRAM = """
import torch
from regions import compare, region

def work():
    torch.cuda._sleep(100_000_000)  # so that all of the step is launched early
    with region("forward"):
        loss = model(inputs).square().mean()
    with region("backward"):
        loss.backward()
    with region("step"):
        optimizer.step()
    optimizer.zero_grad()

torch.manual_seed(1)
layer = torch.nn.TransformerEncoderLayer(1024, 16, 4096, 0.0, batch_first=True)
model = torch.nn.TransformerEncoder(layer, 2).to("cuda")
optimizer = torch.optim.AdamW(model.parameters())
inputs = torch.randn(16, 256, 1024, device="cuda")
compare(work)
"""


def check(lab: Lab) -> None:
    compare(lab, PROGRAM, timed=("forward", "backward"))
