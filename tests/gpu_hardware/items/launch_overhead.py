"""A launch costs at most a tenth more than beside an empty client of CUPTI.

The figures are the medians of ns for each launch by one thread and by sixteen: bare,
with the empty client of benchmarks/cupti_floor.c, which has the same callbacks and
records, with lineprof, which times two lines besides, with these lines alone, with
torch.profiler and with Proton.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from overhead import expect_ratios, side_by_side

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()
ALSO = ("torch", "triton")
ALONE = True
LIMIT_S = 240
ROUNDS = 7
MOST = {"floor": 1.1}

PROGRAM = """
import sys
import threading
from peers import Peer

@profile
def work(times):
    for _ in range(times):
        gpu.empty()

def one(times):
    gpu.bind()
    together.wait()
    work(times)
    together.wait()

peer, threads, times = Peer(), int(sys.argv[2]), int(sys.argv[3])
gpu.init()
took = []
for _ in turns():
    together = threading.Barrier(threads + 1)
    them = [threading.Thread(target=one, args=[times]) for _ in range(threads)]
    for thread in them:
        thread.start()
    with peer.recording():
        together.wait()
        begun = clock()
        together.wait()
        took.append((clock() - begun) / (times * threads))
        gpu.wait()
    for thread in them:
        thread.join()
say(ns=took)
peer.end()
"""


def check(lab: Lab) -> None:
    for threads in (1, 16):
        what, times = f"{threads} threads", lab.many(32_000) // threads
        ran = side_by_side(lab, PROGRAM, threads, times, rounds=ROUNDS, what=what)
        expect_ratios(lab, ran, what, MOST)
        wanted = ROUNDS * threads * times
        if "lineprof" in ran:
            lab.expect_whole(ran["lineprof"])
            found = ran["lineprof"].line("gpu.empty").kernels
            lab.expect(found == wanted, f"{found} kernels are recorded of {wanted}")
        if "floor" in ran:  # without records it is the floor of something else
            records = ran["floor"].said["records"]
            lab.expect(records >= 0.9 * wanted, f"the floor has {records} of {wanted}")
