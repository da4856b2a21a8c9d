#!/usr/bin/env python3
"""Ground truth: one line is slowed by a known time, and only its callers gain it too.

    python benchmarks/ground_truth.py [--quick]

This is the test of Burchell and Marr (OOPSLA 2025, doi 10.1145/3763180), line by line.
The slowed line gains the delay times its executions, a line that calls it the same
(in recursion, once for each open call), any other line nothing; each within 3 %.
Delays measure their own length in the profiled run, because overhead.py is about how
much a profiler slows down other code. The run is compared with the same program with
empty delays. During a delay the processor's caches get cold, so that the code after it
takes longer. That aftermath is measured without a profiler, and any line may have it.
"""

from __future__ import annotations

import argparse
import functools
import math
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness import baselines, slowed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from lineprof import LineProfiler

    Key = tuple[str, int]

TOLERANCE = 0.03
CORES = ("monitoring", "monitoring-line", "settrace")
BATCHES = (
    6  # max rounds of samples, until all lines are right: more samples reduce noise
)
IN_A_ROW = 10  # samples of a kind, because the machine's speed drifts
FASTEST = 4  # one run in so many counts: disturbances only add time
NUMBERS = range(1, 500)  # a range, so that the numbers are not in the caches
GAUGE_TURNS = 1000
RUN_NS = 60_000  # of delays in a run: longer runs are disturbed more often


@dataclass(frozen=True)
class Kind:
    """A way to spend about `ns`: a chain of `turns` turns, or a call of `work`."""

    name: str
    ns: int
    turns: int = 0
    work: Callable[[], object] | None = None

    def set(self, delays: ModuleType) -> None:
        """Make the delays of this kind."""
        if self.work is None:
            delays.set_length(self.turns)
        else:
            delays.set_work(self.work)


NOTHING = Kind("nothing", 0)


def add_up() -> int:
    """Spend about 10 microseconds in Python lines that are not profiled."""
    total = 0
    for i in range(500):
        total += i
    return total


def kinds(delays: ModuleType) -> Iterator[Kind]:
    """Yield the kinds of delay: chains of two lengths, work in C, and in Python."""
    turn_ns = min(delays.chain_ns(GAUGE_TURNS) for _ in range(100)) / GAUGE_TURNS
    for us in (1, 5):
        turns = math.ceil(us * 1000 / turn_ns)
        yield Kind(f"{us} µs of divisions", us * 1000, turns)
    work = functools.partial(sum, NUMBERS)
    yield Kind("sum() of 500 numbers", 5_000, work=work)
    yield Kind("plain Python helper", 10_000, work=add_up)


@dataclass(frozen=True)
class Sample:
    """Times of one run, of its delays and of its lines, in ns."""

    wall_ns: int
    spent_ns: int
    times: dict[Key, int]


