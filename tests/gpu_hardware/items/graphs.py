"""Kernels of a graph are on the line that replays it, or on the lines captured."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()

PROGRAM = """
@profile
def record(stream):
    gpu.capture(stream)
    gpu.spin(5000, stream)  # captured
    for _ in range(3):
        gpu.empty(stream)  # captured, too
    return gpu.captured(stream)

@profile
def work(graph, stream):
    for _ in range(100):
        gpu.replay(graph, stream)
    gpu.empty()  # not captured
    gpu.wait()

gpu.init()
stream = gpu.stream()
work(record(stream), stream)
"""
LATE = """
from lineprof import LineProfiler

def work(graph, stream):
    for _ in range(100):
        gpu.replay(graph, stream)  # late
    gpu.wait()

gpu.init()
stream = gpu.stream()
gpu.capture(stream)
for _ in range(3):
    gpu.spin(5000, stream)
graph = gpu.captured(stream)
gpu.replay(graph, stream)
gpu.wait()
profiler = LineProfiler(work)
with profiler:
    work(graph, stream)
profiler.dump_stats("program.lprof")
"""
REPLAY, ALONE = "gpu.replay", "# not captured"
FIRST, OTHERS = "gpu.spin", "# captured, too"


def check(lab: Lab) -> None:
    check_nodes(lab)
    check_whole_graphs(lab)
    check_late(lab)


def check_late(lab: Lab) -> None:
    """Check a graph that is older than the profiler: CUPTI may have no record of it."""
    ran = lab.python(LATE)
    if not lab.expect_well(ran):
        return
    kernels, run = ran.line("gpu.replay(graph, stream)  # late").kernels, ran.run
    lab.figure(kernels_of_an_older_graph=f"{kernels} of 300; {run}")
    missing = run.dropped + run.outstanding + run.invalid
    lab.expect(kernels == 300 or missing, f"{kernels} kernels of an older graph; {run}")


def check_nodes(lab: Lab) -> None:
    """Check the records of each node by the replaying and the capturing line."""
    ran = lab.kernprof(PROGRAM)
    if not lab.expect_well(ran):
        return
    lab.expect_whole(ran)
    for capture, wanted in (
        (False, {REPLAY: 400, ALONE: 1, FIRST: 0, OTHERS: 0}),
        (True, {REPLAY: 0, ALONE: 1, FIRST: 100, OTHERS: 300}),
    ):
        found = {words: ran.line(words, capture=capture).kernels for words in wanted}
        lab.expect(found == wanted, f"with capture={capture} lines have {found}")


def check_whole_graphs(lab: Lab) -> None:
    """Check one record for each replay."""
    ran = lab.kernprof(PROGRAM, options=["-q", "--cuda-graph", "graph"])
    if not lab.expect_well(ran):
        return
    lab.expect_whole(ran)
    replay = ran.line(REPLAY)
    graphs = sum(ran.names(REPLAY, "graph").values())
    lab.expect(graphs == 100, f"{graphs} graphs are recorded, of 100 replays")
    lab.expect(not replay.kernels, f"{replay.kernels} kernels are recorded besides")
    lab.expect(replay.gpu_ns > 100 * 5000 * 0.9, f"they took {replay.gpu_ns} ns")
    lab.expect(ran.line(ALONE).kernels == 1, "a kernel outside of them is missing")
    lab.figure(whole_graph_us=replay.gpu_ns / 100 / 1000)
