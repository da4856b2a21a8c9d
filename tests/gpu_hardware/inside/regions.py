"""Lines of a program that lineprof and torch.profiler record in turn, to be compared.

Use in programs under test, whose first argument is "lineprof" or "torch"::

    def work():
        with region("forward"):
            loss = model(inputs)

    compare(work)

A region has one line in it. For torch.profiler it is a range, and what is launched in
the range is the region's. For lineprof, a region is between two CUDA events, whose
distance is another measure of the line.
"""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any

from raw import say, turns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

WARM = 3  # calls
WITH_TORCH = sys.argv[1:2] == ["torch"]
events: dict[str, list[tuple[Any, Any]]] = {}  # of the turn, by region


@contextlib.contextmanager
def region(name: str, stream: object = None) -> Iterator[None]:
    """Mark the line in the block; stream: where it launches its work."""
    import torch  # noqa: PLC0415 - the program has chosen a device before

    if WITH_TORCH:
        with torch.profiler.record_function(f"region {name}"):
            yield
        return
    begin, end = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
    begin.record(stream)
    yield
    end.record(stream)
    events.setdefault(name, []).append((begin, end))


def compare(work: Callable[[], object]) -> None:
    """Call `work` once in each turn of this program, and record it."""
    if WITH_TORCH:
        get_warm(work)
        record_with_torch(work)
        return
    from torch.cuda import synchronize  # noqa: PLC0415

    from lineprof import LineProfiler  # noqa: PLC0415

    profiler = LineProfiler(work)  # before graphs are captured
    get_warm(work)
    apart: dict[str, list[float]] = {}
    for _ in turns():
        with profiler:
            work()
        synchronize()
        for name, pairs in events.items():
            ns = [begin.elapsed_time(end) * 1e6 for begin, end in pairs]
            apart.setdefault(name, []).extend(ns)
        events.clear()
    profiler.dump_stats("program.lprof")
    say(events=apart)


def get_warm(work: Callable[[], object]) -> None:
    """Call `work`, so that what is chosen and compiled at first use is there."""
    from torch.cuda import synchronize  # noqa: PLC0415

    for _ in range(WARM):
        work()
    synchronize()
    events.clear()


def record_with_torch(work: Callable[[], object]) -> None:
    """Write a trace of torch.profiler for each turn."""
    import torch  # noqa: PLC0415
    from torch.profiler import ProfilerActivity, profile  # noqa: PLC0415

    for number in turns():
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as one:
            work()
            torch.cuda.synchronize()
        one.export_chrome_trace(f"trace{number}.json")
