"""Example profiles with slices, for tests of exported timelines."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from example_gpu import FIT, ORIGIN_NS, PROCESS, STEP, UPLOAD, example, without_gpu

from lineprof.line_stats import LineStats
from lineprof.model.timelines import Slice, Trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


@dataclass(frozen=True)
class SliceList(Trace):
    """A trace with unpacked slices."""

    make: Callable[[], Iterable[Slice]] = field(kw_only=True)

    def __iter__(self) -> Iterator[Slice]:
        return iter(self.make())


def trace(
    slices: Iterable[Slice],
    *,
    process: int = 0,
    origin_ns: int = ORIGIN_NS,
    left_out: int = 0,
) -> SliceList:
    """Return a trace of `slices`, sorted as traces are."""
    rows = sorted(slices, key=lambda one: (one.start_ns, -one.ns))
    functions = tuple(dict.fromkeys(one.function for one in rows))
    threads = tuple(dict.fromkeys(one.thread for one in rows))
    return SliceList(
        process=process,
        count=len(rows),
        left_out=left_out,
        origin_ns=origin_ns,
        functions=functions,
        threads=threads,
        batches=(),
        make=lambda: rows,
    )


def traced(*traces: Trace, stats: LineStats | None = None) -> LineStats:
    """Return a profile (default: that of example_gpu) with traces."""
    stats = stats or example()
    stats.traces = traces
    return stats


# fit() calls step() from line 34, waits in line 36, and continues in line 37;
# upload() runs on another thread. Each line begins when the previous one ends.
SLICES = (
    Slice(900_000, 1_500_000, 0, FIT, 0),
    Slice(950_000, 250_000, 0, FIT, 34),
    Slice(960_000, 200_000, 0, STEP, 0),
    Slice(960_000, 90_000, 0, STEP, 21),
    Slice(1_050_000, 100_000, 0, STEP, 22),
    Slice(1_200_000, 500_000, 0, FIT, 36),
    Slice(1_700_000, 500_000, 0, FIT, 37),
    Slice(1_000_000, 300_001, 1, UPLOAD, 0),
)


def steps() -> LineStats:
    """Return the profile of example_gpu with SLICES."""
    return traced(trace(SLICES))


def falling(levels: int) -> LineStats:
    """Return a profile of a chain of `levels` calls."""
    return traced(
        trace(
            Slice(10 * i, 20 * (levels - i) + 5, -1, ("/p/deep.py", i + 1, f"f{i}"), 0)
            for i in range(levels)
        ),
        stats=LineStats.from_functions([], processes=[PROCESS]),
    )


def sparse() -> list[LineStats]:
    """Return profiles that lack functions, GPU work or slices."""
    nothing = LineStats({}, 1e-9)
    return [nothing, without_gpu(), traced(trace([]), stats=nothing)]
