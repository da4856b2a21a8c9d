"""Under Nsight Systems lineprof names the holder of CUPTI; NVTX ranges are reported."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from items.nvtx_ranges import build
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
    nsys = stand_in(lab) if lab.doubles else find()
    text = lab.write(PROGRAM)
    words = [nsys, "profile", "-o", "report", "--trace=cuda,nvtx", sys.executable]
    words += ["-m", "kernprof", "-l", "-q", "program.py"]
    ran = lab.run(words, text)
    if ran.status:  # a copy of nsys may be unable to make a report
        lab.figure(profile=ran.gist)
    run = ran.run
    lab.figure(nsys=nsys, backend=run.backend, reason=run.reason)
    lab.expect(
        run.backend == "none" and "Nsight Systems" in run.reason,
        f"the backend is {run.backend}: {run.reason}",
    )
    report = lab.run([nsys, "stats", "--report", "nvtx_sum", "report.nsys-rep"])
    if report.status:
        lab.figure(report=f"not run: nsys can't read its report; {report.gist}")
        return
    lab.expect("program.py:" in report.out, "the report has no line of the program")


def stand_in(lab: Lab) -> str:
    """Return the path of a script that holds CUPTI and hears NVTX as nsys does."""
    lines = [
        "#!/bin/sh",
        'if [ "$1" = stats ]; then exec cat report.nsys-rep; fi',
        "shift 4",
        "export NSYS_PROFILING_SESSION_ID=1 FAKE_CUPTI_SUBSCRIBE_RC=39",
        f"export NVTX_INJECTION64_PATH={build(lab)} NVTX_SPY_OUT=report.nsys-rep",
        'exec "$@"',
    ]
    path = lab.folder / "nsys"
    path.write_text("\n".join(lines), encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def find() -> str:
    """Return the path of nsys; Nsight Compute also has one."""
    inside = "nsight-*/*/host/target-linux-x64/nsys"
    others = [
        *Path("/opt/nvidia").glob(inside),
        *Path("/usr/local").glob(f"cuda*/{inside}"),
    ]
    found = shutil.which("nsys") or next(map(str, sorted(others)), "")
    if not found:
        raise NotRunError("nsys is neither on PATH nor below /opt/nvidia")
    return found
