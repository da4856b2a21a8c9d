"""Launches of worker threads are adopted by the line that waits for the threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()

PROGRAM = """
from concurrent.futures import ThreadPoolExecutor

def launch(times):
    gpu.bind()
    for _ in range(times):
        gpu.spin(10_000)
    gpu.wait()

@profile
def work():
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(launch, [100] * 8))  #> kernels=800
    gpu.spin(10_000)  #> kernels=1
    gpu.wait()

gpu.init()
work()
with ThreadPoolExecutor(1) as pool:
    list(pool.map(launch, [5]))
"""


def check(lab: Lab) -> None:
    ran = lab.kernprof(PROGRAM)
    if not lab.expect_well(ran):
        return
    lab.expect_marks(ran, unattributed="kernels=5")
    lab.expect_whole(ran)
    pool, own = (
        ran.line("list(pool.map(launch, [100]"),
        ran.line("gpu.spin(10_000)  #>"),
    )
    lab.expect(
        pool.adopted_ns == pool.gpu_ns,
        f"{pool.adopted_ns} of {pool.gpu_ns} ns are marked",
    )
    lab.expect(not own.adopted_ns, "a line's own kernel is marked")
