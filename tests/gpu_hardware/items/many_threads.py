"""The kernels of thirty-two concurrent threads are counted exactly per thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()
THREADS = 32

PROGRAM = """
import gc
import sys
import threading

@profile
def work(times):
    gpu.bind()
    stream = gpu.stream()
    together.wait()
    for _ in range(times):
        gpu.empty(stream)
    gpu.wait()

gpu.init()
gc.set_threshold(10)
sys.setswitchinterval(1e-4)
together = threading.Barrier(32)
times = int(sys.argv[1])
threads = [threading.Thread(target=work, args=[times]) for _ in range(32)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def check(lab: Lab) -> None:
    times = lab.many(2000)
    ran = lab.kernprof(PROGRAM, times)
    if not lab.expect_well(ran):
        return
    lab.expect_whole(ran)
    kernels = ran.line("gpu.empty").kernels
    lab.expect(kernels == THREADS * times, f"{kernels} kernels of {THREADS * times}")
    gpu = ran.stats.gpu
    by_thread: dict[int, int] = {}
    for one in gpu.sums:
        if one.kind == "kernel" and one.path >= 0:
            thread = gpu.paths[one.path].thread
            by_thread[thread] = by_thread.get(thread, 0) + one.count
    lab.expect(
        sorted(by_thread.values()) == [times] * THREADS,
        f"by thread there are {sorted(by_thread.values())}",
    )
