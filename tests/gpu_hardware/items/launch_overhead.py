"""A loop of launches costs at most a tenth more than an empty client of CUPTI does.

The figures are ns for each launch by one thread and by sixteen: bare, with the empty
client of benchmarks/cupti_floor.c, which has the same callbacks and records, and with
lineprof, which times two lines besides.  The cost of lines alone is also a figure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab import HERE

if TYPE_CHECKING:
    from lab import Lab, Ran

NEEDS = ()
FLOOR = HERE.parents[1] / "benchmarks" / "cupti_floor.c"
MOST, MOST_WITHOUT_FLOOR = 1.1, 1.5
ROUNDS = 6

PROGRAM = """
import ctypes
import sys
import threading

@profile
def work(times):
    for _ in range(times):
        gpu.empty()

def one(times):
    gpu.bind()
    together.wait()
    work(times)
    together.wait()

threads, times, floor, cupti = int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:]
if floor:
    status = ctypes.CDLL(floor).floor_open(cupti.encode())
    assert status == 0, f"floor_open gave {status}"
gpu.init()
took = []
for _ in range(6):
    together = threading.Barrier(threads + 1)
    them = [threading.Thread(target=one, args=[times]) for _ in range(threads)]
    for thread in them:
        thread.start()
    together.wait()
    begun = clock()
    together.wait()
    took.append((clock() - begun) / (times * threads))
    for thread in them:
        thread.join()
    gpu.wait()
say(ns=min(took))
if floor:
    ctypes.CDLL(floor).floor_close()
    say(records=ctypes.CDLL(floor).floor_records())
"""
WHERE = """
from lineprof import LineProfiler
import os
LineProfiler()
with open("/proc/self/maps") as file:
    paths = {line.split(None, 5)[5].strip() for line in file if "/libcupti" in line}
say(path=(os.environ.get("LINEPROF_CUPTI") or "".join(sorted(paths)[:1])))
"""


def check(lab: Lab) -> None:
    floor = cupti = ""
    if FLOOR.exists():
        floor = str(lab.compiled("cupti_floor", FLOOR))
        cupti = lab.python(WHERE).said["path"]
    else:
        lab.figure(floor=f"not measured: there is no {FLOOR.name}")
    for threads in (1, 16):
        times = lab.many(100_000) // threads
        bare = lab.python(PROGRAM, threads, times, "", "")
        low = lab.python(PROGRAM, threads, times, floor, cupti) if floor else None
        off = ["-q", "--gpu", "off"]
        lines = lab.kernprof(PROGRAM, threads, times, "", "", options=off)
        ours = lab.kernprof(PROGRAM, threads, times, "", "")
        if all(lab.expect_well(ran) for ran in (bare, lines, low, ours) if ran):
            lab.figure(**{f"ns_of_lines_by_{threads}_threads": lines.said["ns"]})
            compare(lab, threads, (bare, low, ours), ROUNDS * threads * times)


def compare(
    lab: Lab, threads: int, runs: tuple[Ran, Ran | None, Ran], kernels: int
) -> None:
    """Compare a loop alone with the same loop with an empty client and lineprof."""
    _, low, ours = runs
    lab.expect_whole(ours)
    found = ours.line("gpu.empty").kernels
    lab.expect(found == kernels, f"{found} kernels are recorded of {kernels}")
    if low:  # or the floor is one of something else
        records = low.said["records"]
        lab.expect(records >= 0.9 * kernels, f"the floor has {records} of {kernels}")
    ns = [ran.said["ns"] for ran in runs if ran]
    words = "bare, the floor, lineprof" if low else "bare, lineprof"
    said = ", ".join(f"{one:.0f}" for one in ns)
    lab.figure(**{f"ns_by_{threads}_threads": f"{said} ({words})"})
    most = MOST if low else MOST_WITHOUT_FLOOR
    ratio = ns[-1] / ns[-2]
    lab.expect(
        ratio <= most or lab.doubles,
        f"{threads} threads: {ratio:.2f} times as long: {said} ns ({words})",
    )
