"""Spawned children use the GPU as without lineprof; their work counts if it is to."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab, Ran

NEEDS = ()

PROGRAM = """
import multiprocessing

@profile
def work(times):
    for _ in range(times):
        gpu.empty()  #> kernels=20
    gpu.wait()

def child(times):
    gpu.init()
    work(times)

if __name__ == "__main__":
    gpu.init()
    context = multiprocessing.get_context("spawn")
    children = [context.Process(target=child, args=(100,)) for _ in range(2)]
    for one in children:
        one.start()
    work(20)
    for one in children:
        one.join()
    say(statuses=[one.exitcode for one in children])
"""


def check(lab: Lab) -> None:
    alone = lab.kernprof(PROGRAM, options=("-q", "--no-children"))
    if not _ended_well(lab, alone):
        return
    lab.expect_marks(alone)
    lab.expect_whole(alone)
    together = lab.kernprof(PROGRAM.replace("kernels=20", "kernels=220"))
    if _ended_well(lab, together):
        lab.expect_marks(together)


def _ended_well(lab: Lab, ran: Ran) -> bool:
    if not lab.expect_well(ran):
        return False
    statuses = ran.said["statuses"]
    lab.expect(statuses == [0, 0], f"the children's statuses are {statuses}")
    return True
