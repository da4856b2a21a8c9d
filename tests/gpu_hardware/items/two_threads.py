"""Two interleaved profiled threads each have their own kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()

PROGRAM = """
import threading

@profile
def one():
    gpu.bind()
    together.wait()
    for _ in range(2000):
        gpu.empty()  # of one  #> kernels=2000
    gpu.wait()

@profile
def other():
    gpu.bind()
    together.wait()
    for _ in range(1000):
        helper()  #> kernels=3000
    gpu.wait()

@profile
def helper():
    gpu.empty()  # of another  #> kernels=1000
    gpu.empty(); gpu.empty()  #> kernels=2000

gpu.init()
together = threading.Barrier(2)
threads = [threading.Thread(target=function) for function in (one, other)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
# The launching lines of the kernels of the two backward passes are unknown.
TORCH = """
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
        lab.expect_marks(ran)
        lab.expect_whole(ran)
    if lab.lack("torch"):
        lab.figure(torch=f"not run: {lab.lack('torch')}")
        return
    ran = lab.kernprof(TORCH)
    if lab.expect_well(ran):
        lab.expect_whole(ran)
        forward = ran.line("loss = model").kernels
        lab.expect(forward >= 20 * 2 * 4, f"forward has {forward} kernels")
        lab.figure(
            torch_kernels=ran.totals.kernels,
            torch_unattributed=ran.unattributed.kernels,
        )
