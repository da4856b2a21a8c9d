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
        found = lab.kernprof(PROGRAM, LINEPROF_GPU_FORCE="").said["status"]
        lab.expect("no NVIDIA GPU" not in found, f"without being told so: {found}")
