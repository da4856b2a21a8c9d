"""Each line has its part of the memory that is live at the end, and at the peak.

The figures are the peaks of the pools, and when that of the device's memory was, from
the line that made it on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab import Lab, Ran

NEEDS = ()
ALONE = True
MB = 1 << 20
TOLERANCE_NS = 5000

PROGRAM = """
@profile
def hold(size):
    return gpu.alloc(size << 20)

@profile
def work():
    gpu.empty()
    first = gpu.alloc(4 << 20)
    second = gpu.alloc(16 << 20)
    gpu.free(second)
    third = gpu.alloc(8 << 20)
    begun = clock()
    fourth = hold(32)
    say(begun=begun, ended=clock())
    gpu.free(first)
    gpu.free(fourth)
    fifth = hold(2)
    sixth = gpu.alloc_async(6 << 20)
    gpu.free_async(sixth)
    seventh = gpu.alloc_async(10 << 20)
    eighth = gpu.alloc_managed(8 << 20)
    ninth = gpu.alloc_managed(4 << 20)
    gpu.free(eighth)
    gpu.wait()

gpu.init()
work()
"""
# MB that each line allocated, of which are live at the end, and at the peak.
LINES = {
    "first = ": (4, 0, 4),
    "second = ": (16, 0, 0),
    "third = ": (8, 8, 8),
    "fourth = ": (32, 0, 32),
    "fifth = ": (2, 2, 0),
    "return gpu.alloc": (34, 2, 32),
    "sixth = ": (6, 0, 0),
    "seventh = ": (10, 10, 10),
    "eighth = ": (8, 0, 8),
    "ninth = ": (4, 4, 4),
}
FREED = {"gpu.free(first)": 4, "gpu.free(second)": 16, "gpu.free_async(sixth)": 6}
FREED |= {"gpu.free(fourth)": 32, "gpu.free(eighth)": 8}
PEAKS = {"device": 44, "pool": 10, "managed": 12}


def check(lab: Lab) -> None:
    ran = lab.kernprof(PROGRAM, options=["-q", "--gpu-memory"])
    if not lab.expect_well(ran):
        return
    lab.expect_whole(ran)
    for words, wanted in LINES.items():
        one = ran.line(words)
        found = tuple(
            size / MB for size in (one.alloc_bytes, one.live_bytes, one.peak_bytes)
        )
        lab.expect(
            found == wanted,
            f"`{words.strip(' =')}` has {found} MB allocated, live and at the peak,"
            f" not {wanted}",
        )
    for words, size in FREED.items():
        freed = ran.line(words).free_bytes / MB
        lab.expect(freed == size, f"`{words}` freed {freed} MB of {size}")
    check_pools(lab, ran)


def check_pools(lab: Lab, ran: Ran) -> None:
    """Compare the peaks of pools with their parts, and the moment of one."""
    memory = ran.stats.gpu.memory
    peaks = {one.pool: one for one in memory.peaks}
    lines = {one.pool: one.path for one in memory.sums}
    lab.figure(
        peaks_mb={name: one.peak_bytes / MB for name, one in peaks.items()},
        side_bytes=[run.side_bytes for run in memory.runs],
    )
    for name, size in PEAKS.items():
        parts = [one.peak_bytes for one in memory.sums if one.pool == name]
        outside = [
            one.peak_bytes
            for one in memory.sums
            if one.pool == name and one.path < 0  # such as what the driver takes
        ]
        if not lab.expect(name in peaks, f"there is no peak of {name}, but {lines}"):
            continue
        whole = peaks[name].peak_bytes
        lab.expect(sum(parts) == whole, f"{name}: {whole} bytes, parts {parts}")
        lab.expect(
            whole - sum(outside) == size * MB,
            f"{name}: {whole} bytes at the peak, of which {outside} are of no line",
        )
    late = [(run.late, run.lost, run.unknown_frees) for run in memory.runs]
    lab.expect(late == [(0, 0, 0)], f"records late, lost, of unknown blocks: {late}")
    [timeline] = ran.stats.gpu.timelines
    if "device" in peaks:
        begun, whole = ran.said["begun"], ran.said["ended"] - ran.said["begun"]
        after = timeline.origin_ns + peaks["device"].peak_ns - begun
        lab.figure(peak_us=f"{after / 1e3:.1f} of {whole / 1e3:.1f}")
        lab.expect(
            -TOLERANCE_NS < after < whole + TOLERANCE_NS,
            f"the peak is {after} ns after its line began, which took {whole} ns",
        )
