"""Times of records equal those of CUDA events within 2 us, less the events' cost."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()
ALONE = True
TIMES = 50
TOLERANCE_NS = 2000

PROGRAM = """
@profile
def work():
    for _ in range(50):
        nothing.append(gpu.timed(-1))  #> kernels=50
    for ns in (100_000, 1_000_000):
        for _ in range(50):
            something.append(gpu.timed(ns))  #> kernels=100

gpu.init()
nothing, something = [], []
gpu.timed(-1)
work()
say(nothing=nothing, something=something)
"""


def check(lab: Lab) -> None:
    ran = lab.kernprof(PROGRAM)
    if not lab.expect_well(ran):
        return
    lab.expect_marks(ran, unattributed="kernels=1")
    lab.expect_whole(ran)
    found = [event.ns for event in ran.events("kernel")][1:]
    empty, spin = found[:TIMES], found[TIMES:]
    said = ran.said
    if not lab.expect(len(spin) == len(said["something"]), f"{len(spin)} records"):
        return
    cost = median(e - ns for e, ns in zip(said["nothing"], empty))
    apart = [e - ns - cost for e, ns in zip(said["something"], spin)]
    lab.figure(
        cost_of_events_ns=cost,
        median_difference_ns=median(apart),
        greatest_difference_ns=max(apart, key=abs),
    )
    lab.expect(
        abs(median(apart)) <= TOLERANCE_NS,
        f"records and events differ by {median(apart):.0f} ns",
    )
    for wanted, some in ((100_000, spin[:TIMES]), (1_000_000, spin[TIMES:])):
        lab.expect(
            wanted * 0.97 - TOLERANCE_NS < median(some) < wanted * 1.05 + 20_000,
            f"a kernel of {wanted} ns has records of {median(some):.0f} ns",
        )
