"""Work of PyTorch on lines and unattributed work sum to all work of the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from items.correlation import check_footer

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ("torch",)

TORCH = """
import torch

@profile
def train(steps):
    for _ in range(steps):
        inputs = torch.randn(64, 256).to("cuda")
        loss = model(inputs).square().mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        loss.item()

model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU()).to("cuda")
optimizer = torch.optim.AdamW(model.parameters())
before = torch.ones(1000, device="cuda") * 3
train(20)
"""


def check(lab: Lab) -> None:
    ran = lab.kernprof(TORCH, options=["-v"])
    if lab.expect_well(ran):
        check_footer(lab, ran)
        lab.expect(
            ran.unattributed.kernels >= 1, "a kernel outside of lines is unattributed"
        )
        for words in ("randn", "loss = model", "backward()", "optimizer.step"):
            one = ran.line(words)
            lab.expect(one.kernels or one.copies, f"`{words}` has nothing of a GPU")
        lab.figure(
            torch_kernels=ran.totals.kernels,
            torch_unattributed=ran.unattributed.kernels,
        )
