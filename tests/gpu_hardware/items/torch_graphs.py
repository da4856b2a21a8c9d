"""Replays of torch.cuda.graph are on the replaying line, or on the lines captured."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ("torch",)

PROGRAM = """
import torch

@profile
def capture(x):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x * 2
        z = y + 1
    return graph, z

@profile
def work(graph):
    for _ in range(100):
        graph.replay()
    torch.cuda.synchronize()

x = torch.ones(1000, device="cuda")
x * 2 + 1
graph, z = capture(x)
work(graph)
say(values=[float(z.min()), float(z.max())])
"""


def check(lab: Lab) -> None:
    ran = lab.kernprof(PROGRAM)
    if not lab.expect_well(ran):
        return
    lab.expect_whole(ran)
    lab.expect_computed(
        ran.said["values"] == [3, 3], f"the values are {ran.said['values']}"
    )
    replay = ran.line("graph.replay()").kernels
    # PyTorch may add kernels of its own to a replay, each time the same number.
    lab.expect(replay >= 200 and replay % 100 == 0, f"replays have {replay} kernels")
    for words in ("y = x * 2", "z = y + 1"):
        now = ran.line(words).kernels
        lab.expect(not now, f"`{words}` has {now} kernels while it is captured")
        then = ran.line(words, capture=True).kernels
        lab.expect(then == 100, f"`{words}` captured {then} kernels of 100 replays")
    lab.figure(kernels_of_a_replay=replay / 100)
    ran = lab.kernprof(PROGRAM, options=["-q", "--cuda-graph", "graph"])
    if lab.expect_well(ran):
        lab.expect_whole(ran)
        graphs = sum(ran.names("graph.replay()", "graph").values())
        lab.expect(graphs == 100, f"{graphs} graphs are recorded, of 100 replays")
