"""Work of lines and unattributed work in the footer sum to all work of the device."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab, Ran

NEEDS = ()

RAW = """
@profile
def outer():
    for _ in range(10):
        inner()  #> kernels=20 HtoD=10240/10 memsets=10
        gpu.empty()  #> kernels=10
    gpu.from_device(512)  #> DtoH=512/1

@profile
def inner():
    gpu.empty(); gpu.spin(20_000)  #> kernels=20
    gpu.to_device_async(1024)  #> HtoD=10240/10
    gpu.memset_async(64)  #> memsets=10

gpu.init()
gpu.prepare()
for _ in range(7):
    gpu.spin(50_000)
outer()
gpu.empty()
"""


def check(lab: Lab) -> None:
    ran = lab.kernprof(RAW, options=["-v"])
    if lab.expect_well(ran):
        room = 1 << 22
        lab.expect_marks(ran, unattributed=f"kernels=8 HtoD={room}/1")
        check_footer(lab, ran)
    if lab.wrong:  # are the ids of records those of the runtime's calls?
        ran = lab.kernprof(RAW, LINEPROF_GPU_API=1)
        if ran.status == 0:
            words = [sys.executable, "-m", "lineprof", "view", "--api-trace"]
            lab.run([*words, "program.lprof"], ran.text)
            lab.figure(with_gpu_api=str(ran.unattributed), run=str(ran.run))


def check_footer(lab: Lab, ran: Ran) -> None:
    """Compare the footer lines of the table with the profile."""
    lab.expect_whole(ran)
    printed = dict(
        line.partition(": ")[::2] for line in ran.out.splitlines() if ": " in line
    )
    total = f"{ran.totals.gpu_ns / 1e9:g} s in {ran.totals.kernels} kernels"
    lab.expect(
        printed.get("GPU time", "").startswith(total),
        f"the footer says {printed.get('GPU time')!r}, not {total!r}",
    )
    time = f"{ran.unattributed.gpu_ns / 1e9:g} s "
    lab.expect(
        printed.get("Unattributed", "").startswith(time),
        f"the footer says {printed.get('Unattributed')!r} unattributed, not {time}",
    )
    lab.expect("Lost" not in printed, f"the footer says {printed.get('Lost')!r}")
    without = sum(event.path < 0 for event in ran.events("kernel"))
    lab.expect(
        without == ran.unattributed.kernels,
        f"{without} records of kernels have no line,"
        f" {ran.unattributed.kernels} are counted",
    )
