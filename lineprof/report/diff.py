"""Views of a comparison of profiles: text and JSON.

`lineprof.comparison.compare` has the numbers. Rows are sorted by the size of their
change in self time or GPU time; changes within the noise band come last.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from lineprof.comparison.alignment import block_of, paired_files
from lineprof.comparison.compare import Comparison, Run, compare, has_calls
from lineprof.console.terminal import Terminal, box_characters_of
from lineprof.model.names import short_names
from lineprof.report.limits import limited
from lineprof.report.marks import Marks
from lineprof.report.notes import with_notes
from lineprof.report.text_grid import (
    counted,
    grid,
    in_words,
    more_rows,
    percent_of,
    time_unit_for,
)
from lineprof.source import WHOLE_FILE, Sources, sources_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lineprof.comparison.compare import (
        Change,
        CountChange,
        FunctionPair,
        LinePair,
        Times,
    )
    from lineprof.model.profile import Profile
    from lineprof.model.records import Key
    from lineprof.report.options import Options
    from lineprof.report.text_grid import TimeUnit

FORMAT = 1  # raised when a field changes its meaning or is removed

ONE_RUN = (
    "each side is one run, so there is no noise band: a small change may be chance;"
    " give three or more runs a side to see which changes are not"
)


class Difference(NamedTuple):
    """A comparison, and the profiles that it is of."""

    comparison: Comparison
    before: Sequence[Profile]
    after: Sequence[Profile]
    sources: tuple[Sequence[Sources], Sequence[Sources]]  # of each run


class Row(NamedTuple):
    """One function, or one of its lines, that changed."""

    function: FunctionPair
    line: LinePair | None  # None: the function itself
    times: Times
    size: float  # see `Times.size`
    rank: int  # 0: beyond the noise; 1: another count alone; 2: within the noise

    @property
    def numbers(self) -> tuple[int | None, int | None]:
        """The number of the line before and after; None: not there.

        For a function, it is that of its first line.
        """
        if self.line is not None:
            return self.line.before, self.line.after
        before, after = self.function.before, self.function.after
        return before and before[1], after and after[1]

    @property
    def text(self) -> str:
        """The line after or, if it was removed, before; "" for a function."""
        if self.line is None:
            return ""
        after = self.line.after_text
        return (self.line.before_text if after is None else after) or ""


def difference_of(before: Sequence[Profile], after: Sequence[Profile]) -> Difference:
    """Return the comparison of profiles before and after a change, a run each."""
    sides = [sources_of(run) for run in before], [sources_of(run) for run in after]
    return Difference(
        comparison=compare(
            [_run(*one, is_after=False) for one in zip(before, sides[0])],
            [_run(*one, is_after=True) for one in zip(after, sides[1])],
        ),
        before=before,
        after=after,
        sources=sides,
    )


def _run(profile: Profile, sources: Sources, *, is_after: bool) -> Run:
    """Return a run with the source that surely ran.

    Without a text or a hash in the profile, the disk may have another version. Files of
    the user's --source-root are then shown after a change, but nothing is matched by
    them.
    """

    def is_shown(file: str) -> bool:
        return sources.is_known(file) or (is_after and sources.is_vouched(file))

    last_lines = {
        function.key: max((cell.line for cell in function.thread_lines), default=0)
        for function in profile.functions
    }

    def block(key: Key) -> Sequence[str] | None:
        lines = sources.lines(key[0]) if sources.is_known(key[0]) else None
        if lines is None or key[2] in WHOLE_FILE:
            return lines and lines[key[1] - 1 :]
        return block_of(lines, key[1], last_lines.get(key, 0))

    return Run(
        profile=profile,
        text=lambda file: sources.lines(file) if sources.is_known(file) else None,
        block=block,
        line=lambda file, line: sources.line(file, line) if is_shown(file) else None,
    )


# Rows, in order.


def function_rows(comparison: Comparison) -> list[Row]:
    """Return the functions that changed, the greatest change first."""
    return _rows((pair, None) for pair in comparison.functions)


def line_rows(comparison: Comparison) -> list[Row]:
    """Return the lines that changed, the greatest change first."""
    return _rows((pair, line) for pair in comparison.functions for line in pair.lines)


def _rows(pairs: Iterable[tuple[FunctionPair, LinePair | None]]) -> list[Row]:
    rows = []
    for function, line in pairs:
        times = (line or function).times
        if times.changed:
            size = times.size
            rank = 1 if times.count.is_exact_change else 2
            if size and not times.is_noise:
                rank = 0
            row = Row(function=function, line=line, times=times, size=size, rank=rank)
            rows.append(row)
    return sorted(rows, key=_order)


def _order(row: Row) -> tuple[object, ...]:
    line = (row.line.after or row.line.before) if row.line else 0
    return row.rank, -row.size, row.function.key, line


def whole_ns(comparison: Comparison) -> float:
    """Return the time of all lines themselves, of the side where it is greater."""
    change = comparison.self_ns
    gpu = [pair.times.gpu_ns for pair in comparison.functions]
    return max(
        change.mean_before,
        change.mean_after,
        sum(one.mean_before for one in gpu),
        sum(one.mean_after for one in gpu),
    )


def _shown(rows: list[Row], comparison: Comparison, options: Options) -> list[Row]:
    """Return the rows that --limit and --min-percent leave."""
    return limited(rows, options, lambda row: row.size, whole_ns(comparison))


# Text.


def text(difference: Difference, options: Options) -> Iterator[str]:
    """Yield the comparison for people: a summary, functions, lines, notes."""
    lines = _text(difference, options)
    yield from with_notes(lines, notes(difference), options.terminal.width)


def _text(difference: Difference, options: Options) -> Iterator[str]:
    comparison = difference.comparison
    terminal = options.terminal
    yield from _sentences("Wall time", comparison.wall_ns, terminal)
    own = "Own time" if comparison.has_calls else "Time of functions"
    yield from _sentences(own, comparison.self_ns, terminal)
    names = Names(comparison, terminal)
    for noun, count, rows in (
        ("function", "call", function_rows(comparison)),
        ("line", "hit", line_rows(comparison)),
    ):
        yield ""
        if not rows:
            words = f"No {noun} took another time"
            if noun == "line" or comparison.knows_counts:
                words += f" or has another number of {count}s"
            yield words
            continue
        shown = _shown(rows, comparison, options)
        yield f"{_summary(rows, noun, comparison)}:"
        yield ""
        if shown:
            yield from _table(shown, comparison, names, options)
        yield from more_rows(len(rows) - len(shown))
        kept = {id(row) for row in shown}
        rest = sum(
            1 for row in rows if id(row) not in kept and row.times.count.is_exact_change
        )
        if rest:
            have = "has" if rest == 1 else "have"
            yield f"{rest} of these {have} another number of {count}s"


def _summary(rows: Sequence[Row], noun: str, comparison: Comparison) -> str:
    """Return how many functions or lines changed, in words."""
    words = f"{counted(len(rows), noun)} changed"
    quiet = sum(1 for row in rows if row.times.is_noise)
    if comparison.has_noise:
        words += f", {quiet} of them within noise"
    return words


def _sentences(title: str, change: Change | None, terminal: Terminal) -> Iterator[str]:
    """Yield the change of a time of the whole program, in words."""
    if change is None:
        yield f"{title}: not known"
        return
    words = (
        f"{title}: {in_words(change.mean_before)} before,"
        f" {in_words(change.mean_after)} after, change"
        f" {_signed_words(change.difference)}"
    )
    if change.noise is not None:
        words += f" {'±' if terminal.boxes else '+/-'} {in_words(change.noise)}"
    if change.ratio is not None:
        words += f", {change.ratio:.2f} x"
    yield words
    if change.noise is not None:
        sides = [
            f"{side} {counted(len(values), 'run')}, {in_words(min(values))} to"
            f" {in_words(max(values))}"
            for side, values in zip(("before", "after"), change)
        ]
        yield f"  {'; '.join(sides)}{'; within noise' if change.is_noise else ''}"


def _signed_words(ns: float) -> str:
    return f"{'+' if ns > 0 else ''}{in_words(ns)}"


class Names:
    """Names of functions and lines, which have one on each side."""

    def __init__(self, comparison: Comparison, terminal: Terminal) -> None:
        before = [pair.before for pair in comparison.functions if pair.before]
        after = [pair.after for pair in comparison.functions if pair.after]
        self._before, self._after = short_names(before), short_names(after)
        self._files = paired_files(
            (key[0] for key in before), (key[0] for key in after)
        )
        self._arrow = box_characters_of(terminal).arrow

    def both(self, before: str, after: str) -> str:
        """Return two texts with an arrow between them, or one if they are the same."""
        if before == after or not before or not after:
            return after or before
        return f"{before} {self._arrow} {after}"

    def function(self, row: Row) -> str:
        """Return the qualified names of a function."""
        one, other = row.function.before, row.function.after
        return self.both(one[2] if one else "", other[2] if other else "")

    def is_moved(self, row: Row) -> bool:
        """Return whether a function is in another file than before."""
        one, other = row.function.before, row.function.after
        return bool(one and other) and self._files.get(one[0]) != other[0]  # type: ignore[index]

    def place(self, row: Row) -> str:
        """Return the file and the line numbers of a line, or of a function's first."""
        one, other = row.function.before, row.function.after
        line, other_line = row.numbers
        before = self._before.line(one[0], line) if one and line else ""
        after = self._after.line(other[0], other_line) if other and other_line else ""
        if before and after and not self.is_moved(row) and other:
            file = self._after.file(other[0])
            return f"{file}:{self.both(f'{line}', f'{other_line}')}"
        return self.both(before, after)


