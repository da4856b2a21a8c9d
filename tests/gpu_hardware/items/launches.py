"""Clusters, dependent and cooperative launches, batches of copies have their lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()
SIZE = 5 * 4 * 4096  # bytes of the batches

# A way that the driver refuses for this kernel is left out.
PROGRAM = """
def refusal(way):
    try:
        way(stream)
    except RuntimeError as error:
        return str(error)
    return ""

@profile
def work():
    for _ in range(5):
        if "cluster" not in refused:
            gpu.cluster(stream)
        if "dependent" not in refused:
            gpu.dependent(stream)
        if "cooperative_ex" not in refused:
            gpu.cooperative_ex(stream)
        if "cooperative" not in refused:
            gpu.cooperative(stream)
    gpu.wait()

gpu.init()
stream = gpu.stream()
names = "cluster", "dependent", "cooperative_ex", "cooperative"
answers = {name: refusal(getattr(gpu, name)) for name in names}
refused = {name: why for name, why in answers.items() if why}
gpu.wait()
work()
say(capability=gpu.capability(), refused=refused)
"""
BATCH = """
@profile
def work():
    for _ in range(5):
        gpu.batch(4, 4096, stream)
    gpu.wait_stream(stream)

gpu.init()
gpu.prepare()
stream = gpu.stream()
work()
"""


def check(lab: Lab) -> None:
    ran = lab.kernprof(PROGRAM)
    if lab.expect_well(ran):
        refused = ran.said["refused"]
        lab.figure(**ran.said)
        lab.expect_whole(ran)
        for name in ("cluster", "dependent", "cooperative_ex", "cooperative"):
            kernels = ran.line(f"gpu.{name}(stream)").kernels
            wanted = 0 if name in refused else 5
            lab.expect(kernels == wanted, f"{name}: {kernels} kernels of {wanted}")
    ran = lab.kernprof(BATCH)
    if not ran.status:
        copies = ran.line("gpu.batch").copies
        size = sum(one.bytes for one in copies)
        # A record for each copy, or for several.
        lab.figure(batch=[str(one) for one in copies])
        lab.expect(size == SIZE, f"the batches have {size} bytes of {SIZE}")
        lab.expect_whole(ran)
    elif "cuMemcpyBatchAsync" in ran.gist:  # the driver is older than 12.8
        lab.figure(batch=f"not run: {ran.gist}")
    else:
        lab.expect_well(ran)
