"""A child forked while lineprof is active can use CUDA, and so can the parent."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()

PROGRAM = """
import os
from lineprof import LineProfiler, gpu_status

profile = LineProfiler()
backend = gpu_status().backend

@profile
def in_child():
    gpu.init()
    for _ in range(10):
        gpu.spin(10_000)
    gpu.wait()

@profile
def in_parent():
    for _ in range(10):
        gpu.spin(10_000)  #> kernels=10
    gpu.wait()

child = os.fork()
if child == 0:
    status = 9
    try:
        in_child()
        rows = [r for f in profile.get_stats().functions for r in f.rows if r.hits > 5]
        say(child_hits=[row.hits for row in rows])
        status = 4
    finally:
        os._exit(status)
_, ended = os.waitpid(child, 0)
gpu.init()
in_parent()
profile.dump_stats("program.lprof")
say(backend=backend, child_status=os.WEXITSTATUS(ended), signal=os.WTERMSIG(ended))
"""


def check(lab: Lab) -> None:
    ran = lab.python(PROGRAM)
    if not lab.expect_well(ran):
        return
    said = ran.said
    lab.expect(said["backend"] == "cupti", f"the backend is {said['backend']}")
    lab.expect(
        (said["child_status"], said["signal"]) == (4, 0),
        f"the child's status is {said['child_status']}, signal {said['signal']}",
    )
    lab.expect(
        said.get("child_hits") == [11, 10],
        f"the child's lines have {said.get('child_hits')} hits",
    )
    lab.expect_marks(ran)
    lab.expect_whole(ran)
