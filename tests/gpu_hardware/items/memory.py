"""Memsets, allocations and frees are on the lines that call them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()
ALONE = True

PROGRAM = """
@profile
def work():
    for _ in range(5):
        memory = gpu.alloc(1 << 23)  #> alloc=41943040
        gpu.memset(1 << 20)  #> memsets=5
        gpu.memset_async(4096); gpu.memset_async(64)  #> memsets=10
        gpu.free(memory)  #> free=41943040
    for _ in range(5):
        memory = gpu.alloc_async(1 << 20)  #> alloc=5242880
        gpu.free_async(memory)  #> free=5242880
    gpu.wait()

gpu.init()
gpu.prepare()
work()
"""


def check(lab: Lab) -> None:
    ran = lab.kernprof(PROGRAM, options=["-q", "--gpu-memory"])
    if lab.expect_well(ran):
        room = 1 << 22
        found = ran.unattributed
        lab.expect(
            found.alloc_bytes >= room,
            f"{found.alloc_bytes} bytes were allocated outside of lines",
        )
        beside = f"alloc={found.alloc_bytes} free={found.free_bytes} HtoD={room}/1"
        lab.expect_marks(ran, unattributed=beside)
        lab.expect_whole(ran)
