"""Wait of a call that frees lasts until the work before it ends, and 0 if it has ended.

The figures are, for each call, ms of its Wait, of its line, and of the rest of the
kernel that ran when the call began.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab, Ran

NEEDS = ()
ALONE = True
SLACK_NS = 200_000  # of the clocks, and of a thread that begins late

PROGRAM = """
import time

@profile
def work():
    gpu.spin(50_000_000)  # one
    at.append(clock()); gpu.free(memory)
    gpu.wait()
    gpu.spin(50_000_000)  # two
    at.append(clock()); gpu.free_host(pinned)
    gpu.wait()
    gpu.spin(50_000_000)  # three
    at.append(clock()); gpu.unload(module)
    gpu.wait()
    time.sleep(0.001)
    gpu.free(other)  # idle
    gpu.free_host(host)  # idle
    gpu.unload(second)  # idle

gpu.init()
gpu.free(gpu.alloc(64))
memory, other = gpu.alloc(1 << 20), gpu.alloc(1 << 20)
pinned, host = gpu.alloc_host(1 << 20), gpu.alloc_host(1 << 20)
module, second = gpu.load(), gpu.load()
for one in (module, second):
    gpu.run(one)
gpu.wait()
at = []
work()
say(at=at)
"""
# A call that ends the context: whether the running kernel has a record is a figure.
RESET = """
@profile
def work():
    gpu.spin(50_000_000)  # one
    at.append(clock()); gpu.reset()

gpu.init()
gpu.empty()
gpu.wait()
at = []
work()
say(at=at)
"""
BUSY = ("gpu.free(memory)", "gpu.free_host(pinned)", "gpu.unload(module)")
IDLE = ("gpu.free(other)", "gpu.free_host(host)", "gpu.unload(second)")


def check(lab: Lab) -> None:
    ran = lab.kernprof(PROGRAM)
    if not lab.expect_well(ran):
        return
    lab.expect_whole(ran)
    check_busy(lab, ran, BUSY)
    for words in IDLE:
        wait = ran.line(words).wait_ns
        lab.expect(not wait, f"`{words}` waits {wait} ns for nothing")
    ran = lab.kernprof(RESET)
    if lab.expect_well(ran):
        check_busy(lab, ran, ["gpu.reset()"])


def check_busy(lab: Lab, ran: Ran, lines: list[str] | tuple[str, ...]) -> None:
    """Check Wait of calls, each of which began while a long kernel ran."""
    [timeline] = ran.stats.gpu.timelines or [None]
    spins = [one for one in ran.events("kernel") if one.ns > 40_000_000]
    if timeline is None or len(spins) != len(lines):
        lab.figure(**{", ".join(lines): f"{len(spins)} records of long kernels"})
        lab.expect(lines[0] == "gpu.reset()", f"{len(spins)} kernels of {len(lines)}")
        return
    for words, one, begun in zip(lines, spins, ran.said["at"]):
        wait, time = ran.line(words).wait_ns, ran.time_ns(words)
        rest = timeline.origin_ns + one.start_ns + one.ns - begun
        said = f"{wait / 1e6:.3f} of {time / 1e6:.3f}; the kernel {rest / 1e6:.3f}"
        lab.figure(**{words: said})
        # The driver may let a call return before the kernel has ended.
        lab.expect(
            abs(wait - min(time, rest)) < lab.at_most(SLACK_NS),
            f"`{words}` has a Wait of {wait} ns in {time} ns; the kernel went on"
            f" for {rest} ns",
        )
