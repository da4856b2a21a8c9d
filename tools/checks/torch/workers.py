"""A data loader with two workers, by fork and by spawn: their lines are counted.

Run under kernprof, and alone. ``# >`` marks the hits of a line.
"""

# mypy: ignore-errors

from __future__ import annotations

import builtins

import torch
from torch.utils.data import DataLoader, Dataset

profile = getattr(builtins, "profile", lambda function: function)
ITEMS = 12


class Squares(Dataset):
    """The squares of the first numbers."""

    def __len__(self) -> int:
        """Return how many there are."""
        return ITEMS

    @profile
    def __getitem__(self, index: int) -> torch.Tensor:
        """Return one; called in a worker."""
        value = index * index  # > 24
        return torch.tensor(value)  # > 24


@profile
def total(method: str) -> int:
    """Return the sum of all, loaded by workers that are started by `method`."""
    found = 0  # > 2
    for batch in DataLoader(
        Squares(), batch_size=3, num_workers=2, multiprocessing_context=method
    ):
        found += int(batch.sum())  # > 8
    return found  # > 2


if __name__ == "__main__":
    print(total("fork"), total("spawn"))
