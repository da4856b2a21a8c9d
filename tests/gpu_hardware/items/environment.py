"""The device is found, one libcupti is mapped, and an ordinary user may record.

The figures are versions, and the libcupti that lineprof uses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()

PROGRAM = """
from lineprof import gpu_status

@profile
def work():
    for _ in range(3):
        gpu.empty()  #> kernels=3
    gpu.wait()

gpu.init()
work()
say(status=str(gpu_status()), cupti=mapped("libcupti"), cuda=mapped("libcuda.so"))
"""


# With these options CUPTI is asked for all that lineprof knows of.
ALL = ["-q", "--gpu-api", "--gpu-memory", "--uvm", "on", "--cuda-graph", "graph"]


def check_all_options(lab: Lab) -> None:
    """Record what CUPTI refuses; it must not refuse kernels."""
    ran = lab.kernprof(PROGRAM, options=ALL)
    if lab.expect_well(ran):
        lab.figure(warnings_with_all_options=list(ran.stats.warnings))
        kernels = ran.line("gpu.empty").kernels
        lab.expect(kernels == 3, f"with all options there are {kernels} kernels of 3")
        lab.expect_whole(ran)


def check(lab: Lab) -> None:
    ran = lab.kernprof(PROGRAM)
    if not lab.expect_well(ran):
        return
    lab.figure(**ran.said, cupti_version=ran.run.version)
    lab.expect_marks(ran)
    lab.expect_whole(ran)
    check_all_options(lab)
    if not lab.doubles:
        many = ran.said["cupti"]
        lab.expect(len(many) == 1, f"{len(many)} libcupti are mapped: {many}")
        found = lab.kernprof(PROGRAM, LINEPROF_GPU_FORCE="").said["status"]
        lab.expect("no NVIDIA GPU" not in found, f"without being told so: {found}")
