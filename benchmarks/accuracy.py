#!/usr/bin/env python3
"""Accuracy of the reported times: totals of functions, and single lines.

    python benchmarks/accuracy.py [--quick]

The reported total of a function is divided by its time without a profiler, measured
in turn. The reported time of a line of one or two instructions is compared with the
true one: the difference between a function with many such lines and one with half as
many, divided by their number. Lines that call a profiled function of short lines, or
loop over a tiny generator, are compared with an untraced run of the same program.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import callees, copies, lines, pairs

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

MODERN = sys.version_info >= (3, 12)
ROUNDS = 4
LOOSE = (0.90, 1.30)
TIGHT = (0.97, 1.03)
CALLERS = (0.90, 1.15)  # of a line, with its callees


@dataclass(frozen=True)
class Case:
    """A workload, the function whose total is judged, and the bounds of the ratio.

    With `inside`, the function is timed alone, at its call; otherwise a round
    consists of that one call. Without bounds, the ratio is only reported.
    """

    title: str
    function: str
    bounds: tuple[float, float] | None
    inside: bool = False


CASES = (
    Case("tight loop", "tight_loop", LOOSE if MODERN else None),
    Case("tight loop, line > 256", "tight_loop", None),
    Case("two tiny callees a line", "mandelbrot", LOOSE if MODERN else None),
    Case("heavy plain helper", "driver", TIGHT),
    Case("recursion", "fib", None),
    Case("generators", "consume", LOOSE if MODERN else None),
    Case("coroutines", "work", LOOSE if MODERN else None),
    Case("lines of 5 µs", "statistics", TIGHT),
    Case(
        "script, 1 of 10 functions",
        "summarise",
        LOOSE if MODERN else None,
        inside=True,
    ),
)


class Stopwatch:
    """Times the calls of one function of a module from outside."""

    def __init__(self, module: ModuleType, name: str) -> None:
        """Put the stopwatch around the function `name`."""
        function: Callable[..., object] = getattr(module, name)
        self.elapsed_ns = 0

        def timed(*arguments: object) -> object:
            start = time.perf_counter_ns()
            result = function(*arguments)
            self.elapsed_ns += time.perf_counter_ns() - start
            return result

        setattr(module, name, timed)

    def reset(self) -> None:
        """Set the elapsed time to zero."""
        self.elapsed_ns = 0


def profiler_of(core: str) -> Any:  # noqa: ANN401 - its types come with lineprof
    """Make a profiler with the hook `core`."""
    from lineprof.recording.profiler import LineProfiler  # noqa: PLC0415 - --help works without it

    return LineProfiler(core=core)


def shortened(case: Case, loader: copies.Copies) -> ModuleType:
    """Load the case's workload with short rounds, so that few are interrupted."""
    module = loader.load(next(w for w in copies.WORKLOADS if w.title == case.title))
    for name in ("ROUNDS", "ROWS"):
        if hasattr(module, name):
            setattr(module, name, getattr(module, name) // 5)
    return module


def true_ns(case: Case, base: ModuleType) -> float:
    """Return the time of the judged function in one untraced round, in ns."""
    if not case.inside:
        return statistics.median(pairs.calm(base.run) for _ in range(ROUNDS))
    watch = Stopwatch(base, case.function)
    times = []
    for _ in range(ROUNDS):
        pairs.calm(base.run, before=watch.reset)
        times.append(watch.elapsed_ns)
    return statistics.median(times)


def reported_over_true(case: Case, core: str, loader: copies.Copies) -> float:
    """Profile a round between untraced ones; return reported over true time."""
    module = shortened(case, loader)
    truth_ns = true_ns(case, shortened(case, loader))
    profiler = profiler_of(core)
    for function in copies.profiled(module):
        profiler.add_function(function)
    with profiler:
        module.run()
        pairs.calm(module.run, before=profiler.reset)
    stats = profiler.get_stats()
    del profiler  # some hooks trace as long as a profiler exists
    truth_ns = (truth_ns + true_ns(case, shortened(case, loader))) / 2
    found = next(f for f in stats.functions if f.name == case.function)
    return float(found.total_ns / truth_ns)


def judge(case: Case, core: str, loader: copies.Copies, samples: int) -> bool:
    """Measure one case and print the verdict; False if a bound is missed."""
    ratios = [reported_over_true(case, core, loader) for _ in range(samples)]
    ratio = statistics.median(ratios)
    # A global trace function slows down all Python code. Its report of a line that
    # calls Python code is true, but includes that, so there is no goal for it.
    bounds = case.bounds if core != "settrace" or not MODERN else None
    fine = bounds is None or bounds[0] <= ratio <= bounds[1]
    word = "           " if bounds is None else "reached    "
    goal = f"  (goal {bounds[0]:g} to {bounds[1]:g})" if bounds else ""
    print(
        f"{word if fine else 'NOT REACHED'}  {core:<11} total over truth: "
        f"{case.title:<28}{ratio:6.3f}{goal}  [{min(ratios):.2f}, {max(ratios):.2f}]",
        flush=True,
    )
    return fine


def judge_lines(core: str, folder: Path, samples: int) -> bool:
    """Compare reported with true times of single lines; False if a bound is missed."""
    fine = True
    for line in lines.LINES:
        truth, reported, error = lines.measure(line, profiler_of, core, folder, samples)
        bound = 5.0 if MODERN else 10.0
        bound = bound if line.has_bound else float("inf")
        within = abs(error) <= bound
        word = "reached    " if line.has_bound else "           "
        goal = f"  (goal ± {bound:g} ns)" if line.has_bound else ""
        print(
            f"{word if within else 'NOT REACHED'}  {core:<11} line `{line.text}`: "
            f"{reported:.1f} ns reported, {truth:.1f} ns true, {error:+.1f} ns{goal}",
            flush=True,
        )
        fine = fine and within
    return fine


def judge_callers(core: str, samples: int) -> bool:
    """Compare lines that call short profiled functions; False if a bound is missed."""
    fine = True
    # A trace function makes the subtracted cost larger, and its error.
    bounds = CALLERS if core != "settrace" or not MODERN else None
    for caller in callees.CALLERS:
        # Each sample has a calibration of its own. One made while the machine was
        # slow subtracts too much, so that the least of all is no measure.
        times = [
            callees.sample(caller, lambda: profiler_of(core)) for _ in range(samples)
        ]
        ratio = statistics.median(reported / truth for truth, reported in times)
        truth, reported = (statistics.median(side) for side in zip(*times, strict=True))
        within = bounds is None or bounds[0] <= ratio <= bounds[1]
        word = "           " if bounds is None else "reached    "
        goal = f"  (goal {bounds[0]:g} to {bounds[1]:g})" if bounds else ""
        print(
            f"{word if within else 'NOT REACHED'}  {core:<11} caller of a "
            f"{caller.title}: {reported:.0f} ns reported, {truth:.0f} ns true, "
            f"{ratio:.3f}{goal}",
            flush=True,
        )
        fine = fine and within
    return fine


def main() -> int:
    """Judge every hook; the exit status is 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer samples")
    samples = 5 if parser.parse_args().quick else 15
    fine = True
    with tempfile.TemporaryDirectory(prefix="lineprof-accuracy-") as name:
        loader = copies.Copies(Path(name), itertools.count())
        for core in ("monitoring", "settrace") if MODERN else ("settrace",):
            for case in CASES:
                fine &= judge(case, core, loader, samples)
            fine &= judge_lines(core, Path(name), samples)
            fine &= judge_callers(core, samples)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
