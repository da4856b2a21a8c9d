"""Compares the profile of a replayed trace with the numbers of the oracle."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kineto_oracle import NOWHERE, Expected, Idle, Line, Numbers
from kineto_plan import START

from lineprof import LineStats
from lineprof.model.gpu import (
    DRIVER,
    NO_PATH,
    RUNTIME,
    WAIT,
    numbers_of_lines,
    totals,
    unattributed,
)
from lineprof.model.gpu_idle import device_idle
from lineprof.snapshot.arithmetic import idle_sums

if TYPE_CHECKING:
    from lineprof.model.gpu import Gpu, GpuNumbers
    from lineprof.model.timelines import GpuEvent

PLAYER = Path(__file__).with_name("kineto_player.py")
# The environment of a replay: lines of all lengths have slices.
KNOBS = {"FAKE_CUDA_DEVICES": 64, "LINEPROF_TRACE": "yes", "LINEPROF_TRACE_LINES": 0}
CALLS = {**KNOBS, "LINEPROF_GPU_API": "1"}  # one with records of calls
COMMENT = re.compile(r"# (\S+) (\d+) (\d+)( called)?$")
MAX_NUMBERS = ("longest",)  # the others are sums


class Place(NamedTuple):
    """The calls of a line of the program."""

    tid: str
    calls: range
    is_caller: bool  # of a function with these calls


@dataclass
class Compared:
    """Numbers that were compared, and sentences on those that differ."""

    expected: Expected
    calls: bool = False  # they have records
    values: int = 0
    different: list[str] = field(default_factory=list)

    def same(self, what: str, found: object, wanted: object) -> None:
        """Compare two values."""
        self.values += 1
        if found != wanted:
            self.different.append(f"{what}: {found}, expected {wanted}")

    def same_numbers(self, what: str, found: Numbers, wanted: Numbers) -> None:
        """Compare numbers by name; those that are missing are 0."""
        for name in sorted(found.keys() | wanted.keys()):
            self.same(f"{what} {name}", found.get(name, 0), wanted.get(name, 0))

    def same_events(
        self, found: Counter[tuple[object, ...]], wanted: Counter[tuple[object, ...]]
    ) -> None:
        """Compare events, in any order."""
        self.values += sum(len(event) * count for event, count in wanted.items())
        for event, count in (wanted - found).items():
            self.different.append(f"{count} events are missing: {event}")
        for event, count in (found - wanted).items():
            self.different.append(f"{count} events are unexpected: {event}")


def places_of(program: str) -> dict[int, Place]:
    """Return the calls of each line of a program."""
    found = (
        (n, COMMENT.search(line)) for n, line in enumerate(program.splitlines(), 1)
    )
    return {
        n: Place(at[1], range(int(at[2]), int(at[3])), is_caller=bool(at[4]))
        for n, at in found
        if at
    }


def numbers_of(numbers: GpuNumbers) -> Numbers:
    """Return numbers of lineprof by the names of the oracle."""
    found = {
        "gpu": numbers.gpu_ns,
        "self": numbers.self_ns,
        "adopted": numbers.adopted_ns,
        "kernels": numbers.kernels,
        "longest": numbers.max_kernel_ns,
        "memset": numbers.memset_ns,
        "memsets": numbers.memsets,
        "wait": numbers.wait_ns,
        "waits": numbers.waits,
        "alloc": numbers.alloc_bytes,
        "free": numbers.free_bytes,
    }
    for direction, count, ns, size in numbers.copies:
        found[f"{direction} count"] = count
        found[f"{direction} ns"] = ns
        found[f"{direction} bytes"] = size
    return found


def added(lines: list[Numbers]) -> Numbers:
    """Return the numbers of lines together; the hits are those of their caller."""
    total: Numbers = defaultdict(int)
    for line in lines:
        for name, number in line.items():
            if name in MAX_NUMBERS:
                total[name] = max(total[name], number)
            else:
                total[name] += number
    return total


def compare(
    profile: Path, program: Path, wanted: Expected, *, calls: bool = False
) -> Compared:
    """Compare a profile with the numbers of its trace; `calls`: they have records."""
    stats = LineStats.from_files(profile)
    compared = Compared(wanted, calls=calls)
    places = places_of(program.read_text(encoding="utf-8"))
    compare_lines(compared, stats, places)
    compare_devices(compared, stats, places)
    compare_events(compared, stats.gpu, places)
    compare_run(compared, stats.gpu)
    return compared


def compare_lines(
    compared: Compared, stats: LineStats, places: dict[int, Place]
) -> None:
    """Compare the numbers of each line, and those of no line and of all."""
    wanted = compared.expected.lines
    found: dict[int, Numbers] = defaultdict(dict)
    for lines in numbers_of_lines(stats.gpu).values():
        for line, numbers in lines.items():
            found[line] = numbers_of(numbers)
    for function in stats.functions:
        for row in function.rows:
            found[row.line].update(hits=row.hits, time=row.time_ns)
    for line, (tid, calls, is_caller) in places.items():
        sums = added([wanted.get((tid, number), {}) for number in calls])
        if sums:
            sums["hits"] = 1
        sums["self"] = 0 if is_caller else sums["gpu"]
        compared.same_numbers(f"line {line} of thread {tid}", found.pop(line, {}), sums)
    compared.same("lines without a call", dict(found), {})
    nowhere = dict(wanted.get(NOWHERE, {}))
    nowhere["self"] = nowhere.get("gpu", 0)
    compared.same_numbers("unattributed", numbers_of(unattributed(stats.gpu)), nowhere)
    whole = added(list(wanted.values()))
    whole["self"] = whole["gpu"]
    for name in ("hits", "time"):
        whole.pop(name, None)
    compared.same_numbers("total", numbers_of(totals(stats.gpu)), whole)


def compare_devices(
    compared: Compared, stats: LineStats, places: dict[int, Place]
) -> None:
    """Compare the busy and idle time of each device."""
    found = {one.device: one for one in device_idle(stats, idle_sums)}
    busy = {one.device: one for one in stats.gpu.devices}
    compared.same("devices", sorted(busy), sorted(compared.expected.devices))
    for number, device in compared.expected.devices.items():
        if number not in busy:
            continue
        what = f"device {number}"
        compared.same(f"{what} busy", busy[number].busy_ns, device.busy)
        compared.same(f"{what} busy is exact", busy[number].busy_exact, True)
        idle = found[number]
        compared.same(f"{what} span", idle.span_ns, device.span)
        compared.same(f"{what} idle", idle.idle_ns, device.span - device.busy)
        compared.same(f"{what} gaps", idle.gaps, device.gaps)
        rest = idle.unattributed
        compared.same_numbers(
            f"{what} unattributed",
            {
                "launching": rest.launching,
                "syncing": rest.syncing,
                "other": rest.computing + rest.waiting + rest.unknown,
            },
            vars(device.lines.get(NOWHERE, Idle())),
        )
        own: dict[int, Numbers] = {}
        inclusive: dict[int, Numbers] = {}
        for one in idle.lines:
            if not one.line and not one.causes.total:
                continue  # lines that are too short for slices: there are none
            causes = one.causes
            own[one.line] = {
                "launching": causes.launching,
                "syncing": causes.syncing,
                "other": causes.computing + causes.waiting + causes.unknown,
            }
            inclusive[one.line] = {"inclusive": one.inclusive_ns}
        for line, (tid, calls, is_caller) in places.items():
            ones = [device.lines.get((tid, number), Idle()) for number in calls]
            whole = sum(sum(vars(one).values()) for one in ones)
            alone = {} if is_caller else vars(ones[0])
            text = f"{what} line {line} idle"
            compared.same_numbers(text, own.pop(line, {}), alone)
            compared.same_numbers(text, inclusive.pop(line, {}), {"inclusive": whole})
        compared.same(f"{what} other lines", own, {})


def compare_events(compared: Compared, gpu: Gpu, places: dict[int, Place]) -> None:
    """Compare the records and waits of the timeline."""
    line_of: dict[int, Line] = {NO_PATH: NOWHERE}
    for number, path in enumerate(gpu.paths):
        place = places[path.lines[-1][1]]
        line_of[number] = (place.tid, place.calls[0])
    found: dict[str, Counter[tuple[object, ...]]] = defaultdict(Counter)
    waits: dict[Line, list[tuple[int, int]]] = defaultdict(list)
    for timeline in gpu.timelines:
        for one in timeline:
            start = one.start_ns + timeline.origin_ns - START
            line = line_of[one.path]
            if one.kind == WAIT:
                waits[line].append((start, start + one.ns))
            elif one.kind not in {RUNTIME, DRIVER}:
                found["work"][event_of(one, start, line)] += 1
            elif start >= 0:  # not cuInit, before the trace
                found["api"][one.kind, start, one.ns, line, one.correlation] += 1
    for line in sorted(waits.keys() | compared.expected.waits.keys()):
        spans = joined(compared.expected.waits.get(line, []))
        compared.same(f"waits of {line}", joined(waits.get(line, [])), spans)
    compared.same_events(found["work"], compared.expected.events)
    api = compared.expected.api if compared.calls else Counter()
    compared.same_events(found["api"], api)


def event_of(one: GpuEvent, start: int, line: Line) -> tuple[object, ...]:
    """Return a record of the timeline as the oracle has it."""
    return (
        *(one.kind, one.name, start, one.ns, line),
        *(one.device, one.context, one.stream, one.correlation, one.bytes),
        *(one.grid, one.block, one.registers),
        *(one.static_smem + one.dynamic_smem, one.source, one.target),
    )


def joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return waits of a line without breaks: one may have become known in parts."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and found[-1][1] == start:
            found[-1] = (found[-1][0], end)
        elif start < end:
            found.append((start, end))
    return found


def compare_run(compared: Compared, gpu: Gpu) -> None:
    """Compare what the run says of lost records."""
    [run] = gpu.runs
    found = run._asdict()
    wanted = dict.fromkeys(
        ("dropped", "invalid", "left_out", "realigned", "unfinished", "undated"), 0
    )
    wanted.update(foreign_buffers=0, taken=0)
    wanted["outstanding"] = compared.expected.outstanding
    compared.same_numbers("records", {name: found[name] for name in wanted}, wanted)