def fastest(samples: list[Sample]) -> list[Sample]:
    """Return the fastest runs, which were disturbed least."""
    ranked = sorted(samples, key=lambda sample: sample.wall_ns)
    return ranked[: max(1, len(ranked) // FASTEST)]


def wall_ns(samples: list[Sample]) -> float:
    """Return the median time of a run."""
    return statistics.median(sample.wall_ns for sample in fastest(samples))


def spent_ns(samples: list[Sample]) -> float:
    """Return the median time of all delays of a run."""
    return statistics.median(sample.spent_ns for sample in fastest(samples))


def line_ns(samples: list[Sample], key: Key) -> float:
    """Return the median time of a line in a run."""
    return statistics.median(sample.times.get(key, 0) for sample in fastest(samples))


def at_depth(depth: int, run: Callable[[], object]) -> None:
    """Call `run` at a depth of the C stack.

    The speed of a loop depends on the addresses of its locals, by some percent.
    """
    if depth:
        list(map(at_depth, (depth - 1,), (run,)))
    else:
        run()


class Laboratory:
    """One slowed program, run with one kind of delay and with empty delays."""

    def __init__(
        self, variant: slowed.Variant, core: str, delays: ModuleType, kind: Kind
    ) -> None:
        """Shorten the program's runs."""
        self.variant, self.core, self.delays, self.kind = variant, core, delays, kind
        module = variant.module
        count, _ = slowed.lines_that_gain(variant)
        module.ROUNDS = max(2, round(module.ROUNDS * RUN_NS / (kind.ns * count)))
        self.count, self.opens = slowed.lines_that_gain(variant)
        module.delay = delays.delay  # type: ignore[attr-defined]
        # Samples: with delays and with empty ones, profiled and not.
        self.slow: list[Sample] = []
        self.empty: list[Sample] = []
        self.plain_slow: list[Sample] = []
        self.plain_empty: list[Sample] = []

    def sample(self, rounds: int) -> None:
        """Run all kinds of runs `rounds` times more."""
        from lineprof.recording.profiler import LineProfiler  # noqa: PLC0415 - --help works without it

        for depth in range(rounds):
            self.plain_empty.append(self.run(NOTHING, depth))
            self.plain_slow.append(self.run(self.kind, depth))
        # Made late, because some hooks trace as long as a profiler exists.
        profiler = LineProfiler(core=self.core)
        for function in self.variant.functions:
            profiler.add_function(function)
        for depth in range(rounds):
            self.empty.append(self.profiled(NOTHING, depth, profiler))
            self.slow.append(self.profiled(self.kind, depth, profiler))

    def run(self, kind: Kind, depth: int, before: Callable[[], object] = int) -> Sample:
        """Run the program twice; the second run counts, after a call of `before`."""
        kind.set(self.delays)
        self.variant.module.run()  # warms the caches
        before()
        self.delays.take_spent()
        start = time.perf_counter_ns()
        at_depth(depth, self.variant.module.run)
        wall_ns = time.perf_counter_ns() - start
        return Sample(wall_ns, self.delays.take_spent(), {})

    def profiled(self, kind: Kind, depth: int, profiler: LineProfiler) -> Sample:
        """Run the program under the profiler."""
        with profiler:
            sample = self.run(kind, depth, profiler.reset)
        times = {
            (function.name.rpartition(".")[2], row.line): row.time_ns
            for function in profiler.get_stats().functions
            for row in function.rows
        }
        return replace(sample, times=times)

    def errors(self) -> tuple[dict[Key, float], float]:
        """Return the error of each line's gain, and the aftermath, in delays."""
        spent = spent_ns(self.slow)
        gained = wall_ns(self.plain_slow) - wall_ns(self.plain_empty)
        after = max(0.0, gained - spent_ns(self.plain_slow)) / spent
        return {
            key: self.error(
                key, line_ns(self.slow, key) - line_ns(self.empty, key), spent, after
            )
            for key in self.slow[0].times
        }, after

    def error(self, key: Key, gained_ns: float, spent: float, after: float) -> float:
        """Return the error of a line's gain, as a part of the true gain.

        `spent` is the ns of all delays, `after` their aftermath as a part of that.
        """
        opens = self.opens[key] / self.count
        gained = gained_ns / spent
        low, high = opens, opens + max(1.0, opens) * after
        return (gained - min(max(gained, low), high)) / (opens or 1.0)


@dataclass(frozen=True)
class Error:
    """Error of a line's gain, as a part of the true gain."""

    program: str
    slowed: int
    line: int
    error: float

    def __str__(self) -> str:
        """Return one line of text."""
        return (
            f"{self.program}: line {self.slowed} slowed, line {self.line} "
            f"is off by {self.error:+.1%}"
        )


def check(
    folder: Path, core: str, delays: ModuleType, kind: Kind, rounds: int
) -> tuple[list[Error], float]:
    """Slow every marked line of every program by `kind`.

    Return all errors, and the median of the aftermaths, in delays.
    """
    errors, afters = [], []
    for program in slowed.NAMES:
        tag = f"{core}_{time.monotonic_ns()}"
        for variant in slowed.variants(folder, program, tag):
            laboratory = Laboratory(variant, core, delays, kind)
            for _ in range(BATCHES):
                for _ in range(rounds // IN_A_ROW):
                    laboratory.sample(IN_A_ROW)
                found, after = laboratory.errors()
                if all(abs(error) <= TOLERANCE for error in found.values()):
                    break
            afters.append(after)
            errors += [
                Error(program, variant.slowed, line, error)
                for (_, line), error in found.items()
            ]
    return errors, statistics.median(afters)


def report(core: str, kind: Kind, errors: list[Error], after: float) -> bool:
    """Print the verdict on one hook and kind; return whether all lines are right."""
    worst = max(errors, key=lambda error: abs(error.error))
    wrong = [e for e in errors if abs(e.error) > TOLERANCE]
    print(
        f"{'NOT REACHED' if wrong else 'reached    '}  {core:<15} {kind.name:<22} "
        f"{len(errors) - len(wrong)} of {len(errors)} lines within {TOLERANCE:.0%}; "
        f"worst: {worst}; aftermath {after:.1%} of a delay",
        flush=True,
    )
    for error in wrong:
        print(f"             {error}")
    return not wrong


def main() -> int:
    """Check every hook; the exit status is 1 if a line is wrong by more than 3 %."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer samples")
    parser.add_argument("--rounds", type=int, help="samples of each variant")
    options = parser.parse_args()
    rounds = options.rounds or (60 if options.quick else 250)
    modern = sys.version_info >= (3, 12)
    status = 0
    with tempfile.TemporaryDirectory(prefix="lineprof-truth-") as name:
        folder = Path(name)
        baselines.build(folder)
        delays = baselines.load(folder, "baseline_delay")
        for core in CORES if modern else ("settrace",):
            for kind in kinds(delays):
                errors, after = check(folder, core, delays, kind, rounds)
                status |= not report(core, kind, errors, after)
    return status


if __name__ == "__main__":
    sys.exit(main())
