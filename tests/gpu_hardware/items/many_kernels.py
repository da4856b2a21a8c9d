"""Two million small kernels: exact sums, none dropped, and memory stays bounded."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()
ALONE = True
LIMIT_S = 170
GROWTH = 256 << 20  # max bytes that the last four fifths of the run add
KEPT = 1_000_000  # records of the timeline

PROGRAM = """
import sys

@profile
def work(times):
    for _ in range(times):
        gpu.empty()

gpu.init()
fifth = int(sys.argv[1]) // 5
begun = clock()
sizes = []
for _ in range(5):
    work(fifth)
    sizes.append(resident())
gpu.wait()
say(sizes=sizes, ns=(clock() - begun) / (5 * fifth))
"""


def check(lab: Lab) -> None:
    many = lab.many(2_000_000)
    ran = lab.kernprof(PROGRAM, many, limit_s=150)
    if not lab.expect_well(ran):
        return
    sizes = ran.said["sizes"]
    lab.figure(
        megabytes=[size >> 20 for size in sizes],
        ns_per_launch=ran.said["ns"],
        kernels=many,
    )
    lab.expect_whole(ran)
    kernels = ran.line("gpu.empty").kernels
    lab.expect(kernels == many, f"{kernels} kernels of {many}")
    lab.expect(
        sizes[-1] - sizes[0] < GROWTH,
        f"memory grew from {sizes[0] >> 20} to {sizes[-1] >> 20} MB",
    )
    left_out = ran.run.left_out
    lab.expect(
        left_out == max(0, many - KEPT), f"{left_out} records are not in the timeline"
    )
    if lab.doubles:
        ns = ran.line("gpu.empty").gpu_ns
        lab.expect(ns == many * 1000, f"they took {ns} ns")
