"""A training loop that is starved leaves the device idle on the lines built to do so.

The figures are ms for each step: what each line has of the device's idle time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ("torch",)
ALONE = True
STEPS, READ_MS, DECODE_MS, SLACK_MS = 20, 20, 10, 2

PROGRAM = """
import time
import torch

def decode(ms):
    end = time.perf_counter() + ms / 1000
    while time.perf_counter() < end:
        sum(range(1000))

@profile
def train(steps):
    for _ in range(steps):
        time.sleep(0.020)
        decode(10)
        inputs = host.to("cuda", non_blocking=True)
        loss = model(inputs).square().mean()
        loss.backward()
        optimizer.step()
        total = loss.item()
    return total

layers = [torch.nn.Linear(4096, 4096) for _ in range(4)]
model = torch.nn.Sequential(*layers).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), 1e-3)
host = torch.randn(2048, 4096).pin_memory()
for _ in range(3):
    optimizer.zero_grad()
    model(host.to("cuda")).square().mean().backward()
    optimizer.step()
torch.cuda.synchronize()
train(20)
"""


def check(lab: Lab) -> None:
    ran = lab.kernprof(PROGRAM)
    if not lab.expect_well(ran):
        return
    lab.expect_whole(ran)
    made = lab.idle_time(ran)
    if not made:
        return
    [device] = made["devices"]
    lab.figure(idle=device["idle_ns"] / 1e6 / STEPS)
    for name, text, wanted, cause in (
        ("read", "time.sleep(0.020)", READ_MS, "waiting_ns"),
        ("decode", "decode(10)", DECODE_MS, "computing_ns"),
    ):
        rows = [row for row in made["rows"] if row["line"] == ran.number(text)]
        found = sum(row["idle_ns"] for row in rows) / 1e6 / STEPS
        caused = sum(row[cause] or 0 for row in rows) / 1e6 / STEPS
        lab.figure(**{name: found, f"{name}, as {cause}": caused})
        # The time before the first step is before the device's first work in train().
        for one in (found, caused):
            lab.expect(
                abs(one - wanted) < SLACK_MS,
                f"{name} has {one:.1f} ms a step ({cause} {caused:.1f}) of {wanted}",
            )
