"""Child graphs, nodes of memory and empty graphs are on the line that replays them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ()
PROGRAM = """
@profile
def work():
    gpu.replay(parent, stream)
    gpu.replay(memory, stream)
    gpu.replay(nothing, stream)
    gpu.empty()  # alone
    gpu.wait()

gpu.init()
gpu.prepare()
stream = gpu.stream()
gpu.capture(stream)
gpu.empty(stream)
gpu.to_device_async(4096, stream)
gpu.memset_async(64, stream)
gpu.spin(5000, stream)
child = gpu.ended(stream)
parent = gpu.instantiated(gpu.parent(child, 3))
gpu.capture(stream)
gpu.scratch(4096, stream)
gpu.empty(stream)
memory = gpu.captured(stream)
gpu.capture(stream)
nothing = gpu.captured(stream)
gpu.wait()
work()
"""


# Kernels, memsets and bytes copied of each line.
LINES = {
    "replay(parent": (6, 3, 3 * 4096),
    "replay(memory": (1, 1, 0),
    "replay(nothing": (0, 0, 0),
    "gpu.empty()  # a": (1, 0, 0),
}


def check(lab: Lab) -> None:
    for options in (["-q"], ["-q", "--gpu-memory"]):
        ran = lab.kernprof(PROGRAM, options=options)
        if not lab.expect_well(ran):
            continue
        run, memory = ran.run, ran.line("replay(memory")
        # Whether nodes of memory have records of it is only a figure.
        lab.figure(**{" ".join(options): f"{memory}; {run}"})
        lab.expect(run.dropped == run.invalid == 0, f"records are lost: {run}")
        for words, wanted in LINES.items():
            one = ran.line(words)
            size = sum(size for _, _, _, size in one.copies)
            found = (one.kernels, one.memsets, size)
            lab.expect(
                found == wanted,
                f"`{words}` has {found} kernels, memsets, bytes, not {wanted}; {run}",
            )
        kernels = ran.unattributed.kernels
        lab.expect(not kernels, f"{kernels} kernels are on no line")
