"""A step of training takes at most 2 % longer with lineprof.

The figures are the medians of ns of a step of a transformer that keeps the GPU busy,
and of a short step: bare, with the empty client of CUPTI, lineprof, its lines alone,
torch.profiler and Proton.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from overhead import OTHERS, expect_ratios, side_by_side

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ("torch",)
LIMIT_S = 240
ALSO = ("triton",)
ALONE = True
ROUNDS = 7
SAME = 1.01  # of times that differ by noise alone: the GPU is busy all the time
MOST = {
    "large": {"bare": 1.02, **dict.fromkeys(OTHERS, SAME)},
    "small": {"floor": 1.1},
}

PROGRAM = """
import sys
import torch
from peers import Peer

@profile
def step(inputs, wanted):
    outputs = model(inputs)
    loss = torch.nn.functional.mse_loss(outputs, wanted)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()

peer = Peer()
width, batch = (1024, 32) if sys.argv[2] == "large" else (128, 1)
layer = torch.nn.TransformerEncoderLayer(width, 8, 4 * width, 0.0, batch_first=True)
model = torch.nn.TransformerEncoder(layer, 6).to("cuda")
optimizer = torch.optim.AdamW(model.parameters())
inputs = torch.randn(batch, 128, width, device="cuda")
wanted = torch.randn(batch, 128, width, device="cuda")
for _ in range(5):
    step(inputs, wanted)
torch.cuda.synchronize()
took = []
for _ in turns():
    with peer.recording():
        begun = clock()
        for _ in range(10):
            step(inputs, wanted)
        torch.cuda.synchronize()
        took.append((clock() - begun) / 10)
say(ns=took)
peer.end()
"""


def check(lab: Lab) -> None:
    for size, most in MOST.items():
        what = f"a {size} step"
        ran = side_by_side(lab, PROGRAM, size, rounds=ROUNDS, what=what)
        expect_ratios(lab, ran, what, most)
        if "lineprof" in ran:
            lab.expect_whole(ran["lineprof"])
            found = ran["lineprof"].line("outputs = model").kernels
            lab.expect(found, "nothing is recorded")
