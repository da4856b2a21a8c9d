"""With --gpu-clock hardware the device takes the times, or a line says why not.

The figures are that line, and the first start and last end of a kernel, from its launch
to the end of the wait for it.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab, Ran

NEEDS = ()
ALONE = True
SINCE = 10  # compute capability
TOLERANCE_NS = 5000
SAYS = re.compile(r"time stamps of the hardware .* are not used: .+")

PROGRAM = """
@profile
def work():
    for _ in range(50):
        begun = clock()
        gpu.spin(20_000)  #> kernels=50
        gpu.wait()
        pairs.append((begun, clock()))

gpu.init()
pairs = []
work()
say(pairs=pairs, capability=gpu.capability())
"""
LATE = """
from lineprof import LineProfiler

def work():
    for _ in range(50):
        gpu.spin(20_000)  #> kernels=50
    gpu.wait()

gpu.init()
gpu.empty()
gpu.wait()
profiler = LineProfiler(work)
with profiler:
    work()
profiler.dump_stats("program.lprof")
"""


def check(lab: Lab) -> None:
    ran = lab.kernprof(PROGRAM, options=["-q", "--gpu-clock", "hardware"])
    if lab.expect_well(ran):
        said = check_line(lab, ran, "first")
        device = ran.said["capability"]
        lab.expect(
            said or device >= SINCE,
            f"no line says that capability {device} has no such clock",
        )
        check_times(lab, ran)
    ran = lab.python(LATE, LINEPROF_GPU_CLOCK="hardware")
    if lab.expect_well(ran):
        said = check_line(lab, ran, "late")
        lab.expect(said, "no line says that a context was there before")


def check_line(lab: Lab, ran: Ran, when: str) -> str:
    """Check that all is recorded; return the line on the clock, if there is one."""
    lab.expect_marks(ran)
    lab.expect_whole(ran)
    words = [sys.executable, "-m", "lineprof", "view", "program.lprof"]
    found = SAYS.search(lab.run(words, ran.text).out)
    lab.figure(**{when: found[0] if found else "used"})
    return found[0] if found else ""


def check_times(lab: Lab, ran: Ran) -> None:
    """Check that each kernel ran between its launch and the end of the wait for it."""
    pairs, kernels = ran.said["pairs"], ran.events("kernel")
    if not lab.expect(len(kernels) == len(pairs), f"{len(kernels)} records"):
        return
    [timeline] = ran.stats.gpu.timelines
    starts = [one.start_ns + timeline.origin_ns for one in kernels]
    early = min(start - begun for start, (begun, _) in zip(starts, pairs))
    late = min(
        ended - start - one.ns for start, one, (_, ended) in zip(starts, kernels, pairs)
    )
    lab.figure(least_from_call_to_start_ns=early, least_from_end_to_wait_ns=late)
    lab.expect(
        min(early, late) > -TOLERANCE_NS,
        f"a kernel is {-early} ns before its launch, or {-late} ns after its wait",
    )