def _table(
    rows: Sequence[Row], comparison: Comparison, names: Names, options: Options
) -> Iterator[str]:
    """Yield a row for each function, or for each line."""
    changes = [row.times.self_ns for row in rows] + [row.times.gpu_ns for row in rows]
    unit = time_unit_for(
        max(change.mean_before, change.mean_after) for change in changes
    )
    is_line = rows[0].line is not None
    titles = [*unit.titles("Before", "After", "Change")]
    titles += unit.titles("Noise") if comparison.has_noise else []
    titles += ["Ratio"]
    if comparison.has_gpu:
        titles += unit.titles("GPU Before", "GPU After", "GPU Change")
    titles += ["Hits" if is_line else "Calls"]
    notes = [note_of(row, names) for row in rows]
    words = ["Note"] if any(notes) else []
    words += ["Line", "Function", *(["Line Contents"] if is_line else [])]
    cells = []
    for row, note in zip(rows, notes):
        texts = [*_numbers(row.times.self_ns, unit, row, noise=comparison.has_noise)]
        if comparison.has_gpu:
            texts += _gpu_numbers(row.times.gpu_ns, unit)
        texts.append(_counts(row, names))
        texts += [note] if any(notes) else []
        texts += [names.place(row), names.function(row)]
        if row.line is not None:
            texts.append(row.text.strip())
        cells.append(texts)
    total = whole_ns(comparison)
    heat = [0.0 if row.rank else percent_of(row.size, total) for row in rows]
    titles += words
    # On a narrow terminal: the time before is that after, less the change.
    rare = [title for title in titles if title.startswith(("Noise", "Before"))][::-1]
    rare = ["Function", *rare, "Note"] if is_line else rare
    spare = [titles.index(title) for title in rare if title in titles]
    yield from grid(
        titles, cells, options.terminal, words=len(words), heat=heat, spare=spare
    )


