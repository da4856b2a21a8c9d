"""A forked child that ends by sys.exit does so at once, with or without a context.

The figures are the ms that the child takes to end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()
LIMIT_S = 200
SOON_MS = 5000

PROGRAM = """
import os
import sys
import time
from lineprof import LineProfiler

profile = LineProfiler()
inherited, cuda = sys.argv[1] == "inherited", sys.argv[2] == "cuda"

@profile
def work():
    for _ in range(10):
        gpu.spin(10_000)
    gpu.wait()

if inherited:
    gpu.init()
    work()
child = os.fork()
if child == 0:
    if cuda:
        gpu.init()
        work()
    sys.exit(4)
begun, ended = clock(), 0
while not ended and clock() - begun < 20e9:
    time.sleep(0.01)
    ended, status = os.waitpid(child, os.WNOHANG)
took = (clock() - begun) / 1e6
if not ended:
    os.kill(child, 9)
    _, status = os.waitpid(child, 0)
if not inherited:
    gpu.init()
    work()
say(ms=took, status=status, ended=bool(ended))
profile.dump_stats("program.lprof")
"""
# Whether the parent had a context before the fork, and the child uses CUDA.
CASES = {
    "subscription": ("none", "none"),
    "subscription, then CUDA": ("none", "cuda"),
    "context": ("inherited", "none"),
}


def check(lab: Lab) -> None:
    for name, words in CASES.items():
        ran = lab.python(PROGRAM, *words, limit_s=60)
        if not lab.expect_well(ran):
            continue
        said = ran.said
        lab.figure(**{name: said["ms"]})
        lab.expect(
            said["ended"] and said["ms"] < SOON_MS,
            f"a child with an inherited {name} ends after {said['ms']:.0f} ms",
        )
        lab.expect(
            not said["ended"] or said["status"] == 4 << 8,
            f"the status of a child with an inherited {name} is {said['status']:#x}",
        )
        kernels = ran.line("gpu.spin").kernels
        lab.expect(kernels == 10, f"{name}: the parent has {kernels} kernels of 10")
        lab.expect_whole(ran)
