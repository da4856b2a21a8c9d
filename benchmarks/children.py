"""Added time per child of a program that starts many short Python processes.

The program starts children one after the other, each of which runs a small script with
one function under @profile. Runs with and without kernprof alternate; the minimum of
each counts. The time of one child is that of the run, divided by their number.

    .venv/bin/python benchmarks/children.py --children 1000 --runs 3
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lineprof import load_stats

LIMIT_MS = 40  # added to one child

LEAF = """\
{decorator}
def f(n):
    return n

f(1)
"""
PROGRAM = """\
import subprocess, sys
for _ in range(int(sys.argv[2])):
    subprocess.run([sys.executable, sys.argv[1]], check=True)
"""


def seconds(command: list[str], folder: Path) -> float:
    """Return how long a command takes."""
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> int:
    """Print the times; return 1 if a child takes more than the limit longer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--children", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=3)
    asked = parser.parse_args()
    count = str(asked.children)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "plain.py").write_text(LEAF.format(decorator=""))
        (folder / "leaf.py").write_text(LEAF.format(decorator="@profile"))
        (folder / "program.py").write_text(PROGRAM)
        plain = [sys.executable, "program.py", "plain.py", count]
        kernprof = [sys.executable, "-m", "kernprof", "-l", "-p", ""]
        ours = [*kernprof, "program.py", "leaf.py", count]
        times: dict[str, list[float]] = {"python": [], "kernprof": []}
        for _ in range(asked.runs):
            times["python"].append(seconds(plain, folder))
            times["kernprof"].append(seconds(ours, folder))
        stats = load_stats(folder / "program.lprof")
        size = (folder / "program.lprof").stat().st_size
    calls = sum(one.calls for one in stats.functions if one.name == "f")
    if calls != asked.children or len(stats.processes) != asked.children + 1:
        print(f"{calls} calls of {asked.children} were counted")
        return 1
    for label, found in times.items():
        print(f"{label:10}{1e3 * min(found) / asked.children:8.1f} ms a child")
    added = 1e3 * (min(times["kernprof"]) - min(times["python"])) / asked.children
    print(f"added     {added:8.1f} ms a child (at most {LIMIT_MS})")
    print(f"profile   {size / 1e6:8.2f} MB, {len(stats.processes)} processes")
    return int(added > LIMIT_MS)


if __name__ == "__main__":
    sys.exit(main())
