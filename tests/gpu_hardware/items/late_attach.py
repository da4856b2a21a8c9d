"""A profiler made after warm work has records whose times lie within the run.

The figures are the first start and the last end, from the beginning of the profiler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()
ALONE = True
TOLERANCE_NS = 5000

PROGRAM = """
import sys
import time
from lineprof import LineProfiler

def work():
    for _ in range(10):
        gpu.spin(20_000)  #> kernels=10
    gpu.wait()

gpu.init()
for _ in range(10):
    gpu.empty()
gpu.wait()
time.sleep(float(sys.argv[1]))
begun = clock()
profiler = LineProfiler(work)
with profiler:
    work()
say(begun=begun, ended=clock())
profiler.dump_stats("program.lprof")
"""
PAUSES_S = (0, 10)  # between the context's first work and the profiler


def check(lab: Lab) -> None:
    for pause in PAUSES_S[: 1 if lab.doubles else None]:
        ran = lab.python(PROGRAM, pause)
        if not lab.expect_well(ran):
            continue
        lab.expect_marks(ran)
        lab.expect_whole(ran)
        if not lab.expect(ran.stats.gpu.timelines, "there is no timeline"):
            continue
        [timeline] = ran.stats.gpu.timelines
        starts = [event.start_ns + timeline.origin_ns for event in timeline]
        ends = [start + event.ns for start, event in zip(starts, timeline)]
        begun, ended = ran.said["begun"], ran.said["ended"]
        first, last, whole = min(starts) - begun, max(ends) - begun, ended - begun
        said = f"from {first / 1e6:.3f} to {last / 1e6:.3f} ms of {whole / 1e6:.3f}"
        lab.figure(**{f"after_{pause}_s": said})
        lab.expect(
            first > -TOLERANCE_NS and last < whole + TOLERANCE_NS,
            f"attached after {pause} s, the records are {said} ms",
        )
