"""Profilers and torch.compile, started and stopped in every order.

The program profiles itself if lineprof is installed, and prints what does not hold.
"""

# mypy: ignore-errors

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

import torch
from torch import _dynamo as dynamo

if TYPE_CHECKING:
    from lineprof import LineProfiler

X = torch.ones(3)


def inc(n: int) -> int:
    """Return n + 1, as a profiled function."""
    return n + 1


def graphs() -> int:
    """Return the number of graphs compiled so far."""
    return int(dynamo.utils.counters["stats"]["unique_graphs"])


def compiles() -> bool:
    """Return whether torch.compile still compiles with the right result."""
    dynamo.reset()
    before = graphs()
    doubled = torch.compile(lambda x: x * 2 + 1, backend="eager")
    right = [doubled(X).tolist(), doubled(X).tolist()] == [[3.0, 3.0, 3.0]] * 2
    return right and graphs() == before + 1


def hits(profiler: LineProfiler) -> int:
    """Return the counted calls of `inc`."""
    first = inc.__code__.co_firstlineno
    found = [f for f in profiler.get_stats().functions if f.line == first]
    return sum(row.hits for function in found for row in function.rows)


def counts(profiler: LineProfiler) -> bool:
    """Return whether the profiler still counts calls."""
    before = hits(profiler)
    with profiler:
        inc(1)
    return hits(profiler) == before + 1


def check(what: str, *, holds: bool) -> None:
    """Print the result of a check; exit if it failed."""
    print(f"{what}: {'yes' if holds else 'NO'}", flush=True)
    if not holds:
        sys.exit(1)


def profiler_first() -> None:
    """Open a profiler, compile, and close the profiler."""
    profiler = LineProfiler(inc)
    profiler.enable()
    check("compiles under a profiler", holds=compiles())
    profiler.disable()
    check("counts after compiling", holds=counts(profiler))
    del profiler
    check("compiles after a profiler", holds=compiles())


def dynamo_first() -> None:
    """Compile, then open a profiler, then reset Dynamo."""
    check("compiles alone", holds=compiles())
    profiler = LineProfiler(inc)
    check("counts after Dynamo came", holds=counts(profiler))
    check("compiles", holds=compiles())
    dynamo.reset()
    check("counts after a reset", holds=counts(profiler))


def enabled_within() -> None:
    """Enable a profiler in compiled code; disable it outside."""
    profiler = LineProfiler(inc)

    @torch.compile(backend="eager")
    def begin(x: torch.Tensor) -> torch.Tensor:
        x = x + 1
        profiler.enable()
        return x * 2

    for _ in range(3):
        begin(X)
        hits(profiler)  # the profiler is found again after it was replaced
        before = hits(profiler)
        inc(1)
        check("counts after a compiled call", holds=hits(profiler) == before + 1)
        profiler.disable()
    check("counts", holds=counts(profiler))
    check("compiles", holds=compiles())


def two_threads() -> None:
    """Enable a profiler while another thread is in compiled code."""
    profiler = LineProfiler(inc)
    inside, leave = threading.Event(), threading.Event()

    @torch.compile(backend="eager")
    def waits(x: torch.Tensor) -> torch.Tensor:
        x = x + 1
        inside.set()
        leave.wait()
        return x * 2

    thread = threading.Thread(target=waits, args=(X,))
    thread.start()
    inside.wait()
    with profiler:
        check("compiles beside another thread", holds=compiles())
        inc(1)
        check("counts beside another thread", holds=hits(profiler) == 1)
        leave.set()
        thread.join()
        inc(1)
        check("compiles after the other thread", holds=compiles())
    check("counts after the other thread", holds=hits(profiler) > 1)
    check("compiles without it", holds=compiles())
    check("counts again", holds=counts(profiler))


if __name__ == "__main__":
    from lineprof import LineProfiler

    for order in (profiler_first, dynamo_first, enabled_within, two_threads):
        print(order.__name__)
        order()
