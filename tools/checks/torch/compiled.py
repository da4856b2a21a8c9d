"""Training under torch.compile: warnings name compiled functions, others are counted.

The argument names the backend. Hits are behind "#>", expected warnings behind "#:".
"""

# mypy: ignore-errors

from __future__ import annotations

import builtins
import hashlib
import sys

import torch
from torch import nn

profile = getattr(builtins, "profile", lambda function: function)
BACKEND = sys.argv[1]


@profile
def activate(x: torch.Tensor) -> torch.Tensor:
    """Activation, inlined into the code of `Net.forward`; also called once."""
    #: activate: into its callers' code
    x = torch.relu(x)  # > 1
    return x + 1  # > 1


class Net(nn.Module):
    """Network of two layers."""

    def __init__(self) -> None:
        """Set random weights."""
        super().__init__()
        self.first, self.second = nn.Linear(4, 16), nn.Linear(16, 1)

    @profile
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the output of the network for `x`."""
        #: Net.forward: torch.compile ran code of its own for
        x = activate(self.first(x))
        return self.second(x)


@torch.compile(backend=BACKEND)
@profile
def scale(x: torch.Tensor, by: float) -> torch.Tensor:
    """Scale, compiled in two parts with a graph break between them."""
    #: scale: torch.compile ran code of its own for
    y = x * by
    print("break")
    return y + by


@profile
@torch.compile(backend=BACKEND)
def shift(x: torch.Tensor) -> torch.Tensor:
    """Shift, with decorators in the wrong order."""
    #: shift: torch.compile ran code of its own for
    return x - 1


@torch.compiler.disable
@profile
def plain(x: torch.Tensor) -> torch.Tensor:
    """Function excluded from compilation, called by compiled code."""
    return x.abs()  # > 5


@torch.compile(backend=BACKEND)
def calls_plain(x: torch.Tensor) -> torch.Tensor:
    """Compiled function that is not profiled: it gets no warning."""
    return plain(x * 2) + 1


@profile
def train(net: nn.Module, sgd: torch.optim.Optimizer) -> list[float]:
    """Return the losses of five steps."""
    losses = []  # > 1
    for n in range(5):  # > 6
        x = torch.full((8, 4), n / 5)  # > 5
        sgd.zero_grad()  # > 5
        out = calls_plain(shift(scale(net(x), 2.0)))  # > 5
        loss = nn.functional.mse_loss(out, x.sum(1, keepdim=True))  # > 5
        loss.backward()  # > 5
        sgd.step()  # > 5
        losses.append(loss.item())  # > 5
    return losses  # > 1


torch.manual_seed(0)
torch.set_num_threads(1)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
print([loss.hex() for loss in train(torch.compile(model, backend=BACKEND), optimizer)])
print([value.hex() for value in activate(torch.arange(-2.0, 3.0)).tolist()])
state = b"".join(value.numpy().tobytes() for value in model.state_dict().values())
print(hashlib.sha256(state).hexdigest())
