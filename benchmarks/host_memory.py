#!/usr/bin/env python3
"""Cost of measuring memory: time of two loops, lineprof's tables, size of a profile.

    python benchmarks/host_memory.py [--rounds 11] [--against CHECKOUT]

Loops of `programs/` run alone, under `kernprof -l`, `kernprof -l --memory` and, if they
are installed, under tracemalloc, memray and Scalene. All take turns; each ratio is that
of the loop's own processor time to another mode of the same round, and medians are
judged. lineprof's tables of live blocks are judged by what the profile says of them,
and shown beside what the process grew by. CHECKOUT: another lineprof, built in place,
beside which a program without --memory is timed.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from harness.goals import Verdict
from overhead import cpu

from lineprof import load_stats

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HERE = Path(__file__).resolve().parent
PLAIN, OURS, MEMORY, BEFORE = "alone", "kernprof -l", "kernprof -l --memory", "before"
OUT = "out.lprof"
KERNPROF = ("-m", "kernprof", "-lq", "-o", OUT)
MODES = {
    PLAIN: (),
    OURS: KERNPROF,
    MEMORY: (*KERNPROF, "--memory"),
    "tracemalloc": ("-X", "tracemalloc"),
    "memray run": ("-m", "memray", "run", "-fqo", "out.bin"),
    "memray run, all allocators": (
        *("-m", "memray", "run", "-fqo", "out.bin", "--trace-python-allocators"),
    ),
    "scalene run": ("-m", "scalene", "run", "-o", "out.json"),
}
NEWER = sys.version_info >= (3, 14)
LOOPS = {"alloc_loop.py": "300000", "array_loop.py": "5000"}
GOALS = (  # loop, mode, the one below it, maximum
    ("alloc_loop.py", MEMORY, OURS, 1.2 if NEWER else 1.15),
    ("alloc_loop.py", MEMORY, PLAIN, 1.8 if NEWER else 1.55),
    ("array_loop.py", MEMORY, OURS, 1.05),
)
UNCHANGED = 1.01  # of a program without --memory
SMALL, LARGE = 8 / 16, 64.0  # bytes beside a byte of small objects, a large block
FILE_KB = 1000.0
# Keeps blocks and prints the bytes that the process has in memory.
KEEP = """
def keep(count, size):
    return [bytes(size) for _ in range(count)]
