"""Work of lines and unattributed work in the footer sum to all work of the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab, Ran

NEEDS = ()

RAW = """
@profile
def outer():
    for _ in range(10):
        inner()  #> kernels=20 HtoD=10240/10 memsets=10
        gpu.empty()  #> kernels=10
    gpu.from_device(512)  #> DtoH=512/1

@profile
def inner():
    gpu.empty(); gpu.spin(20_000)  #> kernels=20
    gpu.to_device_async(1024)  #> HtoD=10240/10
    gpu.memset_async(64)  #> memsets=10

gpu.init()
gpu.prepare()
for _ in range(7):
    gpu.spin(50_000)
outer()
gpu.empty()
"""
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
    ran = lab.kernprof(RAW, options=["-v"])
    if lab.expect_well(ran):
        room = 1 << 22
        lab.expect_marks(ran, unattributed=f"kernels=8 HtoD={room}/1")
        check_footer(lab, ran)
    if lab.lack("torch"):
        lab.figure(torch=f"not run: {lab.lack('torch')}")
        return
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


def check_footer(lab: Lab, ran: Ran) -> None:
    """Compare the footer lines of the table with the profile."""
    lab.expect_whole(ran)
    printed = dict(
        line.partition(": ")[::2] for line in ran.out.splitlines() if ": " in line
    )
    total = f"{ran.totals.gpu_ns / 1e9:g} s in {ran.totals.kernels} kernels"
    lab.expect(
        printed.get("GPU time", "").startswith(total),
        f"the footer says {printed.get('GPU time')!r}, not {total!r}",
    )
    time = f"{ran.unattributed.gpu_ns / 1e9:g} s "
    lab.expect(
        printed.get("Unattributed", "").startswith(time),
        f"the footer says {printed.get('Unattributed')!r} unattributed, not {time}",
    )
    lab.expect("Lost" not in printed, f"the footer says {printed.get('Lost')!r}")
    without = sum(event.path < 0 for event in ran.events("kernel"))
    lab.expect(
        without == ran.unattributed.kernels,
        f"{without} records of kernels have no line,"
        f" {ran.unattributed.kernels} are counted",
    )
