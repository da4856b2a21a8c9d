"""Work and waits on the default stream of a thread are on the lines that call them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()
ALONE = True
WORK_NS, SLACK_NS = 20_000_000, 5_000_000

PROGRAM = """
@profile
def work():
    for _ in range(5):
        gpu.spin_of_thread(10_000)  #> kernels=5
        gpu.to_device_of_thread(4096)  #> HtoD=20480/5
        gpu.memset_of_thread(64)  #> memsets=5
    gpu.wait()
    gpu.spin_of_thread(20_000_000)  #> kernels=1
    gpu.wait_of_thread()

gpu.init()
gpu.prepare()
work()
"""


def check(lab: Lab) -> None:
    ran = lab.kernprof(PROGRAM)
    if not lab.expect_well(ran):
        return
    lab.expect_marks(ran, unattributed=f"HtoD={1 << 22}/1")
    lab.expect_whole(ran)
    wait = ran.line("gpu.wait_of_thread").wait_ns
    lab.figure(wait_ms=wait / 1e6)
    least = 0 if lab.doubles else 0.97 * WORK_NS
    lab.expect(
        least < wait < WORK_NS + lab.at_most(SLACK_NS),
        f"the wait for a kernel of {WORK_NS} ns is {wait} ns",
    )
