"""Migrations of managed memory are recorded, without a line, or a note says why not."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()
SIZE = 1 << 24  # bytes
SAYS = "migrations of managed memory"  # in the line of a device that can't count them

PROGRAM = """
@profile
def work():
    for _ in range(3):
        gpu.managed(1 << 24)

gpu.init()
work()
"""


def check(lab: Lab) -> None:
    ran = lab.kernprof(PROGRAM, options=["-q", "--uvm", "on"])
    if not lab.expect_well(ran):
        return
    lab.expect_whole(ran)
    words = [sys.executable, "-m", "lineprof", "view", "program.lprof"]
    said = [line for line in lab.run(words, ran.text).out.splitlines() if SAYS in line]
    moved = {name: size for name, _, _, size in ran.totals.migrations}
    lab.figure(moved_bytes=moved, said=said)
    for direction in ("HtoD", "DtoH"):
        size = moved.get(direction, 0)
        lab.expect(
            size >= 0.9 * 3 * SIZE or (said and not moved),
            f"{size} bytes moved {direction}, of {3 * SIZE}",
        )
    one = ran.line("gpu.managed")
    lab.expect(one.kernels == 3, f"its line has {one.kernels} kernels of 3")
    lab.expect(not one.migrations, "a line has migrations, which no call causes")
    ran = lab.kernprof(PROGRAM)
    if lab.expect_well(ran):
        lab.expect(not ran.totals.migrations, "migrations are there unasked")
