"""Wait has the time in which a free of memory is blocked by a running kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()
ALONE = True
SLACK_NS = 10_000_000

PROGRAM = """
@profile
def work():
    memory = gpu.alloc(1 << 20)
    gpu.spin(50_000_000)  #> kernels=1
    gpu.free(memory)

gpu.init()
gpu.free(gpu.alloc(64))
gpu.wait()
work()
"""


def check(lab: Lab) -> None:
    ran = lab.kernprof(PROGRAM)
    if not lab.expect_well(ran):
        return
    lab.expect_marks(ran)
    lab.expect_whole(ran)
    wait, time = ran.line("gpu.free(memory)").wait_ns, ran.time_ns("gpu.free(memory)")
    lab.figure(wait_ms=wait / 1e6, time_ms=time / 1e6)
    lab.expect(wait > 0, f"the free has no Wait; its line takes {time} ns")
    lab.expect(
        -50_000 < time - wait < lab.at_most(SLACK_NS),
        f"the line of the free takes {time} ns, {wait} of it are Wait",
    )
