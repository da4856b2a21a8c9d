"""Replays of graphs use no more of the device's memory, and all records have times.

The figures are the device's free memory in MB after each tenth of the replays, with
CUPTI's limit of buffers in its pool as it is and set to 8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()
ALONE = True
LIMIT_S = 200
GROWTH_MB = 30

PROGRAM = """
import ctypes
import sys

@profile
def work(times):
    for _ in range(times):
        gpu.replay(graph, stream)
    gpu.wait()

replays, limit = int(sys.argv[1]), int(sys.argv[2])
if limit:  # CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT
    value, size = ctypes.c_size_t(limit), ctypes.c_size_t(8)
    arguments = 2, ctypes.byref(size), ctypes.byref(value)
    say(attribute=cupti().cuptiActivitySetAttribute(*arguments))
gpu.init()
gpu.prepare()
stream = gpu.stream()
gpu.capture(stream)
for _ in range(300):
    gpu.empty(stream)
for _ in range(2):
    gpu.to_device_async(64, stream)
gpu.memset_async(64, stream)
graph = gpu.captured(stream)
work(1)
left = [gpu.memory_left() >> 20]
for _ in range(10):
    work(replays // 10)
    left.append(gpu.memory_left() >> 20)
say(left=left)
"""
# Replays, of 303 records each, and the limit of the pool.
RUNS = {"limit_8": (3000, 8), "no_limit": (10_000, 0)}


def check(lab: Lab) -> None:
    for name, (times, limit) in RUNS.items():
        replays = max(10, lab.many(times))
        ran = lab.kernprof(PROGRAM, replays, limit, limit_s=90)
        if not lab.expect_well(ran):
            continue
        left, run = ran.said["left"], ran.run
        status = ran.said.get("attribute", 0)
        lab.figure(**{name: left, f"{name}_status": status, f"{name}_s": ran.seconds})
        lab.expect(
            left[1] - left[-1] <= GROWTH_MB,
            f"{name}: the device's free memory fell from {left[1]} to {left[-1]} MB",
        )
        kernels = ran.line("gpu.replay").kernels
        wanted = 300 * (1 + replays // 10 * 10)
        lab.figure(**{f"{name}_kernels": f"{kernels} of {wanted}; {run}"})
        if limit and run.dropped:  # CUPTI keeps to the limit, and lineprof says so
            continue
        lab.expect(kernels == wanted, f"{name}: {kernels} kernels of {wanted}; {run}")
        lab.expect(not run.invalid, f"{name}: {run.invalid} records have no times")
        lab.expect_whole(ran)
