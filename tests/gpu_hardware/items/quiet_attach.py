"""CUDA is still uninitialised after a profiler with a GPU backend was made."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()

PROGRAM = """
from lineprof import LineProfiler, gpu_status

begun = clock()
profile = LineProfiler()
took = clock() - begun
backend, initialized = gpu_status().backend, gpu.initialized()

@profile
def work():
    gpu.init()
    gpu.empty()  #> kernels=1
    gpu.wait()

work()
say(backend=backend, initialized=initialized, later=gpu.initialized(), ms=took / 1e6)
profile.dump_stats("program.lprof")
"""


def check(lab: Lab) -> None:
    ran = lab.python(PROGRAM)
    if not lab.expect_well(ran):
        return
    said = ran.said
    lab.figure(attach_ms=said["ms"])
    lab.expect(said["backend"] == "cupti", f"the backend is {said['backend']}")
    lab.expect(not said["initialized"], "CUDA was initialised when lineprof came")
    lab.expect(said["later"], "CUDA says that it was never initialised")
    lab.expect_marks(ran)
    lab.expect_whole(ran)
