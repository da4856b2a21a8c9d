"""With concurrent streams the busy time is below the sum of the kernels' times."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()
ALONE = True
WORK_NS, STREAMS = 20_000_000, 4

PROGRAM = """
@profile
def work():
    for _ in range(3):
        for stream in streams:
            gpu.spin(20_000_000, stream)  #> kernels=12
        gpu.wait()

gpu.init()
streams = [gpu.stream() for _ in range(4)]
work()
"""


def check(lab: Lab) -> None:
    ran = lab.kernprof(PROGRAM, options=["-v"])
    if not lab.expect_well(ran):
        return
    lab.expect_marks(ran)
    lab.expect_whole(ran)
    [device] = [one for one in ran.stats.gpu.devices if one.busy_ns]
    whole = ran.totals.gpu_ns
    lab.figure(busy_ms=device.busy_ns / 1e6, sum_ms=whole / 1e6)
    lab.expect(device.busy_exact, "busy time is a bound only")
    lab.expect(whole >= 0.95 * WORK_NS * STREAMS * 3, f"kernels ran for {whole} ns")
    most = whole if lab.doubles else whole / 2
    lab.expect(device.busy_ns < most, f"busy {device.busy_ns} ns of {whole}")
    lab.expect(
        device.busy_ns >= 0.95 * WORK_NS * 3, f"busy for {device.busy_ns} ns alone"
    )
    lab.expect("Overlap: " in ran.out, "the footer says nothing of overlap")
