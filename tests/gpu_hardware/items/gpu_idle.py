"""Idle time of the device is on the lines that cause it, and sums to all of it.

The figures are ms: the device's idle time, and that of lines that sleep, compute and
overlap with a kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()
ALONE = True
TIMES, GAP_MS, SLACK_MS = 10, 20, 2  # slack of each gap

PROGRAM = """
import time

def compute(ns):
    end = clock() + ns
    while clock() < end:
        sum(range(1000))

@profile
def starve():
    for _ in range(10):
        time.sleep(0.02)
        gpu.spin(5_000_000)
        gpu.wait()
    for _ in range(10):
        compute(20_000_000)
        gpu.spin(5_000_000)
        gpu.wait()

@profile
def overlap():
    for _ in range(10):
        gpu.spin(60_000_000)
        time.sleep(0.019)
        gpu.wait()

gpu.init()
gpu.spin(1000)
gpu.wait()
starve()
overlap()
"""


def check(lab: Lab) -> None:
    ran = lab.kernprof(PROGRAM, options=["-q", "--trace"])
    if not lab.expect_well(ran):
        return
    lab.expect_whole(ran)
    made = lab.idle_time(ran)
    if not made:
        return
    [device] = made["devices"]
    found = {}
    for name, text, cause in (
        ("sleep", "time.sleep(0.02)", "waiting_ns"),
        ("compute", "compute(20_000_000)", "computing_ns"),
        ("overlap", "time.sleep(0.019)", "waiting_ns"),
    ):
        number = ran.number(text)
        rows = [row for row in made["rows"] if row["line"] == number]
        found[name] = sum(row[cause] or 0 for row in rows) / 1e6
        found[f"{name}_all"] = sum(row["idle_ns"] for row in rows) / 1e6
    lab.figure(
        idle=device["idle_ns"] / 1e6,
        unattributed=device["unattributed_ns"] / 1e6,
        **found,
    )
    wanted, slack = TIMES * GAP_MS, lab.at_most(TIMES * SLACK_MS)
    for name in ("sleep", "compute"):
        lab.expect(
            abs(found[name] - wanted) < slack,
            f"the line of {name} has {found[name]:.1f} ms of {wanted}: {found}",
        )
    lab.expect(
        found["overlap_all"] < slack,
        f"a line that overlaps with a kernel has {found['overlap_all']:.1f} ms",
    )
