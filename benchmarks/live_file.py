#!/usr/bin/env python3
"""Cost of counters in a live file, compared with private memory.

    python benchmarks/live_file.py [--rounds N]

Each round runs the same loops in two processes, one with LINEPROF_LIVE=off and one
with a live file, in turn. The figure is the median over rounds of the ratio of the
time added per line event.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

GOAL = 1.05

# Prints, for each loop, the least ns per line with the profiler, and without.
PROGRAM = """
import json, sys, time
profile_off = len(sys.argv) > 1
mark = (lambda f: f) if profile_off else profile
@mark
def tight(n):
    for i in range(n):
        a = i
@mark
def callee(x):
    return x
@mark
def calls(n):
    for i in range(n):
        callee(i)
LINES = {"tight loop": (tight, 2), "two tiny callees": (calls, 3)}
best = {}
for name, (function, lines) in LINES.items():
    times = []
    for _ in range(30):
        start = time.perf_counter_ns()
        function(50_000)
        times.append(time.perf_counter_ns() - start)
    best[name] = min(times) / 50_000 / lines
print(json.dumps(best))
"""


def run(folder: Path, live: str, *, plain: bool = False) -> dict[str, float]:
    """Run the program once; return ns per line of each loop."""
    command = [sys.executable, "-c", f"{PROGRAM}", "plain"]
    if not plain:
        program = folder / "loops.py"
        program.write_text(PROGRAM, encoding="utf-8")
        out = str(folder / "loops.lprof")
        command = [sys.executable, "-m", "kernprof", "-lq", "-o", out, str(program)]
    done = subprocess.run(
        command,
        check=True,
        stdout=subprocess.PIPE,
        cwd=folder,
        env={**os.environ, "LINEPROF_LIVE": live},
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    """Measure and print the ratio for each loop."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="pairs of runs")
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory(prefix="lineprof-live-") as name:
        folder = Path(name)
        pairs = []
        for turn in range(rounds):
            places = ["off", str(folder / "live")]
            runs = {live: run(folder, live) for live in places[:: 1 - 2 * (turn % 2)]}
            plain = run(folder, "off", plain=True)
            pairs.append((runs[places[0]], runs[places[1]], plain))
    missed = False
    for loop in pairs[0][0]:
        added = [
            (private[loop] - plain[loop], shared[loop] - plain[loop])
            for private, shared, plain in pairs
        ]
        ratio = statistics.median(shared / private for private, shared in added)
        ns = [statistics.median(one) for one in zip(*added)]
        print(
            f"{loop}: {ns[0]:.1f} ns added per line in private memory,"
            f" {ns[1]:.1f} ns in a live file, ratio {ratio:.3f}"
            f" (goal {GOAL}: {'missed' if ratio > GOAL else 'met'})"
        )
        missed |= ratio > GOAL
    sys.exit(missed)


if __name__ == "__main__":
    main()
