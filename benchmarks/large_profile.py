#!/usr/bin/env python3
"""Time to write, read, merge and export a large profile.

    python benchmarks/large_profile.py [--deep]

The profile has 2,000 functions, 100,000 lines and a call tree of 9,200 nodes; with
`--deep`, it is a chain of 50,000 functions. Figures are seconds of processor time, the
minimum of three runs. Without `--deep`, each step may take 2 s; the time of an export
includes reading the profile.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from lineprof.export import Export
    from lineprof.line_stats import LineStats

HELPERS = Path(__file__).resolve().parent.parent / "tests" / "helpers"
BOUND = 2.0
TURNS = 3
LEVELS = 50_000


def seconds(work: Callable[[], object]) -> float:
    """Return the processor time of the fastest of several calls."""
    best = float("inf")
    for _ in range(TURNS):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def exported_size(export: Export, stats: LineStats) -> int:
    """Return the size of the exported profile."""
    return sum(map(len, export.content(stats)))


def main() -> int:
    """Print a table; the exit status is 1 if a step takes too long."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--deep", action="store_true", help="50,000 call levels")
    options = parser.parse_args()
    sys.path.insert(0, str(HELPERS))
    from example_calls import deep, wide  # noqa: PLC0415 - in tests/helpers

    from lineprof.export import EXPORTS  # noqa: PLC0415
    from lineprof.model.call_graph import edges, function_totals, line_self_ns  # noqa: PLC0415 - --help works without it
    from lineprof.storage import load, save  # noqa: PLC0415

    stats = deep(LEVELS) if options.deep else wide()
    missed = False

    def report(name: str, taken: float) -> None:
        nonlocal missed
        too_long = taken > BOUND and not options.deep
        missed = missed or too_long
        print(f"{name:24}{taken:8.2f} s{'   too long' if too_long else ''}", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "large.lprof"
        report("write", seconds(lambda: save(stats, file)))
        reading = seconds(lambda: load(file))
        report("read", reading)
    report("merge two", seconds(lambda: stats + stats))
    for work in (edges, function_totals, line_self_ns):
        given = stats.calls if work is edges else stats
        report(work.__name__, seconds(lambda: work(given)))  # noqa: B023
    for name, export in EXPORTS.items():
        report(f"read, {name}", reading + seconds(lambda: exported_size(export, stats)))  # noqa: B023
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main())
