"""Eager training: autograd hooks, no_grad, and a DataLoader with forked workers.

Hits are behind "#>"; expected warnings would be behind "#:".
"""

# mypy: ignore-errors

from __future__ import annotations

import builtins
import hashlib
from multiprocessing import set_start_method

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

profile = getattr(builtins, "profile", lambda function: function)

Batch = tuple[torch.Tensor, torch.Tensor]


class Numbers(Dataset[Batch]):
    """Data set of twenty points, read by worker processes."""

    def __len__(self) -> int:
        """Return the number of points."""
        return 20

    def __getitem__(self, index: int) -> Batch:
        """Return a point and its target."""
        x = torch.full((4,), index / 20)
        return x, x.sum(0, keepdim=True)


class Net(nn.Module):
    """Network of two layers."""

    def __init__(self) -> None:
        """Set random weights."""
        super().__init__()
        self.first, self.second = nn.Linear(4, 16), nn.Linear(16, 1)

    @profile
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the output of the network for `x`."""
        x = torch.relu(self.first(x))  # > 17
        return self.second(x)  # > 17


@profile
def halve(grad: torch.Tensor) -> torch.Tensor:
    """Hook of a tensor, called in the backward pass."""
    return grad / 2  # > 15


@profile
def count(_module: nn.Module, _into: object, out: tuple[torch.Tensor, ...]) -> None:
    """Hook of a module, called in the backward pass."""
    norms.append(float(out[0].norm()))  # > 15


@torch.no_grad()
@profile
def shrink(net: nn.Module) -> None:
    """Function with no_grad as a decorator."""
    for parameter in net.parameters():  # > 75
        parameter.mul_(0.999)  # > 60


@profile
def loss_of(net: nn.Module, x: torch.Tensor, y: torch.Tensor) -> float:
    """Function with no_grad as a block."""
    with torch.no_grad():  # hits differ by version
        loss = nn.functional.mse_loss(net(x), y)  # > 2
    return loss.item()  # > 2


@profile
def step(net: nn.Module, sgd: torch.optim.Optimizer, batch: Batch) -> float:
    """Train on one batch; return its loss."""
    x, y = batch  # > 15
    sgd.zero_grad()  # > 15
    out = net(x)  # > 15
    out.register_hook(halve)  # > 15
    loss = nn.functional.mse_loss(out, y)  # > 15
    loss.backward()  # > 15
    sgd.step()  # > 15
    return loss.item()  # > 15


@profile
def train(net: nn.Module, loader: DataLoader[Batch]) -> list[float]:
    """Train for three epochs; return the losses."""
    sgd = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)  # > 1
    losses = []  # > 1
    for _ in range(3):  # > 4
        for batch in loader:  # > 18
            losses.append(step(net, sgd, batch))  # > 15
            shrink(net)  # > 15
    return losses  # > 1


norms: list[float] = []
torch.manual_seed(0)
torch.set_num_threads(1)
model = Net()
set_start_method("fork")
model.second.register_full_backward_hook(count)
loader = DataLoader(
    Numbers(), batch_size=4, num_workers=2, multiprocessing_context="fork"
)
x, y = next(iter(loader))
before = loss_of(model, x, y)
losses = train(model, loader)
print(before.hex(), loss_of(model, x, y).hex(), [loss.hex() for loss in losses])
print([norm.hex() for norm in norms])
state = b"".join(value.numpy().tobytes() for value in model.state_dict().values())
print(hashlib.sha256(state).hexdigest())