import os, sys
count, size = map(int, sys.argv[1:])
kept = keep(count, size - sys.getsizeof(b""))
with open("/proc/self/statm") as file:
    print(int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
"""
MANY = """
def many(count):
    for _ in range(count):
        bytes(9)
many(10_000_000)
"""


class Kept(NamedTuple):
    """Blocks that a program keeps."""

    count: int
    size: int  # bytes, the object's head included

    @property
    def title(self) -> str:
        """Name in the table."""
        return f"{self.count:,} blocks of {self.size:,} B"


KEPT = (
    Kept(1_000_000, 48),
    *(Kept(100_000, size) for size in (512, 600, 20_000, 1_000_000)),
)


def run(words: Sequence[str], folder: Path, checkout: str = "") -> int:
    """Run this Python in `folder`; return the number that the program prints last."""
    environment = {**os.environ, "PYTHONHASHSEED": "0", "LINEPROF_LIVE": "off"}
    if checkout:
        environment["PYTHONPATH"] = checkout
    done = subprocess.run(
        [sys.executable, *words],
        check=True,
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
    )
    numbers = [line for line in done.stdout.splitlines() if line.isdigit()]
    return int(numbers[-1]) if numbers else 0


def installed(mode: str) -> bool:
    """Return whether a mode's profiler is there."""
    words = MODES[mode]
    return words[:1] != ("-m",) or importlib.util.find_spec(words[1]) is not None


def times(loop: str, folder: Path, rounds: int, against: str) -> dict[str, list[int]]:
    """Return the processor time of a loop in each mode, by round (ns)."""
    program = [str(HERE / "programs" / loop), LOOPS[loop]]
    modes = [mode for mode in MODES if installed(mode)] + [BEFORE] * bool(against)
    series: dict[str, list[int]] = {mode: [] for mode in modes}
    for turn in range(rounds + 1):
        for mode in modes if turn % 2 else reversed(modes):
            words = KERNPROF if mode == BEFORE else MODES[mode]
            checkout = against if mode == BEFORE else ""
            spent = run([*words, *program], folder, checkout)
            if turn:  # files and caches are warm from here on
                series[mode].append(spent)
    return series


def ratio(series: dict[str, list[int]], above: str, below: str) -> float:
    """Return the median of the paired ratios of two modes."""
    return statistics.median(a / b for a, b in zip(series[above], series[below]))


def time_verdicts(folder: Path, rounds: int, against: str) -> Iterator[Verdict]:
    """Time the loops, print a table, and judge."""
    for loop in LOOPS:
        if loop == "array_loop.py" and importlib.util.find_spec("numpy") is None:
            print(f"{loop}: left out, as there is no NumPy")
            continue
        series = times(loop, folder, rounds, against)
        print(f"{loop}: processor time over that alone, medians of {rounds} rounds")
        for mode, spent in series.items():
            least, most = (
                pick(a / b for a, b in zip(spent, series[PLAIN])) for pick in (min, max)
            )
            ms = statistics.median(spent) / 1e6
            print(
                f"  {mode:<28}{ms:8.1f} ms  x {ratio(series, mode, PLAIN):.2f}"
                f" ({least:.2f} to {most:.2f})",
                flush=True,
            )
        for wanted, above, below, bound in GOALS:
            if wanted == loop:
                title = f"{loop}: {above} over {below}"
                yield Verdict(title, ratio(series, above, below), bound, " x")
        if against:
            title = f"{loop}: {OURS} over the other checkout's"
            yield Verdict(title, ratio(series, OURS, BEFORE), UNCHANGED, " x")


def side_verdicts(folder: Path) -> Iterator[Verdict]:
    """Measure lineprof's tables of live blocks, print them, and judge."""
    program = folder / "keep.py"
    program.write_text(KEEP, encoding="utf-8")

    def measured(kept: Kept) -> tuple[int, int]:
        """Return lineprof's tables, and what the process grew by (bytes)."""
        words = [str(program), str(kept.count), str(kept.size)]
        without = run([*KERNPROF, *words], folder)
        grown = run([*MODES[MEMORY], *words], folder) - without
        (one,) = load_stats(str(folder / OUT)).memory.runs
        return one.side_bytes, grown

    base_side, base_grown = measured(Kept(1, 600))
    print(
        f"Memory of lineprof's own: {base_side / 1e6:.2f} MB with no blocks to speak of"
    )
    for kept in KEPT:
        side, grown = measured(kept)
        side -= base_side
        grown -= base_grown
        print(
            f"  {kept.title:<32}{side / kept.count:8.1f} B a block in its tables,"
            f" {grown / kept.count:8.1f} B by the size of the process"
        )
        if kept.size <= 512:
            figure, bound, unit = side / kept.count / kept.size, SMALL, " B a byte"
        else:
            figure, bound, unit = side / kept.count, LARGE, " B a block"
        yield Verdict(f"{kept.title}: tables", figure, bound, unit)


def file_verdict(folder: Path) -> Verdict:
    """Judge the size of a profile with many allocations."""
    program = folder / "many.py"
    program.write_text(MANY, encoding="utf-8")
    run([*MODES[MEMORY], str(program)], folder)
    kb = (folder / OUT).stat().st_size / 1e3
    return Verdict("10,000,000 allocations: the profile", kb, FILE_KB, " kB")


def main() -> int:
    """Measure and judge; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=11, help="default: 11")
    parser.add_argument("--against", default="", metavar="CHECKOUT")
    chosen = parser.parse_args()
    print(f"{cpu()}, {os.cpu_count()} cores · Python {platform.python_version()}")
    with tempfile.TemporaryDirectory(prefix="lineprof-memory-") as name:
        folder = Path(name)
        verdicts = [
            *time_verdicts(folder, chosen.rounds, chosen.against),
            *side_verdicts(folder),
            file_verdict(folder),
        ]
    for one in verdicts:
        print(one.line())
    return 0 if all(one.reached for one in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