def _numbers(change: Change, unit: TimeUnit, row: Row, *, noise: bool) -> Iterator[str]:
    """Yield the numbers of a change in self time."""
    yield "" if _is_added(row) else unit.text(change.mean_before)
    yield "" if _is_removed(row) else unit.text(change.mean_after)
    yield _signed(change.difference, unit)
    if noise:
        yield unit.text(change.noise or 0)
    yield "" if change.ratio is None or _is_removed(row) else f"{change.ratio:.2f}"


def _gpu_numbers(change: Change, unit: TimeUnit) -> Sequence[str]:
    if not (change.mean_before or change.mean_after):
        return "", "", ""
    return (
        unit.text(change.mean_before),
        unit.text(change.mean_after),
        _signed(change.difference, unit),
    )


def _signed(ns: float, unit: TimeUnit) -> str:
    text = unit.text(abs(ns))
    if not text.strip("0."):
        return text
    return f"{'+' if ns > 0 else '-'}{text}"


def _counts(row: Row, names: Names) -> str:
    """Return how often a function or line ran before and after.

    It is "" if a side does not know that: its other number alone would look like that
    of both.
    """
    before, after = row.times.count.known
    if before is None or after is None:
        return ""
    return names.both(
        "" if _is_added(row) else _extremes(before),
        "" if _is_removed(row) else _extremes(after),
    )


def _extremes(values: Sequence[int]) -> str:
    """Return a number, or the smallest and the greatest of several runs."""
    first, last = min(values), max(values)
    return f"{first}" if first == last else f"{first}-{last}"


def _is_added(row: Row) -> bool:
    return row.numbers[0] is None


def _is_removed(row: Row) -> bool:
    return row.numbers[1] is None


