"""A training loop has the kernels, copies and times that torch.profiler has."""

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

def update(parameters, rate):
    with torch.no_grad():
        for one in parameters:
            one -= rate * one.grad

def work():
    total = 0.0
    for host in batches:
        with region("copy"):
            inputs = host.to("cuda")
        with region("forward"):
            loss = torch.nn.functional.mse_loss(model(inputs), wanted)
        with region("zero"):
            model.zero_grad(set_to_none=False)
        with region("backward"):
            loss.backward()
        with region("update"):
            update(model.parameters(), 1e-3)
        with region("read"):
            total += loss.item()
    return total

torch.manual_seed(1)
layers = [torch.nn.Linear(2048, 2048), torch.nn.GELU(), torch.nn.Linear(2048, 16)]
model = torch.nn.Sequential(*layers).to("cuda")
batches = [torch.randn(1024, 2048) for _ in range(10)]
wanted = torch.randn(1024, 16, device="cuda")
compare(work)
"""


def check(lab: Lab) -> None:
    sizes = {"copy": {"HtoD": 1024 * 2048 * 4}, "read": {"DtoH": 4}}
    copied = {
        name: {way: ROUNDS * 10 * size for way, size in one.items()}
        for name, one in sizes.items()
    }
    compare(lab, PROGRAM, rounds=ROUNDS, copied=copied)
