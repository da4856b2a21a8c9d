"""A kernel has its name although its module was unloaded before the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()

PROGRAM = """
@profile
def work():
    for _ in range(20):
        module = gpu.load()
        gpu.run(module)  #> kernels=20
        gpu.wait()
        gpu.unload(module)
    junk = [bytes([65]) * n for n in range(1, 20_000)]

gpu.init()
work()
"""


def check(lab: Lab) -> None:
    ran = lab.kernprof(PROGRAM)
    if not lab.expect_well(ran):
        return
    lab.expect_marks(ran)
    lab.expect_whole(ran)
    names = ran.names("gpu.run", "kernel")
    lab.expect(names == {"short_lived": 20}, f"the kernels are called {names}")
