"""Memory of this process in a profile, from the raw numbers of the core."""

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
    from collections.abc import Iterator, Mapping, Sequence

    from lineprof._core import MemorySnapshot
    from lineprof.model.records import Key

    KeyLine = tuple[Key, int]

_MAX_CURVES = 12  # lines; the rest is what they leave of the total


class Moment(NamedTuple):
    """Live memory at one moment, as the core has it."""

    ns: int  # on CLOCK_MONOTONIC
    live_bytes: int  # in all
    paths: Sequence[tuple[int, int]]  # the largest: number and bytes of its own


class TakenMemory(NamedTuple):
    """Numbers of the core, and when measuring began."""

    raw: MemorySnapshot
    start_ns: int  # on CLOCK_MONOTONIC


def memory_of(taken: TakenMemory, keys: Mapping[int, Key]) -> HostMemory:
    """Return a process' memory as a profile has it.

    `keys` has the function of each code serial of the profile: other lines are left
    out of paths, and sums of paths that become equal are added up.
    """
    raw = taken.raw
    lines_of = LinesOfPaths(raw["paths"], keys)
    found: dict[MemoryPath, int] = {}
    sums = MEMORY_SUMS.added_up(
        row._replace(
            path=found.setdefault(
                MemoryPath(process=0, lines=lines_of.of(row.path).lines), len(found)
            )
        )
        for row in map(MemorySum._make, raw["sums"])  # with the core's paths
    )
    return HostMemory(
        paths=tuple(found),
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
        curves=tuple(_curves(taken, lines_of)),
    )


def memory_warnings(taken: TakenMemory) -> list[str]:
    """Return a sentence on each reason why the numbers are incomplete."""
    lost = taken.raw["lost"]
    some = "1 block of memory was" if lost == 1 else f"{lost} blocks of memory were"
    why = "there was no room to keep track of them"
    return [*taken.raw["notes"], *([f"{some} not counted: {why}"] if lost else ())]


def _curves(taken: TakenMemory, lines_of: LinesOfPaths) -> Iterator[MemoryCurve]:
    """Yield the curve of the process, if it has moments."""
    moments = [*map(Moment._make, taken.raw["curve"])]
    if not moments:
        return
    by_line: list[Counter[KeyLine]] = []
    whole: Counter[KeyLine] = Counter()
    for moment in moments:
        sizes: Counter[KeyLine] = Counter()
        for path, size in moment.paths:
            sizes.update(dict.fromkeys(lines_of.of(path).lines[-1:], size))
        by_line.append(sizes)
        whole.update(sizes)
    lines = [line for line, size in whole.most_common(_MAX_CURVES) if size]
    yield MemoryCurve(
        process=0,
        times_ns=tuple(max(0, moment.ns - taken.start_ns) for moment in moments),
        live_bytes=tuple(moment.live_bytes for moment in moments),
        lines=tuple(lines),
        line_bytes=tuple(tuple(sizes[line] for sizes in by_line) for line in lines),
    )
