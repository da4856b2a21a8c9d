"""Clusters, dependent and cooperative launches, batches of copies have their lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()
PROGRAM = """
@profile
def work():
    for _ in range(5):
        if capability >= 9:
            gpu.cluster(stream)  #> kernels=5
            gpu.dependent(stream)  #> kernels=5
        gpu.cooperative_ex(stream)  #> kernels=5
        gpu.cooperative(stream)  #> kernels=5
    gpu.wait()

gpu.init()
capability, stream = gpu.capability(), gpu.stream()
work()
say(capability=capability)
"""
BATCH = """
@profile
def work():
    for _ in range(5):
        gpu.batch(4, 4096, stream)  #> HtoD=81920/20
    gpu.wait_stream(stream)

gpu.init()
gpu.prepare()
stream = gpu.stream()
work()
"""


def check(lab: Lab) -> None:
    ran = lab.kernprof(PROGRAM)
    if lab.expect_well(ran):
        capability = ran.said["capability"]
        lab.figure(capability=capability)
        lab.expect_whole(ran)
        for words in ("cluster", "dependent", "cooperative_ex", "cooperative("):
            kernels = ran.line(f"gpu.{words}").kernels
            wanted = 5 if capability >= 9 or "cooperative" in words else 0
            lab.expect(kernels == wanted, f"{words}: {kernels} kernels of {wanted}")
    ran = lab.kernprof(BATCH)
    if not ran.status:
        lab.expect_marks(ran, unattributed=f"HtoD={1 << 22}/1")
        lab.expect_whole(ran)
    elif "cuMemcpyBatchAsync" in ran.gist:  # the driver is older than 12.8
        lab.figure(batch=f"not run: {ran.gist}")
    else:
        lab.expect_well(ran)
