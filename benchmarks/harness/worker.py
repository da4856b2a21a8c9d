"""Worker process: measures every workload under every tool and prints JSON."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import platform
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import copies, pairs, tools

if TYPE_CHECKING:
    from types import ModuleType

    Figures = dict[str, dict[str, dict[str, float]]]


def compare(
    module: ModuleType, base: ModuleType, tool: tools.Tool, budget_s: float
) -> pairs.Pairs:
    """Pair rounds of `module` under `tool` with plain rounds of `base`."""
    expected = base.run()

    def with_tool() -> int:
        tool.start()
        try:
            return pairs.spent(module.run)
        finally:
            tool.stop()

    tool.start()
    result = module.run()
    tool.stop()
    if result != expected:
        message = f"{module.__name__} gives another result under the tool"
        raise AssertionError(message)
    return pairs.measure(lambda: pairs.spent(base.run), with_tool, budget_s=budget_s)


def measure_workload(
    workload: copies.Workload,
    loader: copies.Copies,
    options: argparse.Namespace,
) -> dict[str, dict[str, float]]:
    """Return for each tool the slow-down and the ns added per line event."""
    base = loader.load(workload)
    per_call = workload.name == "tiny_calls"
    events = base.CALLS if per_call else copies.count_events(loader.load(workload))
    figures: dict[str, dict[str, float]] = {}
    base_ns = float("inf")
    for entry in tools.entries():
        if entry.missing or (options.clock and not entry.has_clock):
            continue
        module = loader.load(workload)
        tool = entry.make(module, options.baselines)
        try:
            pair = compare(module, base, tool, options.budget)
        finally:
            tool.close()
        base_ns = min(base_ns, pair.base_ns)
        figures[entry.name] = {"ratio": pair.ratio, "pairs": pair.count}
    for figure in figures.values():
        figure["added_ns"] = (figure["ratio"] - 1) * base_ns / events
    figures["plain"] = {"ratio": 1.0, "added_ns": 0.0, "event_ns": base_ns / events}
    return figures


def describe() -> dict[str, str]:
    """Return versions, and lineprof's choice of hook and clock with its reason."""
    about = {"python": platform.python_version(), "build": platform.python_build()[0]}
    with contextlib.suppress(ImportError):
        from lineprof.recording.profiler import LineProfiler  # noqa: PLC0415 - it may be missing

        profiler: Any = LineProfiler()
        process = profiler.get_stats().processes[0]
        about.update(
            core=profiler.core,
            reason=profiler.core_reason,
            clock=process.clock,
            version=process.version,
        )
    return about


def main() -> None:
    """Measure the workloads and clock of the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--baselines", type=Path, required=True)
    parser.add_argument("--budget", type=float, required=True)
    parser.add_argument("--clock", default="")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    if options.clock:
        os.environ["LINEPROF_CLOCK"] = options.clock
    with tempfile.TemporaryDirectory(prefix="lineprof-bench-") as folder:
        loader = copies.Copies(Path(folder), itertools.count())
        figures: Figures = {
            workload.title: measure_workload(workload, loader, options)
            for workload in copies.WORKLOADS
            if options.only in workload.title
        }
    json.dump({"about": describe(), "figures": figures}, sys.stdout)


if __name__ == "__main__":
    main()
