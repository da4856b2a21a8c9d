#!/usr/bin/env python3
"""Overhead of profiling whole programs, without decorators: pyperformance's programs.

    python benchmarks/whole_program.py [--rounds N] [--seconds S] [NAME…]

Unchanged programs of pure Python run with a stub of `pyperf`: plainly, under
`kernprof -l`, with `--max-overhead 1.2`, and under line_profiler's `kernprof -l -p` if
installed. Figures are processor time of the program's own jobs, which includes the
discovery of functions; the minimum of all rounds, which take turns. Needs
pyperformance (`pip install --no-deps pyperformance`).
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import foreign
from harness.goals import Verdict

HERE = Path(__file__).resolve().parent
PROGRAMS = (
    *("barnes_hut", "chaos", "coroutines", "deltablue", "fannkuch", "float"),
    *("generators", "go", "hexiom", "mdp", "meteor_contest", "nbody"),
    *("nqueens", "pyflate", "raytrace", "richards", "scimark", "spectral_norm"),
)
PLAIN, OURS, BUDGET, THEIRS = "plain", "lineprof", "budget 1.2", "line_profiler"
MAX_PLAIN, MAX_BUDGET, MAX_BUDGET_OF_ONE, MIN_GAIN = 2.0, 1.22, 1.35, 5.0


def their_kernprof() -> str | None:
    """Return code that runs line_profiler's kernprof, hidden by lineprof's package.

    Run from its own folder, it would find the installed pyperf before our stub.
    """
    try:
        files = importlib.metadata.files("line_profiler") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    found = [str(file.locate()) for file in files if str(file) == "kernprof.py"]
    if not found:
        return None
    return f"import runpy; runpy.run_path({found[0]!r}, run_name='__main__')"


def commands(program: str) -> dict[str, list[str]]:
    """Return the arguments of Python for each tool, before those of the program."""
    ours = ["-m", "kernprof", "-lq", "-o", os.devnull]
    found = {PLAIN: [], OURS: ours, BUDGET: [*ours, "--max-overhead", "1.2"]}
    theirs = their_kernprof()
    if theirs:
        found[THEIRS] = ["-c", theirs, "-lq", "-o", os.devnull, "-p", program]
    return found


def seconds(words: list[str], program: str, runs: int) -> float:
    """Run a program once under a tool; return the processor time of its jobs."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "seconds"
        path = os.pathsep.join([str(HERE / "stubs"), os.environ.get("PYTHONPATH", "")])
        subprocess.run(
            [sys.executable, *words, program],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=folder,
            env={
                **os.environ,
                "PYTHONPATH": path,
                "BENCH_RUNS": str(runs),
                "BENCH_RESULT": str(result),
                "PYTHONHASHSEED": "0",
            },
        )
        return sum(map(float, result.read_text(encoding="ascii").split()))


def measure(name: str, rounds: int, min_s: float) -> dict[str, float]:
    """Return the seconds of one run of a program under each tool."""
    program = str(foreign.packages() / f"bm_{name}" / "run_benchmark.py")
    once = seconds([], program, 1)
    runs = max(1, round(min_s / once))
    tools = commands(program)
    figures: dict[str, list[float]] = {tool: [] for tool in tools}
    for turn in range(rounds):
        for tool, words in tools.items():
            if tool == THEIRS and turn:
                continue  # once is enough: it is ten times as slow
            figures[tool].append(seconds(words, program, runs) / runs)
    return {tool: min(of_tool) for tool, of_tool in figures.items()}


def row(name: str, figures: dict[str, float]) -> str:
    """Return one program's line of the report."""
    plain = figures[PLAIN]
    parts = [f"{name:<12} {plain * 1e3:9.2f} ms"]
    for tool, spent in figures.items():
        if tool != PLAIN:
            parts.append(f"{tool} {spent / plain:6.2f}x")
    if THEIRS in figures:
        parts.append(f"added time 1/{gain(figures):.1f}")
    return "   ".join(parts)


def gain(figures: dict[str, float]) -> float:
    """Return how many times as much time line_profiler adds."""
    plain = figures[PLAIN]
    return (figures[THEIRS] - plain) / max(figures[OURS] - plain, 1e-9)


def goals(found: list[dict[str, float]]) -> list[Verdict]:
    """Return the verdicts on the geometric means, and on the slowest program."""

    def slowed(tool: str) -> list[float]:
        return [one[tool] / one[PLAIN] for one in found]

    mean = statistics.geometric_mean
    budget = "with --max-overhead 1.2"
    verdicts = [
        Verdict("whole program, slow-down", mean(slowed(OURS)), MAX_PLAIN, "x"),
        Verdict(budget, mean(slowed(BUDGET)), MAX_BUDGET, "x"),
        Verdict(
            f"{budget}, slowest program", max(slowed(BUDGET)), MAX_BUDGET_OF_ONE, "x"
        ),
    ]
    if all(THEIRS in one for one in found):
        gained = statistics.median(map(gain, found))
        text = "time added by line_profiler -p, over ours, median"
        verdicts.append(Verdict(text, gained, MIN_GAIN, "x", is_maximum=False))
    return verdicts


def main() -> int:
    """Measure and print; the exit status is 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", default=PROGRAMS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0, help="of a plain run")
    parsed = parser.parse_args()
    found = []
    for name in parsed.names or PROGRAMS:
        figures = measure(name, parsed.rounds, parsed.seconds)
        found.append(figures)
        print(row(name, figures), flush=True)
    verdicts = goals(found)
    for verdict in verdicts:
        print(verdict.line())
    return 0 if all(verdict.reached for verdict in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
