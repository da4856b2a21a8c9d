"""The numbers of a comparison of two sides, as columns for the scripts of its page.

All times are in nanoseconds (ns); of several runs they are means.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineprof.console.terminal import PLAIN
from lineprof.report.diff import (
    Names,
    function_rows,
    in_proportion,
    line_rows,
    note_of,
    notes,
    verdict,
    verdict_of,
)
from lineprof.report.html.page import COMPARISON, page
from lineprof.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lineprof.comparison.compare import Change, FunctionPair, LinePair, Times
    from lineprof.model.records import Key
    from lineprof.report.diff import Difference, Row

    Table = dict[str, list[object]]

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
