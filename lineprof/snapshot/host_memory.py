"""Memory of this process in a profile, from the core's numbers."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from lineprof.model.host_memory import (
    MEMORY_SUMS,
    HostMemory,
    MemoryCurve,
    MemoryPath,
    MemoryRun,
    MemorySum,
)
from lineprof.snapshot.call_paths import LinesOfPaths

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lineprof._core import MemorySnapshot
    from lineprof.model.records import Key

    KeyLine = tuple[Key, int]

_MAX_LINES = 12  # with a curve of their own, beside that of the process


class Moment(NamedTuple):
    """Live memory at one moment, as the core has it."""

    ns: int  # on CLOCK_MONOTONIC
    live_bytes: int  # in all
    paths: Sequence[tuple[int, int]]  # the largest: their numbers, and their own bytes


class TakenMemory(NamedTuple):
    """Numbers of the core, and when measuring began; see `MemoryRecorder.take`."""

    raw: MemorySnapshot
    start_ns: int  # on CLOCK_MONOTONIC


def memory_of(taken: TakenMemory, keys: Mapping[int, Key]) -> HostMemory:
    """Return a process' memory as a profile has it.

    `keys` has the function of each code serial of the profile: other lines are left
    out of paths, and sums of paths that become equal are added up.
    """
    raw = taken.raw
    lines_of = LinesOfPaths(raw["paths"], keys)
    indexes: dict[MemoryPath, int] = {}  # of the profile's paths

    def index_of(number: int) -> int:
        path = MemoryPath(process=0, lines=lines_of.of(number).lines)
        return indexes.setdefault(path, len(indexes))

    sums = MEMORY_SUMS.added_up(
        record._replace(path=index_of(record.path))
        for record in map(MemorySum._make, raw["sums"])
    )
    return HostMemory(
        paths=tuple(indexes),
        sums=sums,
        runs=(
            MemoryRun(
                process=0,
                peak_bytes=raw["peak_bytes"],
                peak_ns=max(0, raw["peak_ns"] - taken.start_ns),
                side_bytes=raw["side_bytes"],
                sample_bytes=raw["sample"],
                lost=raw["lost"],
                is_native=bool(raw["native"]),
            ),
        ),
        curves=_curves(taken, lines_of),
    )


def memory_warnings(taken: TakenMemory) -> list[str]:
    """Return a sentence on each reason why the numbers are incomplete."""
    lost, warnings = taken.raw["lost"], [*taken.raw["notes"]]
    if lost:
        some = "1 block of memory was" if lost == 1 else f"{lost} blocks of memory were"
        why = "there was no room to keep track of them"
        warnings.append(f"{some} not counted: {why}")
    return warnings


def _curves(taken: TakenMemory, lines_of: LinesOfPaths) -> tuple[MemoryCurve, ...]:
    """Return the curve of the process; () if it has no moments."""
    moments = [*map(Moment._make, taken.raw["curve"])]
    if not moments:
        return ()
    by_line: list[Counter[KeyLine]] = []  # of each moment
    whole: Counter[KeyLine] = Counter()
    for moment in moments:
        sizes: Counter[KeyLine] = Counter()
        for path, size in moment.paths:
            for line in lines_of.of(path).lines[-1:]:
                sizes[line] += size
        by_line.append(sizes)
        whole.update(sizes)
    lines = [line for line, size in whole.most_common(_MAX_LINES) if size]
    curve = MemoryCurve(
        process=0,
        times_ns=tuple(max(0, moment.ns - taken.start_ns) for moment in moments),
        live_bytes=tuple(moment.live_bytes for moment in moments),
        lines=tuple(lines),
        line_bytes=tuple(tuple(sizes[line] for sizes in by_line) for line in lines),
    )
    return (curve,)
