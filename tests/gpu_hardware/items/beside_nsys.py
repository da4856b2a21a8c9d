"""Under Nsight Systems lineprof names the holder of CUPTI; NVTX ranges are reported."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

from lab import NotRunError

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()

PROGRAM = """
@profile
def work():
    for _ in range(10):
        gpu.empty()
    gpu.wait()

gpu.init()
work()
"""


def check(lab: Lab) -> None:
    lab.need_device()
    if not shutil.which("nsys"):
        raise NotRunError("nsys is not on PATH")
    text = lab.write(PROGRAM)
    words = ["nsys", "profile", "-o", "report", "--trace=cuda,nvtx", sys.executable]
    words += ["-m", "kernprof", "-l", "-q", "program.py"]
    ran = lab.run(words, text)
    if not lab.expect_well(ran):
        return
    run = ran.run
    lab.figure(backend=run.backend, reason=run.reason)
    lab.expect(
        run.backend == "none" and "Nsight Systems" in run.reason,
        f"the backend is {run.backend}: {run.reason}",
    )
    report = lab.run(["nsys", "stats", "--report", "nvtx_sum", "report.nsys-rep"])
    if report.status:
        lab.figure(report=f"not run: nsys can't read its report; {report.gist}")
        return
    lab.expect("program.py:" in report.out, "the report has no line of the program")
