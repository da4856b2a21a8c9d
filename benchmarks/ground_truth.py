#!/usr/bin/env python3
"""Slow one line by a known amount: it must gain just that, and no other line.

    python benchmarks/ground_truth.py [--quick]

The test of Burchell and Marr (OOPSLA 2025, doi 10.1145/3763180), per line: the
slowed line gains the delay times its executions, a line that calls it as much
(in recursion, once for each open call), any other line nothing; each within 3 %.
What a delay really takes is measured without a profiler, between the profiled runs.
"""

from __future__ import annotations

import argparse
import functools
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rig import floors, pairs, slowed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Delay = Callable[[], object]
    Times = dict[tuple[str, int], int]

TOLERANCE = 0.03
NUMBERS = tuple(range(3000))
LOOPS = 100


@dataclass(frozen=True)
class Kind:
    """A way to spend time, and how much of a program's full length suffices.

    Long runs would be interrupted. `python`: plain Python lines spend the time.
    """

    name: str
    delay: Delay
    share: float
    python: bool = False


def add_up() -> int:
    """Spend about 10 microseconds in Python lines that nobody profiles."""
    total = 0
    for i in range(500):
        total += i
    return total


def kinds(folder: Path) -> Iterator[Kind]:
    """Yield the kinds of delay: a clocked spin of two lengths, work in C, Python."""
    for ns, share in ((1_000, 0.5), (5_000, 0.15)):
        clocked = floors.load(folder, "floor_delay")
        clocked.set_length(ns)
        yield Kind(f"spin of {ns // 1000} µs", clocked.delay, share)
    yield Kind("sum() of 3000 numbers", functools.partial(sum, NUMBERS), 0.1)
    yield Kind("plain Python helper", add_up, 0.1, python=True)


def repeat(delay: Delay) -> None:
    """Run the statement `delay()` many times."""
    for _ in range(LOOPS):
        delay()


def repeat_nothing() -> None:
    """Run the loop of `repeat`, empty."""
    for _ in range(LOOPS):
        pass


def untraced_ns(delay: Delay) -> float:
    """Measure what the statement `delay()` takes without a profiler, in ns."""
    delays_ns = pairs.calm(lambda: repeat(delay))
    return (delays_ns - pairs.calm(repeat_nothing)) / LOOPS


@dataclass(frozen=True)
class Profile:
    """One run's ns per line, and what a delay took just then, in ns."""

    times: Times
    delay_ns: float


def profile(variants: list[slowed.Variant], core: str, delay: Delay) -> list[Profile]:
    """Run every variant under one new profiler; give each one's profile."""
    from lineprof.profiler import LineProfiler  # noqa: PLC0415 - says --help without

    lengths = [untraced_ns(delay)]
    profiles = []
    for variant in variants:
        # One profiler for each: some hooks trace for as long as one lives.
        profiler = LineProfiler(core=core)
        for function in variant.functions:
            profiler.add_function(function)
        with profiler:
            pairs.calm(variant.module.run, before=profiler.reset)
        functions = profiler.get_stats().functions
        del profiler
        times = {
            (function.name.rpartition(".")[2], row.line): row.time_ns
            for function in functions
            for row in function.rows
        }
        lengths.append(untraced_ns(delay))
        profiles.append(Profile(times, statistics.mean(lengths[-2:])))
    return profiles


@dataclass(frozen=True)
class Error:
    """How far a line's gain is from the truth, as a part of the truth."""

    program: str
    slowed: int
    line: int
    error: float

    def __str__(self) -> str:
        """Say it in one line."""
        return (
            f"{self.program}: line {self.slowed} slowed, line {self.line} "
            f"is off by {self.error:+.1%}"
        )


def gain(plain: Profile, slow: Profile, key: tuple[str, int]) -> float:
    """Give what a line gained, in delays."""
    return (slow.times.get(key, 0) - plain.times.get(key, 0)) / slow.delay_ns


def errors_of(
    variant: slowed.Variant, samples: list[tuple[Profile, Profile]]
) -> Iterator[Error]:
    """Compare profiles of the plain and the slowed variant, line by line."""
    delays, counts = slowed.who_gains(variant)
    lines = {key for _, slow in samples for key in slow.times}
    for key in sorted(lines, key=lambda pair: pair[1]):
        gained = statistics.median(gain(plain, slow, key) for plain, slow in samples)
        error = (gained - counts[key]) / (counts[key] or delays)
        yield Error(variant.program, variant.slowed, key[1], error)


def check(folder: Path, core: str, kind: Kind, rounds: int) -> list[Error]:
    """Slow every marked line of every program by `kind`; give all errors."""
    errors: list[Error] = []
    for program in slowed.NAMES:
        tag = f"{core}_{time.monotonic_ns()}"
        variants = slowed.variants(folder, program, tag)
        for variant in variants:
            variant.module.delay = kind.delay  # type: ignore[attr-defined]
            variant.module.ROUNDS = round(variant.module.ROUNDS * kind.share)
        samples = [profile(variants, core, kind.delay) for _ in range(rounds)]
        for number, variant in enumerate(variants[1:], 1):
            errors += errors_of(variant, [(one[0], one[number]) for one in samples])
    return errors


def main() -> int:
    """Check every hook; the status is 1 where a line is off by more than 3 %."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer samples")
    parser.add_argument("--rounds", type=int, help="samples of each variant")
    options = parser.parse_args()
    rounds = options.rounds or (7 if options.quick else 21)
    modern = sys.version_info >= (3, 12)
    status = 0
    with tempfile.TemporaryDirectory(prefix="lineprof-truth-") as name:
        folder = Path(name)
        floors.build(folder)
        for core in ("monitoring", "settrace") if modern else ("settrace",):
            for kind in kinds(folder):
                if kind.python and modern and core == "settrace":
                    continue  # a global tracer slows all Python lines: no truth there
                errors = check(folder, core, kind, rounds)
                worst = max(errors, key=lambda error: abs(error.error))
                wrong = [e for e in errors if abs(e.error) > TOLERANCE]
                print(
                    f"{'NOT REACHED' if wrong else 'reached    '}  {core:<11} "
                    f"{kind.name:<22} {len(errors) - len(wrong)} of {len(errors)} "
                    f"lines within {TOLERANCE:.0%}; worst: {worst}",
                    flush=True,
                )
                for error in wrong:
                    print(f"             {error}")
                status |= bool(wrong)
    return status


if __name__ == "__main__":
    sys.exit(main())
