#!/usr/bin/env python3
"""Overhead of profiling: lineprof compared with baselines and other profilers.

    python benchmarks/overhead.py [--quick] [--python PY,PY…] [--json OUT]

Every figure is the median of paired runs (plain, tool, plain, tool …) in one
process, and then the median over several processes.  Needs a C compiler for the
baselines; line_profiler and coverage are compared if they are installed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import baselines, goals, report

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Figures = dict[str, dict[str, dict[str, float]]]

HERE = Path(__file__).resolve().parent


def work(folder: Path, budget_s: float, *extra: str) -> dict[str, Any]:
    """Run one worker process and return its figures."""
    command = [sys.executable, "-m", "harness.worker", "--baselines", str(folder)]
    path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [*command, "--budget", str(budget_s), *extra],
        check=True,
        stdout=subprocess.PIPE,
        cwd=folder,  # not the checkout, whose lineprof has no extension
        env={**os.environ, "PYTHONPATH": path},
    )
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def median(runs: Sequence[Figures]) -> Figures:
    """Take the median of every figure over the processes."""
    return {
        title: {
            tool: {
                key: statistics.median(run[title][tool][key] for run in runs)
                for key in figure
            }
            for tool, figure in row.items()
        }
        for title, row in runs[0].items()
    }


def measure(*, quick: bool) -> dict[str, Any]:
    """Measure this Python: with the clock that lineprof chooses, then clock_gettime."""
    processes, budget_s = (1, 0.15) if quick else (3, 0.35)
    with tempfile.TemporaryDirectory(prefix="lineprof-baselines-") as name:
        folder = Path(name)
        baselines.build(folder)
        own = [work(folder, budget_s) for _ in range(processes)]
        clock = [
            work(folder, budget_s, "--clock", "monotonic", "--only", goals.TIGHT)
            for _ in range(processes)
        ]
    return {
        "about": own[0]["about"],
        "clock_about": clock[0]["about"],
        "figures": median([run["figures"] for run in own]),
        "clock_figures": median([run["figures"] for run in clock]),
    }


def cpu() -> str:
    """Return the name of the processor."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    names = [line for line in text.splitlines() if line.startswith("model name")]
    return names[0].partition(":")[2].strip() if names else platform.machine()


def render(result: dict[str, Any]) -> Iterator[str]:
    """Yield the report on one Python."""
    about = result["about"]
    core = about.get(
        "core", "monitoring" if sys.version_info >= (3, 12) else "settrace"
    )
    yield ""
    yield (
        f"CPython {about['python']} · {cpu()}, {os.cpu_count()} cores · "
        f"{platform.system()} · {time.strftime('%Y-%m-%d')}"
    )
    if "version" in about:
        yield f"lineprof {about['version']}, clock {about['clock']}: {about['reason']}"
    yield "Slow-down, and ns added per line event of the profiled functions (medians):"
    yield from report.table(result["figures"])
    clock = result["clock_about"].get("clock", "clock_gettime")
    yield f"The same with the clock {clock}:"
    yield from report.table(result["clock_figures"])
    run = goals.Run(
        sys.version_info[:2], core, result["figures"], result["clock_figures"]
    )
    yield "Goals:"
    for verdict in goals.verdicts(run):
        yield verdict.line()


def run_under(pythons: str, arguments: argparse.Namespace) -> int:
    """Run this script under each of the named Pythons; write the JSON of all."""
    results: dict[str, Any] = {}
    status = 0
    for python in pythons.split(","):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder, "figures.json")
            command = [python, str(HERE / "overhead.py"), "--json", str(out)]
            command += ["--quick"] if arguments.quick else []
            status |= subprocess.run(command, check=False).returncode
            if out.exists():
                results[python] = json.loads(out.read_text(encoding="utf-8"))
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1), encoding="utf-8")
    return status


def main() -> int:
    """Measure and print; the exit status is 0 if the measuring worked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="under a minute, rougher")
    parser.add_argument("--python", help="interpreters to run under, with commas")
    parser.add_argument("--json", type=Path, help="also write all figures here")
    arguments = parser.parse_args()
    if arguments.python:
        return run_under(arguments.python, arguments)
    result = measure(quick=arguments.quick)
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1), encoding="utf-8")
    for line in render(result):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
