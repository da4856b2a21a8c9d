#!/usr/bin/env python3
"""How long it takes to write, read, merge and export a large profile.

    python benchmarks/large_profile.py [--deep]

It has 2,000 functions, 100,000 lines and a call tree of 9,200 nodes; with
`--deep`, it is a chain of 50,000 functions. Processor seconds, the least of three
turns. Of the wide one, each step is bound: 2 s, in which an export is read, too.
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
    """Give the processor time of the fastest turn."""
    best = float("inf")
    for _ in range(TURNS):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best


def written(export: Export, stats: LineStats) -> int:
    """Give the size of the profile in a format."""
    return sum(map(len, export.content(stats)))


def main() -> int:
    """Print a table; 1 where a bound is missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--deep", action="store_true", help="50,000 call levels")
    options = parser.parse_args()
    sys.path.insert(0, str(HELPERS))
    from example_calls import deep, wide  # noqa: PLC0415 - a test's

    from lineprof.export import EXPORTS  # noqa: PLC0415
    from lineprof.model.call_graph import edges, function_totals, line_self_ns  # noqa: PLC0415 - says --help without
    from lineprof.storage import load, save  # noqa: PLC0415

    stats = deep(LEVELS) if options.deep else wide()
    missed = False

    def told(name: str, taken: float) -> None:
        nonlocal missed
        late = taken > BOUND and not options.deep
        missed = missed or late
        print(f"{name:24}{taken:8.2f} s{'   too long' if late else ''}", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "large.lprof"
        told("write", seconds(lambda: save(stats, file)))
        reading = seconds(lambda: load(file))
        told("read", reading)
    told("merge two", seconds(lambda: stats + stats))
    for work in (edges, function_totals, line_self_ns):
        given = stats.calls if work is edges else stats
        told(work.__name__, seconds(lambda: work(given)))  # noqa: B023
    for name, export in EXPORTS.items():
        told(f"read, {name}", reading + seconds(lambda: written(export, stats)))  # noqa: B023
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main())
