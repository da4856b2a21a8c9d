"""Which line of a training loop costs the GPU's time, and which one waits?

`kernprof -l -v examples/gpu_train.py`, with PyTorch or CuPy and an NVIDIA GPU.
With neither it trains on the processor, and says so.
"""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

from lineprof import profile

if TYPE_CHECKING:
    from types import ModuleType

STEPS = 20
BATCH, INPUTS, HIDDEN = 256, 512, 1024


def train_with_torch(torch: ModuleType, device: str, steps: int = STEPS) -> float:
    """Train two layers on batches that come from the host's memory."""
    model = torch.nn.Sequential(
        torch.nn.Linear(INPUTS, HIDDEN), torch.nn.GELU(), torch.nn.Linear(HIDDEN, 1)
    ).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    last = math.nan
    for _ in range(steps):
        inputs = torch.randn(BATCH, INPUTS).to(device)
        wanted = inputs.sum(dim=1, keepdim=True)
        loss = torch.nn.functional.mse_loss(model(inputs), wanted)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        last = loss.item()
    return last


def train_with_cupy(cupy: ModuleType) -> float:
    """Fit a line by gradient descent, on batches from the host's memory."""
    import numpy as np  # noqa: PLC0415  # CuPy needs it

    numbers = np.random.default_rng(1)
    weights = cupy.zeros((INPUTS, 1), dtype=cupy.float32)
    last = math.nan
    for _ in range(STEPS):
        host = numbers.standard_normal((BATCH, INPUTS), dtype=np.float32)
        inputs = cupy.asarray(host)
        error = inputs @ weights - inputs.sum(axis=1, keepdims=True)
        weights -= 1e-3 * (inputs.T @ error)
        last = float((error * error).mean())
    return last


def train_on_the_processor() -> float:
    """Fit a line by gradient descent, in plain Python."""
    weights = [0.0] * 16
    last = math.nan
    for _ in range(STEPS):
        batch = [[random.gauss(0, 1) for _ in weights] for _ in range(32)]
        errors = [sum(w * x for w, x in zip(weights, row)) - sum(row) for row in batch]
        for place in range(len(weights)):
            slope = sum(e * row[place] for e, row in zip(errors, batch))
            weights[place] -= 1e-2 * slope
        last = sum(error * error for error in errors) / len(errors)
    return last


def has_gpu_of_cupy(cupy: ModuleType) -> bool:
    """Return whether CuPy can use a GPU."""
    try:
        return cupy.cuda.runtime.getDeviceCount() > 0
    except cupy.cuda.runtime.CUDARuntimeError:
        return False


def main() -> None:
    """Train with the first of PyTorch and CuPy that has a GPU."""
    try:
        import torch  # noqa: PLC0415  # it may be missing
    except ImportError:
        torch = None
    try:
        import cupy  # noqa: PLC0415
    except ImportError:
        cupy = None
    if torch is not None and torch.cuda.is_available():
        train_with_torch(torch, "cuda", steps=1)  # what the first use loads is there
        where, loss = "PyTorch on the GPU", profile(train_with_torch)(torch, "cuda")
    elif cupy is not None and has_gpu_of_cupy(cupy):
        where, loss = "CuPy on the GPU", profile(train_with_cupy)(cupy)
    elif torch is not None:
        where = "PyTorch on the processor, because there is no GPU"
        loss = profile(train_with_torch)(torch, "cpu")
    else:
        where = "plain Python on the processor, without PyTorch and CuPy"
        loss = profile(train_on_the_processor)()
    print(f"trained with {where}: the last loss is {loss:.4g}")


if __name__ == "__main__":
    random.seed(1)
    main()
