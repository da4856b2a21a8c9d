"""A report has all records, and is made soon after the device has finished."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()
ALONE = True

PROGRAM = """
import sys
from lineprof import LineProfiler

profile = LineProfiler()

@profile
def work(times):
    for _ in range(times):
        gpu.empty()

@profile
def wait_long():
    gpu.spin(1_000_000_000)

def report(**figures):
    begun = clock()
    gpu_part = profile.get_stats().gpu
    took = (clock() - begun) / 1e9
    [run] = gpu_part.runs
    kernels = sum(one.count for one in gpu_part.sums if one.kind == "kernel")
    lost = run.outstanding + run.dropped + run.invalid
    reports.append({"kernels": kernels, "lost": lost, "seconds": took})

gpu.init()
reports = []
work(10)
report()
for _ in range(20):
    work(100)
    report()
wait_long()
report()
work(int(sys.argv[1]))
report()
say(reports=reports)
"""
LONG_S, SOON_S = 1.0, 0.5


def check(lab: Lab) -> None:
    many = lab.many(1_000_000)
    ran = lab.python(PROGRAM, many)
    if not lab.expect_well(ran):
        return
    reports = ran.said["reports"]
    wanted = [10, *[10 + 100 * n for n in range(1, 21)], 2011, 2011 + many]
    found = [one["kernels"] for one in reports]
    lab.expect(found == wanted, f"reports have {found} kernels")
    lab.expect(
        not any(one["lost"] for one in reports),
        f"records are lost: {[one['lost'] for one in reports]}",
    )
    *small, long, great = [one["seconds"] for one in reports]
    lab.figure(
        longest_small_report_s=max(small),
        report_after_1_s_of_work_s=long,
        report_of_all_s=great,
        kernels=many,
    )
    soon = lab.at_most(SOON_S)
    lab.expect(long < LONG_S + soon, f"a report waits {long} s for 1 s of work")
    lab.expect(max(small) < soon, f"a report of few records takes {max(small)} s")
