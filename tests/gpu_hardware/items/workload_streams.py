"""A pipeline of several streams has the kernels and copies that torch.profiler has."""

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

def work():
    for number, batch in enumerate(pinned):
        there = buffers[number % 2]
        incoming.wait_stream(main)
        with torch.cuda.stream(incoming):
            with region("copy in", incoming):
                there.copy_(batch, non_blocking=True)
        main.wait_stream(incoming)
        with region("compute"):
            result = torch.relu(there @ weights)
        outgoing.wait_stream(main)
        with torch.cuda.stream(outgoing):
            with region("copy out", outgoing):
                results[number].copy_(result, non_blocking=True)
        result.record_stream(outgoing)
    torch.cuda.synchronize()

main = torch.cuda.current_stream()
incoming, outgoing = torch.cuda.Stream(), torch.cuda.Stream()
weights = torch.randn(2048, 2048, device="cuda")
buffers = [torch.empty(1024, 2048, device="cuda") for _ in range(2)]
pinned = [torch.randn(1024, 2048).pin_memory() for _ in range(8)]
results = [torch.empty(1024, 2048).pin_memory() for _ in range(8)]
compare(work)
"""


def check(lab: Lab) -> None:
    size = ROUNDS * 8 * 1024 * 2048 * 4
    copied = {"copy in": {"HtoD": size}, "copy out": {"DtoH": size}}
    compare(lab, PROGRAM, rounds=ROUNDS, copied=copied)
