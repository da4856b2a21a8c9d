"""Two threads that train with PyTorch each have their own forward passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ("torch",)

# The launching lines of the kernels of the two backward passes are unknown.
PROGRAM = """
import threading
import torch

@profile
def train(model):
    together.wait()
    for _ in range(20):
        loss = model(inputs).square().mean()
        loss.backward()
    torch.cuda.synchronize()

def make():
    layers = [torch.nn.Linear(256, 256) for _ in range(4)]
    return torch.nn.Sequential(*layers).to("cuda")

inputs = torch.randn(64, 256, device="cuda")
together = threading.Barrier(2)
threads = [threading.Thread(target=train, args=[make()]) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def check(lab: Lab) -> None:
    ran = lab.kernprof(PROGRAM)
    if lab.expect_well(ran):
        lab.expect_whole(ran)
        forward = ran.line("loss = model").kernels
        lab.expect(forward >= 20 * 2 * 4, f"forward has {forward} kernels")
        lab.figure(
            kernels=ran.totals.kernels,
            unattributed=ran.unattributed.kernels,
        )
