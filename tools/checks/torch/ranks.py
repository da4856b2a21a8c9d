"""Two ranks under torchrun: rank N runs its loop 100 * (N + 1) times, then both add.

Hits are behind "#>" if they are the same in both ranks.
"""

# mypy: ignore-errors

from __future__ import annotations

import builtins
import sys

import torch
import torch.distributed as dist

profile = getattr(builtins, "profile", lambda function: function)


@profile
def work(rounds: int) -> float:
    """Add up numbers below `rounds`."""
    total = 0.0  # > 1
    for number in range(rounds):
        total += number  # the hits differ by rank
    return total  # > 1


@profile
def exchange(value: float) -> float:
    """Return the sum of `value` over all ranks."""
    both = torch.tensor([value])  # > 1
    dist.all_reduce(both)  # > 1
    for _ in range(3):  # > 4
        dist.barrier()  # > 3
    return both.item()  # > 1


dist.init_process_group("gloo")
total = exchange(work(100 * (dist.get_rank() + 1)))
sys.stdout.write(f"rank {dist.get_rank()} of {dist.get_world_size()}: {total}\n")
dist.destroy_process_group()
