"""On an idle stream a kernel begins after its launch and ends before the wait does."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()
ALONE = True
TOLERANCE_NS = 5000  # CUPTI interpolates between measurements of the offset

PROGRAM = """
@profile
def work():
    for _ in range(200):
        begun = clock()
        gpu.spin(20_000)  #> kernels=200
        gpu.wait()
        pairs.append((begun, clock()))

gpu.init()
gpu.empty()
gpu.wait()
pairs = []
work()
say(pairs=pairs)
"""


def check(lab: Lab) -> None:
    ran = lab.kernprof(PROGRAM)
    if not lab.expect_well(ran):
        return
    lab.expect_marks(ran, unattributed="kernels=1")
    [timeline] = ran.stats.gpu.timelines
    found = [event for event in timeline if event.kind == "kernel"][1:]
    pairs = ran.said["pairs"]
    if not lab.expect(len(found) == len(pairs), f"{len(found)} records"):
        return
    starts = [e.start_ns + timeline.origin_ns for e in found]
    after_call = [start - begun for start, (begun, _) in zip(starts, pairs)]
    before_end = [
        end - start - e.ns for start, e, (_, end) in zip(starts, found, pairs)
    ]
    lab.figure(
        from_call_to_start_ns=f"{min(after_call)}, median {median(after_call):.0f}",
        from_end_to_wait_ns=f"{min(before_end)}, median {median(before_end):.0f}",
    )
    early = sum(ns < -TOLERANCE_NS for ns in after_call)
    late = sum(ns < -TOLERANCE_NS for ns in before_end)
    lab.expect(
        not early,
        f"{early} kernels begin before their launch, by {-min(after_call)} ns",
    )
    lab.expect(
        not late,
        f"{late} kernels end after the wait for them, by {-min(before_end)} ns",
    )
