"""CUDA is still uninitialised after a profiler with a GPU backend was made."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()

PROGRAM = """
from lineprof import LineProfiler, gpu_status

before = threads()
begun = clock()
profile = LineProfiler()
took = clock() - begun
after = threads()
backend, initialized = gpu_status().backend, gpu.initialized()

@profile
def work():
    gpu.init()
    gpu.empty()  #> kernels=1
    gpu.wait()

work()
say(backend=backend, initialized=initialized, later=gpu.initialized(), ms=took / 1e6)
say(threads=[before, after, threads()])
profile.dump_stats("program.lprof")
"""
# A program chooses its device after the profiler was made: none, here.
HIDDEN = """
import os
import sys

if sys.argv[1] == "profiled":
    from lineprof import LineProfiler
    profile = LineProfiler()
os.environ["CUDA_VISIBLE_DEVICES"] = ""
try:
    gpu.init()
    say(init="succeeded")
except RuntimeError as error:
    say(init=str(error))
"""


def check(lab: Lab) -> None:
    ran = lab.python(PROGRAM)
    if not lab.expect_well(ran):
        return
    said = ran.said
    lab.figure(attach_ms=said["ms"], threads_before_and_after=said["threads"])
    lab.expect(said["backend"] == "cupti", f"the backend is {said['backend']}")
    lab.expect(not said["initialized"], "CUDA was initialised when lineprof came")
    lab.expect(said["later"], "CUDA says that it was never initialised")
    lab.expect_marks(ran)
    lab.expect_whole(ran)
    alone, ours = [lab.python(HIDDEN, how) for how in ("alone", "profiled")]
    if lab.expect_well(alone) and lab.expect_well(ours):
        answers = alone.said["init"], ours.said["init"]
        lab.figure(with_no_visible_device=answers[1])
        lab.expect(
            answers[0] == answers[1] and answers[1].endswith("gave 100"),
            f"without a visible device {answers[0]}, attached {answers[1]}",
        )
