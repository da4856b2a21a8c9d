"""Expected numbers of a profile's exports, printed as JSON. Times are in ns.

Runs in the environment that has lineprof: `python expected.py PROFILE`.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

from lineprof.errors import printable
from lineprof.export.stacks import call_path_shares
from lineprof.export.timeline import timeline
from lineprof.export.timeline_tracks import Span
from lineprof.line_stats import LineStats
from lineprof.model.call_graph import edges, function_totals, line_self_ns
from lineprof.model.clocks import Clock
from lineprof.model.gpu import GRAPH, KERNEL, MEMCPY, MEMSET
from lineprof.model.host_memory import total_memory

if TYPE_CHECKING:
    from collections.abc import Callable


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


Line = tuple[str, int]  # file, and line of it


class LineTimes:
    """Own time, total (ns) and the number of times that were added up, by line.

    Time counts once for a line, however often it is on the stack. The first line of a
    function stands for the function.
    """

    def __init__(self, stats: LineStats) -> None:
        self.times: dict[Line, list[int]] = {}
        self.depth = 0  # the most functions on a stack
        if stats.traces:
            self._add_slices(stats)
        else:
            self._add_stacks(stats)

    def _add(self, line: Line, own: int, total: int) -> None:
        numbers = self.times.setdefault(line, [0, 0, 0])
        numbers[0] += own
        numbers[1] += total
        numbers[2] += 1

    def _add_stacks(self, stats: LineStats) -> None:
        for path in call_path_shares(stats):
            self.depth = max(self.depth, len(path.callers) + 1)
            file, first, _ = path.function
            above = {(file, first)}
            for key, line in path.callers:
                above |= {(key[0], key[1]), (key[0], line or key[1])}
            for share in path.lines:
                leaf = file, share.line or first
                for place in {*above, leaf}:
                    self._add(place, share.ns if place == leaf else 0, share.ns)

    def _add_slices(self, stats: LineStats) -> None:
        clock = Clock(stats)
        threads: dict[int, OpenLines] = {}
        for trace in stats.traces:
            zero = clock.zero_of(trace)
            for one in trace:
                start = zero + one.start_ns
                lines = threads.setdefault(one.thread, OpenLines(self._add, start))
                lines.advance(start)
                line = one.function[0], one.line or one.function[1]
                lines.open(line, start, start + one.ns)
                self.depth = max(self.depth, len(lines.stack))
        for lines in threads.values():
            lines.advance(sys.maxsize)


class OpenLines:
    """Slices of one thread that have begun; each with its end."""

    def __init__(self, add: Callable[[Line, int, int], None], now: int) -> None:
        self.stack: list[tuple[int, Line]] = []
        self._add = add
        self._now = now
        self._open: Counter[Line] = Counter()
        self._start: dict[Line, int] = {}  # of the outermost slice of a line

    def open(self, line: Line, start: int, end: int) -> None:
        """Begin a slice, after `advance` to its start."""
        end = min(end, self.stack[-1][0]) if self.stack else end
        self.stack.append((end, line))
        if not self._open[line]:
            self._start[line] = start
        self._open[line] += 1

    def advance(self, until: int) -> None:
        """Charge the time until then to slices, and end those that end by then."""
        while self.stack:
            end, line = self.stack[-1]
            at = min(end, until)
            self._add(line, at - self._now, 0)
            self._now = at
            if end > until:
                return
            self.stack.pop()
            self._open[line] -= 1
            if not self._open[line]:
                self._add(line, 0, end - self._start[line])
        self._now = until


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
    memory = total_memory(stats.memory)
    lines = LineTimes(stats)
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
        **memory._asdict(),  # blocks and bytes
        "live_bytes": memory.live_bytes,
        "spans": spans,  # of the timeline that two of the exports show
        "arrows": arrows,
        "slices": sum(trace.count for trace in stats.traces),
        "covered_ns": covered(stats),
        "line_times": [(*line, *sums) for line, sums in lines.times.items() if line[0]],
        "depth": lines.depth,
        "left_out": sum(trace.left_out for trace in stats.traces),
    }


if __name__ == "__main__":
    json.dump(numbers(sys.argv[1]), sys.stdout)
