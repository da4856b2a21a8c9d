"""Memory of a comparison in words, and its table; `lineprof.report.diff` has the times.

Sizes are in bytes, those of lines without callees.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineprof.model.host_memory import knows_memory
from lineprof.report.columns import SOURCE_TITLE
from lineprof.report.memory_format import TITLES
from lineprof.report.text_grid import (
    counted,
    grid,
    in_bytes,
    more_rows,
    percent_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lineprof.comparison.compare import Change, Comparison
    from lineprof.model.profile import Profile
    from lineprof.report.diff import Names, Row
    from lineprof.report.options import Options

SIDES = ("Before", "After", "Change")  # titles of columns

_WORDS = {  # for the numbers of `Times.memory`, in the order of a sentence
    "peak_bytes": "peak",
    "live_bytes": "live at the end",
    "alloc_bytes": "allocated",
}

_TWICE = 2  # from here on, a change is told as a multiple

_MIN_PERCENT = 1  # a smaller change is not told


def in_proportion(change: Change) -> str:
    """Return how a size changed: ``2.1 times as much``, ``12 % less``; "" if hardly."""
    before, after = change.mean_before, change.mean_after
    if not before or not after:
        return ""
    times = after / before
    if times >= _TWICE:
        return f"{times:,.1f} times as much"
    percent = percent_of(abs(after - before), before)
    more = "more" if after > before else "less"
    return f"{percent:.0f} % {more}" if percent >= _MIN_PERCENT else ""


def _both(change: Change) -> str:
    """Return both means in words."""
    before, after = in_bytes(change.mean_before), in_bytes(change.mean_after)
    return f"{before} before, {after} after"


def clause(comparison: Comparison) -> str:
    """Return how the memory of the program changed, in words; "" within noise."""
    changes = comparison.whole.memory_beyond_noise
    return f"memory: {_sentence(changes)}" if changes else ""


def _sentence(changes: Mapping[str, Change]) -> str:
    parts = []
    for name, words in _WORDS.items():
        if name in changes:
            change = changes[name]
            proportion = "" if change.is_noise else in_proportion(change)
            more = f", {proportion}" if proportion else ""
            parts.append(f"{words} {_both(change)}{more}")
    return "; ".join(parts)


def section(
    rows: Sequence[Row], comparison: Comparison, names: Names, options: Options
) -> Iterator[str]:
    """Yield the memory of the program and a table of `rows`, if both sides know it."""
    whole = comparison.whole.memory
    if not whole:
        return
    yield ""
    if not clause(comparison):  # else it is in the verdict
        yield f"Memory: {_sentence(whole)}"
    if not rows:
        yield "No line has other memory"
        return
    have = "has" if len(rows) == 1 else "have"
    yield f"{counted(len(rows), 'line')} {have} other memory:"
    yield ""
    shown = rows[: options.limit or None]
    changed = {name for row in shown for name in row.times.memory_beyond_noise}
    numbers = [name for name in TITLES if name in changed]
    titles = [f"{TITLES[name]} {side}" for name in numbers for side in SIDES]
    words = ["Line", "Function", SOURCE_TITLE]
    cells = [
        [
            *(text for name in numbers for text in _texts(row, name)),
            *(names.place(row), names.function(row), row.text.strip()),
        ]
        for row in shown
    ]
    # A narrow terminal leaves out the function, then sizes before, then changes.
    spare = [len(titles) + words.index("Function")]
    for side in ("Before", "Change"):
        spare += [titles.index(title) for title in titles if side in title][::-1]
    yield from grid(
        [*titles, *words],
        cells,
        options.terminal,
        words=len(words),
        heat=[percent_of(row.size, whole["alloc_bytes"].most) for row in shown],
        spare=spare,
    )
    yield from more_rows(len(rows) - len(shown))


def _texts(row: Row, name: str) -> tuple[str, ...]:
    """Return both means of a size, and its change; "" for 0 and for no such line."""
    change = row.times.memory[name]
    means = zip(row.numbers, (change.mean_before, change.mean_after))
    sign = "+" if change.difference > 0 else "-"
    return (
        *("" if line is None or not size else in_bytes(size) for line, size in means),
        f"{sign}{in_bytes(abs(change.difference))}" if change.difference else "",
    )


def notes(before: Sequence[Profile], after: Sequence[Profile]) -> Iterator[str]:
    """Yield which side lacks memory, if the other one has it, and of estimates."""
    known = [[knows_memory(one.memory) for one in side] for side in (before, after)]
    if any(map(any, known)) and not all(map(all, known)):
        side = "before" if not all(known[0]) else "after"
        yield (
            f"the profile {side} does not say what lines allocated: memory is not"
            " compared"
        )
        return
    samples = [run.sample_bytes for one in (*before, *after) for run in one.memory.runs]
    if any(samples):
        yield (
            f"memory is estimated from samples, one in {in_bytes(max(samples))} on"
            " average, so that less than three standard errors is no change;"
            " --memory-sample with a smaller size, or --memory, tells smaller ones"
        )
