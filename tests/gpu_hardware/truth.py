"""A program's regions as lineprof and as torch.profiler record them, compared.

Both record the same program in processes of their own, in turn. See inside/regions.py
for the program.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import Counter
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from lab import LIMIT_S, Command, alone

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from lab import Lab, Ran

    from lineprof.model.gpu import Gpu

REGION = re.compile(r'^\s*with region\("([^"]+)"', re.MULTILINE)
# Of the time of a region in all rounds; of each of its records, because a short kernel
# takes longer on a device that waits for its launch; of the time between two events.
TOLERANCE, RECORD_NS, EVENTS_NS = 0.01, 500, 2000
WORK = {"kernel": "kernel", "gpu_memcpy": "memcpy", "gpu_memset": "memset"}
DIRECTION = re.compile(r"Memcpy (\w+)")


class Work(NamedTuple):
    """Records of one kind and name in a region."""

    kind: str  # kernel | memcpy | memset
    name: str  # of a kernel; the direction of a copy
    bytes: int  # of each


class Region(NamedTuple):
    """What one tool recorded in a region."""

    counts: Counter[Work]
    ns: dict[str, float]  # by kind


def compare(  # noqa: PLR0913 - all but two have names
    lab: Lab,
    program: str,
    *,
    rounds: int = 5,
    limit_s: float = LIMIT_S,
    one_by_one: bool = False,
    timed: Sequence[str] = (),
    copied: Mapping[str, Mapping[str, int]] | None = None,
) -> Ran | None:
    """Run a program and compare its regions; return lineprof's result if it is whole.

    one_by_one: as Lab.in_turn() has it; timed: regions whose CUDA events are compared,
    too, as their work is launched while the device still has other work; copied: bytes
    by region and direction, of all rounds together.
    """
    commands = {name: Command(program, alone(name)) for name in ("lineprof", "torch")}
    ran = lab.in_turn(commands, rounds, limit_s, one_by_one=one_by_one)
    ours, theirs = ran["lineprof"], ran["torch"]
    if not (lab.expect_well(ours) and lab.expect_well(theirs)):
        return None
    lab.expect_whole(ours)
    names = REGION.findall(ours.text)
    traced = regions_of_traces(theirs.folder, rounds)
    for name in names:
        if name in traced:
            compare_regions(lab, name, region_of(ours, name), traced[name], rounds)
        else:
            lab.expect(False, f"torch.profiler has no region {name}")
    for name in timed:
        compare_events(lab, ours, name)
    for name, wanted in (copied or {}).items():
        number = line_of(ours, name)
        copies = {one: size for one, _, _, size in ours.lines()[number].copies}
        lab.expect(copies == wanted, f"{name} copied {copies}, not {wanted}")
    return ours


def line_of(ran: Ran, name: str) -> int:
    """Return the number of the line in a region."""
    return ran.number(f'with region("{name}"') + 1


def lines_of(gpu: Gpu, path: int) -> set[int]:
    """Return the numbers of the lines of a call path."""
    return {line for _, line in gpu.paths[path].lines} if path >= 0 else set()


# -- what each tool recorded -------------------------------------------------------


def region_of(ran: Ran, region: str) -> Region:
    """Return what lineprof recorded on the line of a region."""
    from lineprof.report.gpu_format import demangled  # noqa: PLC0415 - a dry run needs none

    number, gpu = line_of(ran, region), ran.stats.gpu
    found = Region(Counter(), {})
    for timeline in gpu.timelines:
        for event in timeline:
            if event.kind in WORK.values() and number in lines_of(gpu, event.path):
                name = "" if event.kind == "memset" else demangled(event.name)
                add(found, Work(event.kind, name, event.bytes), event.ns)
    return found


def regions_of_traces(folder: Path, rounds: int) -> dict[str, Region]:
    """Return what torch.profiler recorded in each region, of all rounds."""
    found: dict[str, Region] = {}
    for number in range(rounds):
        text = (folder / f"trace{number}.json").read_text(encoding="utf-8")
        for name, work, ns in regions_of_trace(json.loads(text)["traceEvents"]):
            add(found.setdefault(name, Region(Counter(), {})), work, ns)
    return found


def regions_of_trace(
    events: Sequence[Mapping[str, Any]],
) -> Iterator[tuple[str, Work, float]]:
    """Yield the region, kind and ns of each piece of work that a region launched.

    A piece of work has the correlation of the call that launched it, whatever thread
    made the call; the region is the range that was open then.  Of some calls of the
    driver there is no record: their work is in the range in which it began, which is
    right where the region waits for it.
    """
    ranges = sorted(
        (one["ts"], one["ts"] + one["dur"], one["name"].removeprefix("region "))
        for one in events
        if one.get("cat") == "user_annotation" and one["name"].startswith("region ")
    )
    starts = [start for start, _, _ in ranges]
    launched = {
        one["args"]["correlation"]: one["ts"]
        for one in events
        if one.get("cat") in ("cuda_runtime", "cuda_driver")
    }
    for one in events:
        kind = WORK.get(one.get("cat", ""))
        if kind is None:
            continue
        at = launched.get(one["args"]["correlation"], one["ts"])
        place = bisect_right(starts, at) - 1
        if place < 0 or at > ranges[place][1]:
            continue
        name, size = one["name"], int(one["args"].get("bytes", 0))
        if kind != "kernel":
            match = DIRECTION.match(name)
            name = match[1] if match else ""
        yield ranges[place][2], Work(kind, name, size), one["dur"] * 1000


def add(to: Region, work: Work, ns: float) -> None:
    """Count one record."""
    to.counts[work] += 1
    to.ns[work.kind] = to.ns.get(work.kind, 0) + ns


# -- compared ----------------------------------------------------------------------


def compare_regions(
    lab: Lab, name: str, ours: Region, theirs: Region, rounds: int
) -> None:
    """Compare the kernels, the copies and their times in one region."""
    more, less = ours.counts - theirs.counts, theirs.counts - ours.counts
    # A name that is too long for a demangler is compared by its count alone.
    mangled = max(
        sum(n for one, n in some.items() if one.name.startswith("_Z"))
        for some in (more, less)
    )
    if mangled and mangled == more.total() == less.total():
        lab.figure(**{f"{name}, mangled": mangled})
        more = less = Counter()
    lab.expect(
        not more and not less,
        f"{name}: lineprof alone has {spelled(more)}, torch.profiler {spelled(less)}",
    )
    for kind, wanted in theirs.ns.items():
        found = ours.ns.get(kind, 0)
        records = sum(n for one, n in theirs.counts.items() if one.kind == kind)
        mine, other = found / rounds, wanted / rounds
        said = f"{records} records, {mine:.0f} ns a round, torch.profiler {other:.0f}"
        lab.figure(**{f"{name}, {kind}": said})
        near = abs(found - wanted) <= TOLERANCE * wanted + RECORD_NS * records
        lab.expect(
            near or kind == "memcpy",  # depends on what else uses the bus
            f"{name}: {found:.0f} ns of {kind} here, {wanted:.0f} ns there",
        )


def spelled(counts: Counter[Work]) -> str:
    """Return what is counted, in few words."""
    some = [f"{n} {one.name[:40]} ({one.bytes} B)" for one, n in counts.items()]
    return ", ".join(some[:3]) + (f" and {len(some) - 3} more" if some[3:] else "")


def compare_events(lab: Lab, ran: Ran, name: str) -> None:
    """Compare the time between two CUDA events with that from first to last record."""
    number, gpu = line_of(ran, name), ran.stats.gpu
    apart = ran.said["events"][name]
    spans = sorted(
        (one.start_ns, one.start_ns + one.ns)
        for one in ran.events(*WORK.values())
        if number in lines_of(gpu, one.path)
    )
    each, rest = divmod(len(spans), len(apart))
    odd = f"{name}: {len(spans)} records, and it ran {len(apart)} times"
    if not lab.expect(each and not rest, odd):
        return
    runs = [spans[i : i + each] for i in range(0, len(spans), each)]
    found = [max(end for _, end in run) - run[0][0] for run in runs]
    off = [round(one - other) for one, other in zip(found, apart, strict=True)]
    mine, other = median(found), median(apart)
    said = f"{mine:.0f} ns from first to last, {other:.0f} ns by CUDA events"
    said += f", off by {median(off):.0f} ns ({min(off)} to {max(off)})"
    lab.figure(**{f"{name}, events": said})
    near = abs(median(off)) <= max(TOLERANCE * other, EVENTS_NS)
    lab.expect(near, f"{name}: {said}")
