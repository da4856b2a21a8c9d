"""The numbers of a comparison of two sides, as columns for the scripts of its page.

All times are in nanoseconds (ns); of several runs they are means.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineprof.comparison.compare import LinePair
from lineprof.console.terminal import PLAIN
from lineprof.model.host_memory import NO_BYTES, memory_of_lines
from lineprof.model.records import NO_NODE, node_columns
from lineprof.report.diff import (
    Names,
    Row,
    function_rows,
    in_proportion,
    line_rows,
    note_of,
    notes,
    unchanged_row,
    verdict,
    verdict_of,
)
from lineprof.report.gpu_memory import changed_peaks, pool_name
from lineprof.report.html.memory import BYTES
from lineprof.report.html.page import COMPARISON, page
from lineprof.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lineprof.comparison.compare import (
        Change,
        Comparison,
        FunctionPair,
        Times,
    )
    from lineprof.model.host_memory import MemoryNumbers
    from lineprof.model.profile import Profile
    from lineprof.model.records import Key
    from lineprof.report.diff import Difference

    Table = dict[str, list[object]]
    _Lines = dict[tuple[int, int], LinePair]

_NONE = -1  # an index of nothing

_TIMES = ("total", "self", "cpu", "wait", "gpu")


def render(
    difference: Difference, before: Sequence[str], after: Sequence[str]
) -> Iterator[str]:
    """Yield the page of a comparison in lines of HTML.

    `before` and `after` are the names of the profiles.
    """
    title = f"{', '.join(before)} and {', '.join(after)}"
    yield from page(title, _data(difference, title, before, after), COMPARISON)


def _data(
    difference: Difference, title: str, before: Sequence[str], after: Sequence[str]
) -> dict[str, object]:
    comparison = difference.comparison
    names = Names(comparison, PLAIN._replace(boxes=True))
    functions = function_rows(comparison)
    lines = line_rows(comparison)
    # Every function of which a line changed has a source to show.
    pairs = list(dict.fromkeys(row.function.key for row in (*functions, *lines)))
    index = {key: number for number, key in enumerate(pairs)}
    by_key = {pair.key: pair for pair in comparison.functions}
    memory = _memory(difference, index, names)
    return {
        "title": title,
        "version": VERSION,
        "before": [*before],
        "after": [*after],
        "runs": [*comparison.runs],
        "hasGpu": comparison.has_gpu,
        "hasCalls": comparison.has_calls,
        "hasWaits": comparison.whole.cpu_ns is not None,
        "verdict": verdict(comparison, names),
        "wall": _change(comparison.wall_ns, "own_ns"),
        "own": _change(comparison.whole.own_ns, "own_ns"),
        "cpu": _change(comparison.whole.cpu_ns, "cpu_ns"),
        "wait": _change(comparison.whole.wait_ns, "wait_ns"),
        "ready": _change(comparison.ready_ns, "wait_ns"),
        "functions": _table(functions, index, names),
        "lines": _table(lines, index, names),
        "sources": [_source(by_key[key]) for key in pairs],
        "flame": _flame(difference, index, names) if comparison.has_calls else None,
        **({"memory": memory} if memory else {}),
        "gpuMemory": [
            (pool_name(one.device, one.pool), round(one.before), round(one.after))
            for one in changed_peaks(difference.before, difference.after)
        ],
        "notes": [*notes(difference)],
    }


def _table(rows: Sequence[Row], index: Mapping[Key, int], names: Names) -> Table:
    """Return rows as columns, those of numbers with a 0 or a 1 for before and after.

    Counts are None (null) for a side that does not know them.
    """
    table: Table = {
        "source": [index[row.function.key] for row in rows],
        "name": [names.function(row) for row in rows],
        "place": [names.place(row) for row in rows],
        "verdict": [verdict_of(row) for row in rows],
        "note": [note_of(row, names) for row in rows],
        "rank": [row.rank for row in rows],
        "before": [row.numbers[0] or 0 for row in rows],
        "after": [row.numbers[1] or 0 for row in rows],
        "text": [row.text for row in rows],
    }
    for name in _TIMES:
        changes = [row.times.change(f"{name}_ns") for row in rows]
        table[f"{name}0"] = [round(one.mean_before) for one in changes]
        table[f"{name}1"] = [round(one.mean_after) for one in changes]
        bands = [row.times.noise(f"{name}_ns") for row in rows]
        table[f"{name}Noise"] = [band and round(band) for band in bands]
    for side in (0, 1):
        counts = [row.times.count.known[side] for row in rows]
        table[f"low{side}"] = [one and min(one) for one in counts]
        table[f"high{side}"] = [one and max(one) for one in counts]
    return table


def _source(pair: FunctionPair) -> dict[str, object]:
    """Return the lines of a function side by side, in the order of the text after."""
    lines = _side_by_side(pair.lines)
    return {
        "paths": [key and key[0] for key in (pair.before, pair.after)],
        "before": [line.before or 0 for line in lines],
        "after": [line.after or 0 for line in lines],
        "text0": [line.before_text or "" for line in lines],
        "text1": [line.after_text or "" for line in lines],
        **{
            f"{name}{side}": [round(_means(line.times, name)[side]) for line in lines]
            for name in ("self", "cpu", "wait", "gpu")
            for side in (0, 1)
        },
        **{f"hits{side}": [_most(line, side) for line in lines] for side in (0, 1)},
        "noise": [int(line.times.is_noise) for line in lines],
    }


def _side_by_side(pairs: Sequence[LinePair]) -> list[LinePair]:
    """Return lines in the order of the text after.

    A line that was removed is behind all lines that were above it.
    """
    places: dict[int, float] = {}  # of lines before, if removed, by number
    last = 0
    both = [line for line in pairs if line.before is not None]
    for line in sorted(both, key=lambda line: line.before or 0):
        # In several runs, lines that were removed and lines that were not can have the
        # same number: the latter are no reason to move the former.
        if line.after is None:
            places[line.before or 0] = last + 0.5
        else:
            last = max(last, line.after)

    def place(line: LinePair) -> float:
        return places[line.before or 0] if line.after is None else line.after

    return sorted(pairs, key=place)


def _most(line: LinePair, side: int) -> int:
    """Return the greatest number of hits of the runs of a side."""
    return max(line.times.count.known[side] or (0,))  # hits are always known


# Call paths of both sides.


def _flame(
    difference: Difference, index: Mapping[Key, int], names: Names
) -> dict[str, object]:
    """Return the call paths of both sides as one tree, with its functions and lines.

    Paths are the same if their functions and the lines of their calls match.
    """
    comparison = difference.comparison
    paths = _PathPairs(comparison.functions)
    for side, profiles in enumerate((difference.before, difference.after)):
        for run, profile in enumerate(profiles):
            paths.add(side, run, profile)
    return {
        "paths": paths.table(comparison.runs),
        "functions": _changes_of_functions(comparison, index, names),
        "lines": paths.lines(),
    }


def _changes_of_functions(
    comparison: Comparison, index: Mapping[Key, int], names: Names
) -> Table:
    """Return all functions with their own times, and whether these changed.

    Those changed whose own time did beyond the noise, as in the table of functions.
    """
    changed = {id(row.function): row for row in function_rows(comparison)}
    rows = [
        changed.get(id(pair)) or unchanged_row(pair) for pair in comparison.functions
    ]
    own = [row.times.own_ns for row in rows]
    return {
        "name": [names.function(row) for row in rows],
        "place": [names.place(row) for row in rows],
        "source": [index.get(row.function.key, _NONE) for row in rows],
        "before": [round(one.mean_before) for one in own],
        "after": [round(one.mean_after) for one in own],
        "verdict": [verdict_of(row) for row in rows],
        "note": [note_of(row, names) for row in rows],
        "changed": [int(row.is_own_change) for row in rows],
    }


class _PathPairs:
    """Call paths that match on both sides, with their calls and own times."""

    def __init__(self, pairs: Sequence[FunctionPair]) -> None:
        self._pairs = pairs
        # Pairs of lines of both sides, by the number of the function and of the line.
        self._known: tuple[_Lines, _Lines] = ({}, {})
        for number, pair in enumerate(pairs):
            for line in pair.lines:
                for known, end in zip(self._known, (line.before, line.after)):
                    if end is not None:
                        known.setdefault((number, end), line)
        # By the path of the caller, the line of the call, and the function.
        self._paths: dict[tuple[int, int, int], int] = {}
        self._numbers: list[list[int]] = []  # of each path: calls and ns, of both sides
        # Pairs of lines: numbers count from 1, as 0 stands for no line.
        self._lines: dict[tuple[int, int | None, int | None], int] = {}
        self._texts: list[tuple[str, ...]] = []

    def add(self, side: int, run: int, profile: Profile) -> None:
        """Add the call tree of one run."""
        functions = {
            pair.members[side][run].key: number
            for number, pair in enumerate(self._pairs)
            if run in pair.members[side]
        }
        nodes = node_columns(profile.calls.nodes)
        numbers = [functions.get(key, _NONE) for key in nodes.functions]
        known: dict[tuple[int, int], int] = {}  # lines of this run
        at: list[int] = []  # the path of each node
        called: list[int] = []  # the function of each node
        names = ("parent", "line", "function", "calls", "self_ns")
        for parent, line, function, calls, ns in zip(*map(nodes.column, names)):
            above, place = _NONE, 0
            if parent != NO_NODE:
                above, caller = at[parent], called[parent]
                if line and caller != _NONE:
                    if (caller, line) not in known:
                        known[caller, line] = self.line(side, run, caller, line)
                    place = known[caller, line]
            called.append(numbers[function])
            key = (above, place, called[-1])
            path = self._paths.setdefault(key, len(self._paths))
            at.append(path)
            if path == len(self._numbers):
                self._numbers.append([0, 0, 0, 0])
            row = self._numbers[path]
            row[side] += calls
            row[2 + side] += ns

    def line(self, side: int, run: int, caller: int, line: int) -> int:
        """Return the number of the pair of lines that a line of a run is in."""
        same = self._pairs[caller].members[side][run].lines.other(line)
        pair = None if same is None else self._known[side].get((caller, same))
        alone = (None, line) if side else (line, None)
        ends = alone if pair is None else (pair.before, pair.after)
        key = (caller, *ends)
        if key not in self._lines:
            self._lines[key] = len(self._lines) + 1
            texts = (pair.before_text, pair.after_text) if pair else ("", "")
            self._texts.append(tuple([(text or "").strip() for text in texts]))
        return self._lines[key]

    def table(self, runs: Sequence[int]) -> Table:
        """Return the paths as columns; numbers of several runs are means.

        Times are without waits for a processor, as far as these are known: a function's
        waits are shared out over its paths in proportion to its time.
        """
        functions = [function for _, _, function in self._paths]
        table: Table = {
            "parent": [parent for parent, _, _ in self._paths],
            "line": [line for _, line, _ in self._paths],
            "function": [*functions],
        }
        for side in (0, 1):
            shares = [_busy_share(pair.times, side) for pair in self._pairs]
            shares.append(1.0)  # of what is in no pair, whose number is -1
            # What only some runs called has one call at least.
            calls = [-(-row[side] // runs[side]) for row in self._numbers]
            table[f"calls{side}"] = [*calls]
            table[f"self{side}"] = [
                round(row[2 + side] / runs[side] * shares[function])
                for row, function in zip(self._numbers, functions)
            ]
        return table

    def rows(self) -> list[Row]:
        """Return the pairs of lines, in the order of their numbers."""
        rows = []
        for (number, before, after), texts in zip(self._lines, self._texts):
            pair = self._pairs[number]
            line = LinePair(before, after, texts[0], texts[1], pair.times)
            rows.append(Row(pair, line, pair.times, size=0.0, rank=0))
        return rows

    def lines(self) -> Table:
        """Return the lines that call: their numbers and texts on both sides.

        The text before is "" if it is the same.
        """
        return {
            "before": [before or 0 for _, before, _ in self._lines],
            "after": [after or 0 for _, _, after in self._lines],
            "text0": [one if one != other else "" for one, other in self._texts],
            "text1": [other for _, other in self._texts],
        }


# Memory of both sides.


def _memory(
    difference: Difference, index: Mapping[Key, int], names: Names
) -> dict[str, object] | None:
    """Return the bytes of lines; None unless all profiles have memory.

    Names of columns end in Own if callees are left out, and in 0 or 1 for before and
    after. Numbers of several runs are means.
    """
    sides = (difference.before, difference.after)
    if not all(one.memory.sums for side in sides for one in side):
        return None
    paths = _PathPairs(difference.comparison.functions)
    # By the number of a pair of lines, whether it is alone, and the side.
    sums: dict[tuple[int, bool, int], MemoryNumbers] = {}
    for side, profiles in enumerate(sides):
        for run, profile in enumerate(profiles):
            for alone in (False, True):
                by_function = memory_of_lines(profile.memory, alone=alone)
                for number, pair in enumerate(difference.comparison.functions):
                    member = pair.members[side].get(run)
                    found = by_function.get(member.key, {}) if member else {}
                    for line, numbers in found.items():
                        key = (paths.line(side, run, number, line), alone, side)
                        sums[key] = numbers.plus(sums.get(key, NO_BYTES))
    rows = paths.rows()
    table: Table = {
        "source": [index.get(row.function.key, _NONE) for row in rows],
        "name": [names.function(row) for row in rows],
        "place": [names.place(row) for row in rows],
        "before": [row.numbers[0] or 0 for row in rows],
        "after": [row.numbers[1] or 0 for row in rows],
        "text": [row.text for row in rows],
    }
    for name, field in BYTES.items():
        for ending, alone in (("", False), ("Own", True)):
            for side, profiles in enumerate(sides):
                table[f"{name}{ending}{side}"] = [
                    round(
                        getattr(sums.get((number, alone, side), NO_BYTES), field)
                        / len(profiles)
                    )
                    for number in range(1, len(rows) + 1)
                ]
    peaks = [
        sum(run.peak_bytes for one in side for run in one.memory.runs) / len(side)
        for side in sides
    ]
    return {"peaks": [*map(round, peaks)], "lines": table}


def _busy_share(times: Times, side: int) -> float:
    """Return the share of own time that is no wait for a processor."""
    self_ns, own_ns = _means(times, "self")[side], _means(times, "own")[side]
    return own_ns / self_ns if self_ns else 1.0


def _means(times: Times, name: str) -> tuple[float, float]:
    change = times.change(f"{name}_ns")
    return change.mean_before, change.mean_after


def _change(change: Change | None, name: str) -> dict[str, object] | None:
    """Return a change of a time, which `in_proportion` knows by its name."""
    return change and {
        "before": round(change.mean_before),
        "after": round(change.mean_after),
        "noise": round(change.noise),
        "ratio": change.ratio,
        "words": in_proportion(change, name),
        "within": change.is_noise,
    }
