"""One libcupti is mapped, and an ordinary user may record.

The figures are versions, the libcupti that lineprof uses, and what CUPTI refuses if
all is asked for.
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


ALL = ["-q", "--gpu-api", "--gpu-memory", "--uvm", "on", "--cuda-graph", "graph"]


def check(lab: Lab) -> None:
    ran = lab.kernprof(PROGRAM)
    if not lab.expect_well(ran):
        return
    lab.figure(**ran.said, cupti_version=ran.run.version)
    lab.expect_marks(ran)
    lab.expect_whole(ran)
    if not lab.doubles:
        many = ran.said["cupti"]
        lab.expect(len(many) == 1, f"{len(many)} libcupti are mapped: {many}")
    ran = lab.kernprof(PROGRAM, options=ALL)
    if lab.expect_well(ran):
        lab.figure(warnings_with_all_options=list(ran.stats.warnings))
        kernels = ran.line("gpu.empty").kernels
        lab.expect(kernels == 3, f"with all options there are {kernels} kernels of 3")
        lab.expect_whole(ran)