def note_of(row: Row, names: Names) -> str:
    """Return what happened to a function or a line, in a few words."""
    words = []
    if _is_added(row):
        words.append("added")
    elif _is_removed(row):
        words.append("removed")
    elif row.line is not None:
        words += ["edited"] if row.line.is_edited else []
    else:
        before, after = row.function.before, row.function.after
        words += ["renamed"] if before and after and before[2] != after[2] else []
        words += ["moved"] if names.is_moved(row) else []
    words += ["within noise"] if row.times.is_noise else []
    return ", ".join(words)


# Notes.


def notes(difference: Difference) -> Iterator[str]:
    """Yield what the comparison lacks, and the warnings of all profiles."""
    comparison = difference.comparison
    if not comparison.has_noise:
        yield ONE_RUN
    if comparison.unknown_source:
        count = len(comparison.unknown_source)
        file, line, name = min(comparison.unknown_source)
        yield (
            f"the source of {counted(count, 'function')} is not in the profiles, so"
            " that lines match by their distance from the first one:"
            f" {name} ({file}:{line}){' and others' if count > 1 else ''}"
        )
    for side, profiles, sources in zip(
        ("before", "after"), (difference.before, difference.after), difference.sources
    ):
        for number, (profile, source) in enumerate(zip(profiles, sources), 1):
            run = f"{side}, run {number}" if len(profiles) > 1 else side
            for note in _notes_of(profile, source):
                yield f"{run}: {note}"


def _notes_of(profile: Profile, sources: Sources) -> Iterator[str]:
    if profile.why_empty:
        yield profile.why_empty
    if not has_calls(profile):
        yield (
            "the profile does not say who called whom, so that all times are those of"
            " lines with what these called"
        )
    yield from Marks(profile).note()
    yield from profile.warnings
    yield from sources.remarks()


# JSON.


def as_json(difference: Difference, options: Options) -> Iterator[str]:
    """Yield the comparison as one JSON object, a function or line on each line."""
    comparison = difference.comparison
    wall = comparison.wall_ns
    head = {
        "format": FORMAT,
        "unit": "ns",
        "view": "diff",
        "runs": {"before": comparison.runs[0], "after": comparison.runs[1]},
        "has_calls": comparison.has_calls,
        "wall_ns": None if wall is None else _change(wall),
        "self_ns": _change(comparison.self_ns),
    }
    yield f"{json.dumps(head)[:-1]},"
    for name, rows in (
        ("functions", function_rows(comparison)),
        ("lines", line_rows(comparison)),
    ):
        shown = _shown(rows, comparison, options)
        yield f' "{name}": ['
        for index, row in enumerate(shown, 1):
            yield f"  {json.dumps(_row(row))}{',' if index < len(shown) else ''}"
        yield f' ], "more_{name}": {len(rows) - len(shown)},'
    yield f' "notes": {json.dumps(list(notes(difference)))}}}'


def _row(row: Row) -> dict[str, object]:
    """Return the fields of a function or line."""
    times = row.times
    fields: dict[str, object] = {
        "before": _place(row.function.before),
        "after": _place(row.function.after),
        "within_noise": times.is_noise if times.self_ns.noise is not None else None,
    }
    if row.line is not None:
        fields["before_line"], fields["after_line"] = row.line.before, row.line.after
    fields["calls" if row.line is None else "hits"] = _count(times.count)
    fields["self_ns"] = _change(times.self_ns)
    fields["total_ns" if row.line is None else "time_ns"] = _change(times.total_ns)
    fields["gpu_self_ns"] = _change(times.gpu_ns)
    if row.line is not None:
        fields["before_source"] = row.line.before_text
        fields["after_source"] = row.line.after_text
    return fields


def _place(key: Key | None) -> dict[str, object] | None:
    if key is None:
        return None
    return {"file": key[0], "function": key[2], "function_line": key[1]}


def _count(count: CountChange) -> dict[str, object]:
    """Return the change of a count, which is exact; null for what is not known."""
    change = count.known_change
    sides = [side and round(sum(side) / len(side)) for side in count.known]
    return {
        "before": sides[0],
        "after": sides[1],
        "change": round(change.difference) if change else None,
        "ratio": change.ratio if change else None,
        "before_runs": list(count.before),
        "after_runs": list(count.after),
    }


def _change(change: Change) -> dict[str, object]:
    """Return a change: its means, rounded, and the value of each run."""
    noise = change.noise
    return {
        "before": round(change.mean_before),
        "after": round(change.mean_after),
        "change": round(change.difference),
        "ratio": change.ratio,
        "noise": None if noise is None else round(noise),
        "before_runs": list(change.before),
        "after_runs": list(change.after),
    }
