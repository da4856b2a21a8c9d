"""A program that is terminated while a kernel runs on has all earlier work recorded.

The figure is the seconds from SIGTERM to the end; lineprof waits 20 s for the device.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()
ALONE = True
LIMIT_S = 150
MOST_S = 40

# The kernel is endless for lineprof, which waits for 20 s, not for the machine.
PROGRAM = """
import os
import signal
import sys

@profile
def work():
    for _ in range(100):
        gpu.empty()  #> kernels=100
    gpu.wait()
    for _ in range(100):
        gpu.empty()  # not waited for
    gpu.spin(int(sys.argv[1]) * 10**9)  # endless
    say(begun=clock())
    os.kill(os.getpid(), signal.SIGTERM)
    gpu.wait()

gpu.init()
work()
"""


def check(lab: Lab) -> None:
    # The double also waits in real time.
    ran = lab.kernprof(PROGRAM, 24 if lab.doubles else 60, limit_s=110)
    lab.figure(seconds=ran.seconds, status=ran.status)
    lab.expect(ran.status == -15, f"{ran.gist}, after {ran.seconds:.0f} s")
    lab.expect(ran.seconds < MOST_S, f"it ended after {ran.seconds:.0f} s")
    waited, other = ran.line("#> kernels=100").kernels, ran.line("# not wait").kernels
    run = ran.run
    lab.figure(kernels=f"{waited} and {other} of 100", outstanding=run.outstanding)
    lab.expect(waited == 100, f"{waited} kernels of 100 that had ended; {run}")
    # Their records may share a buffer with that of the running kernel.
    lab.expect(other == 100, f"{other} of 100 kernels before it have records; {run}")
    lab.expect(run.dropped == run.invalid == 0, f"records are lost: {run}")
