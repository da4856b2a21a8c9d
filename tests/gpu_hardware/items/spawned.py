"""Children spawned by multiprocessing use the GPU as without lineprof."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

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
    ran = lab.kernprof(PROGRAM)
    if not lab.expect_well(ran):
        return
    statuses = ran.said["statuses"]
    lab.expect(statuses == [0, 0], f"the children's statuses are {statuses}")
    lab.expect_marks(ran)
    lab.expect_whole(ran)
