"""A short operation of PyTorch costs at most a tenth more than beside an empty client.

The figures are the medians of ns for each operation: bare, with the empty client of
CUPTI, lineprof, its lines alone, torch.profiler and Proton.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from overhead import expect_ratios, side_by_side

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ("torch",)
ALSO = ("triton",)
ALONE = True
LIMIT_S = 240
TIMES, ROUNDS = 10_000, 7
MOST = {"floor": 1.1}

PROGRAM = """
import torch
from peers import Peer

@profile
def work(times):
    for _ in range(times):
        x.add_(1)

peer = Peer()
x = torch.zeros(1000, device="cuda")
times, took = 10_000, []
for _ in turns():
    with peer.recording():
        begun = clock()
        work(times)
        took.append((clock() - begun) / times)
        torch.cuda.synchronize()
say(ns=took)
peer.end()
"""


def check(lab: Lab) -> None:
    what = "an operation"
    ran = side_by_side(lab, PROGRAM, rounds=ROUNDS, what=what)
    expect_ratios(lab, ran, what, MOST)
    if "lineprof" in ran:
        lab.expect_whole(ran["lineprof"])
        found, wanted = ran["lineprof"].line("x.add_(1)").kernels, TIMES * ROUNDS
        lab.expect(found == wanted, f"{found} kernels are recorded of {wanted}")
