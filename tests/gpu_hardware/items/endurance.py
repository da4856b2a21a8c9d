"""A hundred million kernels, or 60 s of them: none dropped, and memory stays bounded.

The figures are ns for each kernel, and MB of the device's free memory and of the
process after each tenth of the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()
ALONE = True
LIMIT_S = 180
KERNELS, SECONDS = 100_000_000, 60
NODES = 2000
TIMELINE = 1_000_000
DEVICE_MB, PROCESS_MB = 30, 64  # max growth after the first tenth

PROGRAM = """
import sys

@profile
def work(ends):
    replays = 0
    while replays < tenth and clock() < ends:
        for _ in range(10):
            gpu.replay(graph, stream)
        gpu.wait()
        replays += 10
    return replays

tenth, seconds, nodes = map(int, sys.argv[1:])
gpu.init()
stream = gpu.stream()
gpu.capture(stream)
for _ in range(nodes):
    gpu.empty(stream)
graph = gpu.captured(stream)
begun = clock()
replays, device, process = 0, [], []
for number in range(10):
    replays += work(begun + seconds * 10**8 * (number + 1))
    device.append(gpu.memory_left() >> 20)
    process.append(resident() >> 20)
kernels = replays * nodes
say(kernels=kernels, ns=(clock() - begun) / kernels, device=device, process=process)
"""


def check(lab: Lab) -> None:
    tenth = max(10, lab.many(KERNELS) // NODES // 10)
    # The timeline is full after the first tenth.
    options = ["-q", "--gpu-events", str(lab.many(TIMELINE))]
    words = tenth, SECONDS, NODES
    ran = lab.kernprof(PROGRAM, *words, options=options, limit_s=SECONDS + 60)
    if not lab.expect_well(ran):
        return
    said = ran.said
    lab.figure(seconds=ran.seconds, **said)
    lab.expect_whole(ran)
    kernels = ran.line("gpu.replay").kernels
    lab.expect(
        kernels == said["kernels"], f"{kernels} kernels of {said['kernels']}; {ran.run}"
    )
    device, process = said["device"], said["process"]
    lab.expect(
        device[0] - device[-1] <= DEVICE_MB,
        f"the device's free memory fell from {device[0]} to {device[-1]} MB",
    )
    lab.expect(
        process[-1] - process[0] <= PROCESS_MB,
        f"the process grew from {process[0]} to {process[-1]} MB",
    )
