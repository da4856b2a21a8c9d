"""GPU Time of a line is the time between CUDA events around the line, within 2 %."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()
ALONE = True
TOLERANCE = 0.02

PROGRAM = """
@profile
def launch():
    for _ in range(20):
        gpu.spin(1_000_000)  #> kernels=100

@profile
def work():
    for _ in range(5):
        began = gpu.mark()
        launch()  #> kernels=100
        ended = gpu.mark()
        apart.append(gpu.apart(began, ended))

gpu.init()
gpu.empty()
gpu.wait()
apart = []
work()
say(apart=apart)
"""


def check(lab: Lab) -> None:
    ran = lab.kernprof(PROGRAM)
    if not lab.expect_well(ran):
        return
    lab.expect_marks(ran, unattributed="kernels=1")
    lab.expect_whole(ran)
    events, line = sum(ran.said["apart"]), ran.line("        launch()").gpu_ns
    inner = ran.line("gpu.spin").gpu_ns
    said = f"events {events} ns, the line {line} ns, the line within {inner} ns"
    lab.figure(sums=said)
    lab.expect(line == inner, f"a line and the line that it calls differ: {said}")
    # Between kernels there are gaps, in which no kernel runs.
    lab.expect((1 - TOLERANCE) * events <= line <= events * (1 + TOLERANCE / 10), said)
