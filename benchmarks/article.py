#!/usr/bin/env python3
"""A classic example of line profiling under `kernprof -l`, compared with a plain run.

    python benchmarks/article.py [--quick]

The line with the look-up must be the slowest, and the run must take at most 1.1 times
as long as the plain one, in processor time of whole processes that includes start-up
and writing the profile. Only the fastest runs of each count: the program scans a list
larger than any cache, so that other processes slow it down by more than a profiler.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
from pathlib import Path

from harness import processes

PROGRAM = Path(__file__).resolve().parent / "workloads" / "article.py"
BOUND = 1.1
LEADER = "in MILLION"
RIVAL = (
    "from line_profiler import LineProfiler; "
    "import builtins, runpy; builtins.profile = LineProfiler(); "
    f"runpy.run_path({str(PROGRAM)!r}, run_name='__main__')"
)


def leading_line(profile: Path) -> str:
    """Return the text of the line that took most time in `look_up`."""
    from lineprof import load_stats  # noqa: PLC0415 - --help works without it

    functions = load_stats(str(profile)).functions
    function = next(f for f in functions if f.name == "look_up")
    slowest = max(function.rows, key=lambda row: row.time_ns)
    return PROGRAM.read_text(encoding="utf-8").splitlines()[slowest.line - 1].strip()


def main() -> int:
    """Run and judge; the exit status is 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    rounds = 8 if parser.parse_args().quick else 24
    with tempfile.TemporaryDirectory(prefix="lineprof-article-") as name:
        folder = Path(name)
        out = folder / "article.lprof"
        commands = [
            [str(PROGRAM)],
            ["-m", "kernprof", "-q", "-l", "-o", str(out), str(PROGRAM)],
        ]
        if importlib.util.find_spec("line_profiler"):
            commands.append(["-c", RIVAL])
        times = processes.in_turn(commands, folder, rounds)
        ratio = processes.calmest(times[1]) / processes.calmest(times[0])
        leader = leading_line(out)
    leads, fast = LEADER in leader, ratio <= BOUND
    print(f"{'reached    ' if leads else 'NOT REACHED'}  slowest line: {leader}")
    print(
        f"{'reached    ' if fast else 'NOT REACHED'}  kernprof -l over the plain run: "
        f"{ratio:.3f} x (goal ≤ {BOUND} x), plain {min(times[0]):.2f} s"
    )
    if len(times) > 2:
        rival = processes.calmest(times[2]) / processes.calmest(times[0])
        print(f"             line_profiler: {rival:.3f} x")
    return 0 if leads and fast else 1


if __name__ == "__main__":
    sys.exit(main())
