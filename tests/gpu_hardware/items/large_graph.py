"""All 50,000 kernels of a graph launched once are in a profile dumped at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()
NODES = 50_000

PROGRAM = """
import sys
from lineprof import LineProfiler

nodes = int(sys.argv[1])

def work(graph, stream):
    gpu.replay(graph, stream)

gpu.init()
profiler = LineProfiler(work)
stream = gpu.stream()
gpu.capture(stream)
for _ in range(nodes):
    gpu.empty(stream)
graph = gpu.captured(stream)
gpu.empty(stream)
gpu.wait()
with profiler:
    work(graph, stream)
begun = clock()
profiler.dump_stats("program.lprof")
say(ms=(clock() - begun) / 1e6)
gpu.wait()
"""


def check(lab: Lab) -> None:
    nodes = NODES // 10 if lab.doubles else NODES
    ran = lab.python(PROGRAM, nodes)
    if not lab.expect_well(ran):
        return
    one = ran.line("gpu.replay(graph, stream)")
    lab.figure(kernels=one.kernels, gpu_ms=one.gpu_ns / 1e6, dump_ms=ran.said["ms"])
    lab.expect(one.kernels == nodes, f"{one.kernels} kernels of {nodes}; {ran.run}")
    lab.expect_whole(ran)
