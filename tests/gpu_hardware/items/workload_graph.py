"""Replays of a captured training step have the kernels and times of torch.profiler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from truth import compare

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ("torch",)
ALONE = True
LIMIT_S = 150

PROGRAM = """
import torch
from regions import compare, region

def step():
    loss = model(inputs).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)

def capture():
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph

def work():
    if not graphs:
        graphs.append(capture())
    torch.cuda._sleep(20_000_000)  # so that the replays are launched early
    for _ in range(10):
        with region("replay"):
            graphs[0].replay()

torch.manual_seed(1)
graphs = []
layers = [torch.nn.Linear(2048, 2048) for _ in range(4)]
model = torch.nn.Sequential(*layers).to("cuda")
optimizer = torch.optim.AdamW(model.parameters(), capturable=True)
inputs = torch.randn(1024, 2048, device="cuda")
compare(work)
"""


def check(lab: Lab) -> None:
    compare(lab, PROGRAM, timed=("replay",))
