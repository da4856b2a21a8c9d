#!/usr/bin/env python3
"""Start-up time of kernprof, and import time of lineprof.

    python benchmarks/startup.py [--quick]

Figures are processor time of whole processes that take turns, and include the start
of the interpreter. There is one budget: from the start of `kernprof -l` to the script's
first line, as a ratio to `python -m cProfile` and to line_profiler's `kernprof -l` (if
installed) in the same rounds; and `import lineprof` with profiling off, as a ratio to
the bare interpreter. The minimum of many runs is judged, because other processes only
add time; the median of the paired ratios is printed with it.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from harness import processes
from whole_program import their_kernprof

# On the reference machine either is 60 ms of processor time over the interpreter.
OVER_CPROFILE, OVER_THEIRS, IMPORT = 1.9, 0.7, 2.0
PYTHON, OURS, CPROFILE, THEIRS = "python", "kernprof -l", "cProfile", "line_profiler"


def first_line(folder: Path, rounds: int) -> dict[str, list[float]]:
    """Return each tool's processor time until a script's first line, in s."""
    script, mark = folder / "stamp.py", folder / "mark"
    script.write_text(
        "import time\nnow = time.process_time_ns()\n"
        f"with open({str(mark)!r}, 'w') as file: file.write(str(now))\n",
        encoding="utf-8",
    )
    commands = {
        PYTHON: [],
        OURS: ["-m", "kernprof", "-q", "-l", "-o", "out.lprof"],
        CPROFILE: ["-m", "cProfile", "-o", "out.prof"],
    }
    theirs = their_kernprof()
    if theirs:
        commands[THEIRS] = ["-c", theirs, "-q", "-l", "-o", "out.lprof"]
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds + 1):
        for name, words in commands.items():
            processes.seconds([*words, str(script)], folder)
            times[name].append(int(mark.read_text(encoding="utf-8")) / 1e9)
    return {name: series[1:] for name, series in times.items()}  # without the first


def verdict(title: str, ours: list[float], base: list[float], bound: float) -> bool:
    """Print one ratio and its bound; return whether it is within the bound."""
    ratio = min(ours) / min(base)
    median = statistics.median(a / b for a, b in zip(ours, base))
    kept = ratio <= bound
    word = "reached    " if kept else "NOT REACHED"
    print(f"{word}  {title:<52}{ratio:6.2f}  (goal ≤ {bound:g}; median {median:.2f})")
    return kept


def main() -> int:
    """Measure and judge; the exit status is 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    rounds = 11 if parser.parse_args().quick else 41
    imports = [
        "pass",
        "import lineprof",
        "from lineprof import profile; profile(print)",
    ]
    with tempfile.TemporaryDirectory(prefix="lineprof-startup-") as name:
        folder = Path(name)
        first = first_line(folder, rounds)
        bare, imported, decorated = processes.in_turn(
            [["-c", text] for text in imports], folder, rounds
        )
    print("Processor time until a script's first line, ms: minimum, median")
    for tool, series in first.items():
        median = statistics.median(series) * 1e3
        print(f"  {tool:<16}{min(series) * 1e3:7.1f}{median:7.1f}")
    ours = first[OURS]
    over = "kernprof -l to the first line, over"
    reached = [verdict(f"{over} cProfile", ours, first[CPROFILE], OVER_CPROFILE)]
    if THEIRS in first:
        reached.append(
            verdict(f"{over} line_profiler", ours, first[THEIRS], OVER_THEIRS)
        )
    reached += [
        verdict("import lineprof, over the bare interpreter", imported, bare, IMPORT),
        verdict("... and @profile on a function, off", decorated, bare, IMPORT),
    ]
    return 0 if all(reached) else 1


if __name__ == "__main__":
    sys.exit(main())
