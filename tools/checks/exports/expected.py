"""Expected numbers of a profile's exports, printed as JSON. Times are in ns.

Runs in the environment that has lineprof: `python expected.py PROFILE`.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from lineprof.errors import printable
from lineprof.export.timeline import timeline
from lineprof.export.timeline_tracks import Span
from lineprof.line_stats import LineStats
from lineprof.model.call_graph import edges, function_totals, line_self_ns
from lineprof.model.gpu import GRAPH, KERNEL, MEMCPY, MEMSET


def shown(name: str) -> str:
    """Return a name as it is in files: text only."""
    return printable(name).encode("utf-8", "backslashreplace").decode()


def covered(stats: LineStats) -> int:
    """Return the time (ns) that slices of functions in the timeline cover."""
    total = 0
    for trace in stats.traces:
        ends: dict[int, int] = {}  # end of the outermost function of each thread
        for one in trace:
            if not one.line and one.start_ns >= ends.get(one.thread, 0):
                ends[one.thread] = one.start_ns + one.ns
                total += one.ns
    return total


def numbers(path: str) -> dict[str, object]:
    """Read a profile; return its totals and its functions."""
    stats = LineStats.from_files(path)
    own = line_self_ns(stats)
    functions: list[dict[str, Any]] = [
        {
            "file": key[0],
            "line": key[1],
            "name": shown(key[2]),
            "calls": one.calls,
            "primitive": one.primitive_calls,
            "self_ns": one.self_ns,
            "total_ns": one.total_ns,
            "lines_ns": sum(own[key].values()) if own.get(key) else one.self_ns,
        }
        for key, one in function_totals(stats).items()
    ]
    cells = [cell for function in stats.functions for cell in function.thread_lines]
    on_device = {KERNEL, MEMSET, GRAPH}
    spans = arrows = 0
    for item in timeline(stats):
        if isinstance(item, Span):
            spans += 1
            arrows += bool(item.ends)
    return {
        "functions": functions,
        "edges": len(edges(stats.calls)),
        "rounding": len(stats.calls.nodes) + len(cells),  # ns, of sums
        "self_ns": sum(one["self_ns"] for one in functions),
        "lines_ns": sum(one["lines_ns"] for one in functions),
        "hits": sum(cell.hits for cell in cells),
        "calls": sum(one["calls"] for one in functions),
        "threads": len(stats.threads),
        "gpu_ns": sum(one.ns for one in stats.gpu.sums if one.kind in on_device),
        "copy_ns": sum(one.ns for one in stats.gpu.sums if one.kind == MEMCPY),
        "spans": spans,  # of the timeline that two of the exports show
        "arrows": arrows,
        "slices": sum(trace.count for trace in stats.traces),
        "covered_ns": covered(stats),
        "left_out": sum(trace.left_out for trace in stats.traces),
    }


if __name__ == "__main__":
    json.dump(numbers(sys.argv[1]), sys.stdout)
