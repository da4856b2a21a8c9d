"""Views of a comparison of profiles: text and JSON.

`lineprof.comparison.compare` has the numbers. Rows are sorted by the size of their
change: of CPU time, waits or GPU time, or of self time where waits are not known.
Changes within the noise band come last, and text leaves them out.
"""

from __future__ import annotations

import json
import math
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from lineprof.comparison.alignment import block_of, paired_files
from lineprof.comparison.compare import Comparison, Run, compare, has_calls
from lineprof.console.terminal import PLAIN, Terminal, box_characters_of
from lineprof.model.names import short_names
from lineprof.model.own_waits import knows_waits
from lineprof.model.records import GIL, IO, LOCK, OTHER, SLEEP
from lineprof.report import diff_memory, gpu_memory, markdown
from lineprof.report.columns import SOURCE_TITLE
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
    "each side is one run, so a change counts only if it is greater than what runs of"
    " one program differ by; three or more runs a side tell smaller ones from chance"
)

WAITS = {  # by cause
    GIL: "waits for the GIL",
    LOCK: "waits for a lock",
    SLEEP: "waits in sleep",
    IO: "waits for I/O",
    OTHER: "waits for something else",
}

OF_TIMES = diff_memory.SIDES  # titles of columns, of each kind of time

_SIDES = ("before", "after")

_BUSY = 1.5  # times as long, by other load

_LEAST_WAIT = 0.05  # of CPU time, from which on waits are told


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
    rank: int  # 0: beyond the noise; 1: another count alone; _IN_NOISE

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
    def is_own_change(self) -> bool:
        """Whether another time than that of GPU work changed beyond the noise."""
        names = self.times.beyond_noise.keys() or self.function.hidden.keys()
        return not self.rank and bool(names - {"gpu_ns"})

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

_IN_NOISE = 2  # a rank


def function_rows(comparison: Comparison) -> list[Row]:
    """Return the functions that changed, the greatest change first."""
    return _rows((pair, None) for pair in comparison.functions)


def unchanged_row(function: FunctionPair) -> Row:
    """Return the row of a function that did not change at all."""
    return Row(
        function=function, line=None, times=function.times, size=0.0, rank=_IN_NOISE
    )


def line_rows(comparison: Comparison) -> list[Row]:
    """Return the lines that changed, the greatest change first."""
    return _rows((pair, line) for pair in comparison.functions for line in pair.lines)


def memory_rows(comparison: Comparison) -> list[Row]:
    """Return the lines whose memory changed beyond noise, the greatest change first.

    The size of a row is that change (bytes).
    """
    rows = [
        Row(
            function=function,
            line=line,
            times=line.times,
            size=max(abs(one.difference) for one in changes.values()),
            rank=0 if line.times.beyond_noise else _IN_NOISE,
        )
        for function in comparison.functions
        for line in function.lines
        if (changes := line.times.memory_beyond_noise)
    ]
    rows.sort(key=lambda row: (-row.size, row.function.key, row.numbers[1] or 0))
    return rows


def _rows(pairs: Iterable[tuple[FunctionPair, LinePair | None]]) -> list[Row]:
    rows = []
    for function, line in pairs:
        times = (line or function).times
        hidden = {} if line else function.hidden
        if times.changed or hidden:
            size = times.size
            rank = 1 if times.count.is_exact_change else _IN_NOISE
            if not times.is_noise or hidden:
                rank = 0
            if times.is_noise and hidden:
                changes = [one.times.change(name) for name, one in hidden.items()]
                size = max(abs(one.difference) for one in changes)
            row = Row(function=function, line=line, times=times, size=size, rank=rank)
            rows.append(row)
    return sorted(rows, key=_order)


def _order(row: Row) -> tuple[object, ...]:
    line = (row.line.after or row.line.before) if row.line else 0
    return row.rank, -row.size, row.function.key, line


def whole_ns(comparison: Comparison) -> float:
    """Return the time of all lines themselves, of the side where it is greater.

    Waits for a processor are no part of it, if they are known.
    """
    change = comparison.whole.own_ns
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
    yield from with_notes(lines, notes(difference), options.terminal)


def _text(difference: Difference, options: Options) -> Iterator[str]:
    comparison = difference.comparison
    names = Names(comparison, options.terminal)
    yield from _first_lines(comparison, names)
    for noun, count, every in (
        ("function", "call", function_rows(comparison)),
        ("line", "hit", line_rows(comparison)),
    ):
        rows = (
            [row for row in every if row.rank < _IN_NOISE] if options.limit else every
        )
        yield ""
        if rows:
            shown = _shown(rows, comparison, options)
            yield f"{_summary(rows, noun, count)}:"
            yield ""
            if shown:
                yield from _table(shown, comparison, names, options)
            yield from more_rows(len(rows) - len(shown))
        else:
            words = f"No {noun} took another time"
            if noun == "line" or comparison.knows_counts:
                words += f" or has another number of {count}s"
            yield words
        if len(rows) < len(every):
            less = counted(len(every) - len(rows), noun)
            if rows:
                yield ""
            yield f"{less} changed within noise; --limit 0 lists all"
    rows = memory_rows(comparison)
    yield from diff_memory.section(rows, comparison, names, options)
    peaks = gpu_memory.changed_peaks(difference.before, difference.after)
    if peaks:
        yield ""
        yield from map(gpu_memory.change_text, peaks)


def _summary(rows: Sequence[Row], noun: str, count: str) -> str:
    """Return how many functions or lines changed, in words."""
    times, counts = (sum(row.rank == rank for row in rows) for rank in (0, 1))
    words = [f"{counted(times, noun)} took another time"] if times else []
    if counts:
        have = "has" if counts == 1 else "have"
        which = f"{counts} more" if times else counted(counts, noun)
        words.append(f"{which} {have} another number of {count}s")
    if times + counts < len(rows):
        words.append(f"{len(rows) - times - counts} changed within noise")
    return ", ".join(words)


def _first_lines(comparison: Comparison, names: Names) -> Iterator[str]:
    """Yield the verdict, and the times of the program."""
    (first, *more), has_totals = _verdict(comparison, names)
    yield first
    yield from (f"{one[0].upper()}{one[1:]}" for one in more)
    if not has_totals:
        yield f"{_ALL}{_totals(comparison)}"
    wall = comparison.wall_ns
    words = f"Wall time: {_both(wall)}" if wall else "Wall time: not known"
    if comparison.ready_ns:
        words += f"; waits for a processor {_both(comparison.ready_ns, short=True)}"
    yield words
    if not comparison.is_one_run:
        name = "own_ns" if comparison.whole.cpu_ns is None else "cpu_ns"
        title = f"{title_of(name, comparison)} "
        sides: list[str] = []
        for side, values in zip(_SIDES, getattr(comparison.whole, name)[:2]):
            extremes = f"{in_words(min(values))} to {in_words(max(values))}"
            sides.append(f"{len(values)} {side}, {'' if sides else title}{extremes}")
        yield f"Runs: {'; '.join(sides)}"


def verdict(comparison: Comparison, names: Names) -> str:
    """Return how the program changed and what changed most, in words."""
    return "; ".join(_verdict(comparison, names)[0])


def _verdict(comparison: Comparison, names: Names) -> tuple[list[str], bool]:
    """Return the clauses of the verdict, and whether all times are in them.

    The memory of the program comes last, or first if no time changed.
    """
    clauses, has_totals = _verdict_of_times(comparison, names)
    memory = diff_memory.clause(comparison)
    if not memory:
        return clauses, has_totals
    if clauses[0].startswith(_NO_CHANGE):
        first = f"{memory[0].upper()}{memory[1:]}"
        return [first, *(f"{one[0].lower()}{one[1:]}" for one in clauses)], has_totals
    return [*clauses, memory], has_totals


def _verdict_of_times(comparison: Comparison, names: Names) -> tuple[list[str], bool]:
    """Return the clauses about times, and whether all times are in them.

    What changed most is a line or function whose time changed as that of the program
    did.
    """
    if comparison.unprofiled:  # times of the program are of different functions
        return ["; ".join(_of_shared(comparison, names))], True
    whole = comparison.whole.beyond_noise
    program = f"{_ALL}{_totals(comparison)}"
    tables = line_rows(comparison), function_rows(comparison)
    for row in chain(*tables):
        if not row.rank and (not whole or _sign(row.times) == _sign(comparison.whole)):
            words = f"{_place_of(row, names)}: {_sentence_of(row, comparison)}"
            return ([program, f"most at {words}"], True) if whole else ([words], False)
    if whole:
        return [f"{program}; many small changes"], True
    process = comparison.process_ns
    if process and not process.is_noise:
        words = (
            f"Outside of the profiled lines: CPU time of processes {_both(process)}"
            f"{_after_comma(in_proportion(process, 'cpu_ns'))}"
        )
        return [words], False
    for noun, count, rows in zip(("line", "function"), ("hit", "call"), tables):
        counts = [row for row in rows if row.rank < _IN_NOISE]
        if counts:
            words = f"{_NO_CHANGE} of times; {_summary(counts, noun, count)}"
            return [words], False
    return [f"{_NO_CHANGE}: {_totals(comparison)}"], True


_NO_CHANGE, _ALL = "No change", "In all: "


def _place_of(row: Row, names: Names) -> str:
    return f"{names.place(row)} {names.function(row)}".strip()


def _of_shared(comparison: Comparison, names: Names) -> Iterator[str]:
    """Yield the CPU time of the program, and what changed most of what both have."""
    process = comparison.process_ns
    if process:
        words = "" if process.is_noise else in_proportion(process, "cpu_ns")
        yield f"CPU time of processes {_both(process)}{_after_comma(words)}"
    for row in chain(line_rows(comparison), function_rows(comparison)):
        if not row.rank:
            place = _place_of(row, names)
            yield f"with callees, {place}: {_sentence_of(row, comparison)}"
            return
    yield "no change of functions that both have"


def _sign(times: Times) -> int:
    """Return 1 if the greatest change beyond noise is one to more time, else -1."""
    changes = [change.difference for change in times.beyond_noise.values()]
    return 1 if max(changes, key=abs, default=0.0) > 0 else -1


def _sentence_of(row: Row, comparison: Comparison) -> str:
    """Return the changes of a row beyond noise; of one that is new, its times."""
    for word, is_so in (("added", _is_added(row)), ("removed", _is_removed(row))):
        if is_so:
            times = [
                f"{title_of(name, comparison)} {in_words(change.most)}"
                for name, change in row.times.beyond_noise.items()
            ]
            return ", ".join([word, *times])
    return sentence(row.times, comparison)


def sentence(times: Times, comparison: Comparison) -> str:
    """Return the changes beyond noise, the greatest first."""
    changes = sorted(
        times.beyond_noise.items(), key=lambda item: -abs(item[1].difference)
    )
    return "; ".join(
        f"{title_of(name, comparison)} {_both(change)}"
        f"{_after_comma(in_proportion(change, name))}"
        for name, change in changes
    )


def _totals(comparison: Comparison) -> str:
    """Return the times of all functions, with words for those beyond noise."""
    whole = comparison.whole
    parts: list[str] = []
    names = ["cpu_ns", "wait_ns"] if whole.cpu_ns else ["own_ns"]
    for name in [*names, *(["gpu_ns"] if comparison.has_gpu else [])]:
        change = whole.change(name)
        words = f"{title_of(name, comparison)} {_both(change, short=bool(parts))}"
        if not change.is_noise:
            words += _after_comma(in_proportion(change, name))
        parts.append(words)
    return "; ".join(parts)


def title_of(name: str, comparison: Comparison) -> str:
    """Return a time of `Times.beyond_noise` in words."""
    own = "own time" if comparison.has_calls else "time of functions"
    titles = {"cpu_ns": "CPU time", "wait_ns": "waits", "own_ns": own}
    return titles.get(name) or WAITS.get(name, "GPU time")


def _both(change: Change, *, short: bool = False) -> str:
    """Return both means in words."""
    before, after = in_words(change.mean_before), in_words(change.mean_after)
    return f"{before}, {after}" if short else f"{before} before, {after} after"


def _after_comma(words: str) -> str:
    return f", {words}" if words else ""


def in_proportion(change: Change, name: str) -> str:
    """Return a time of `Times.beyond_noise` in proportion: ``3.9 times faster``.

    Below twice the time it is a share of the time before. "" if a side has no time, or
    if the share is below 0.1 %.
    """
    more, less = ("longer", "shorter") if is_wait(name) else ("slower", "faster")
    before, after = change.mean_before, change.mean_after
    small, great = sorted((before, after))
    times = great / small if small > 0 else math.inf
    if not math.isfinite(times):
        return ""
    word = more if after > before else less
    percent = percent_of(great - small, before)
    if times >= _TWICE or round(percent) >= _HUNDRED:
        digits = f"{times:.1f}".removesuffix(".0") if times < _TEN else f"{times:,.0f}"
        return f"{digits} times {word}"
    if percent < _LEAST_PERCENT:
        return ""
    return f"{percent:.{0 if percent >= 1 else 1}f} % {word}"


_TEN = 9.95  # what is 10 with one decimal

_TWICE, _HUNDRED, _LEAST_PERCENT = 2, 100, 0.1


def is_wait(name: str) -> bool:
    """Return whether a time of `Times.beyond_noise` is one of waits."""
    return name == "wait_ns" or name in WAITS


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
        return self.both(
            self._before.name(one) if one else "",
            self._after.name(other) if other else "",
        )

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
    parts = {"": "self_ns"}
    if comparison.whole.cpu_ns:
        parts = {"CPU ": "cpu_ns", "Wait ": "wait_ns"}
    if comparison.has_gpu:
        parts["GPU "] = "gpu_ns"
    shown = {
        part: [getattr(row.times, name) for row in rows] for part, name in parts.items()
    }
    most = {part: max(map(_most, changes)) for part, changes in shown.items()}
    if "Wait " in most and most["Wait "] <= _LEAST_WAIT * max(most.values()):
        del shown["Wait "]
    unit = time_unit_for(
        _most(change) for changes in shown.values() for change in changes
    )
    is_line = rows[0].line is not None
    titles = [
        title
        for part in shown
        for title in unit.titles(*(f"{part}{title}" for title in OF_TIMES))
    ]
    titles += ["Hits" if is_line else "Calls"]
    texts = {
        "Verdict": [verdict_of(row) for row in rows],
        "Note": [note_of(row, names) for row in rows],
    }
    words = [title for title, ones in texts.items() if any(ones)]
    words += ["Line", "Function", *([SOURCE_TITLE] if is_line else [])]
    cells = []
    for index, row in enumerate(rows):
        numbers = [
            text
            for part, changes in shown.items()
            for text in _numbers(changes[index], unit, row, part)
        ]
        cell = [*numbers, _counts(row, names)]
        cell += [texts[title][index] for title in words if title in texts]
        cell += [names.place(row), names.function(row)]
        cells.append([*cell, row.text.strip()] if is_line else cell)
    total = whole_ns(comparison)
    heat = [0.0 if row.rank else percent_of(row.size, total) for row in rows]
    titles += words
    # On a narrow terminal the verdict stays, and the time after.
    rare = [*(["Function"] if is_line else []), "Note"]
    for word in ("Before", "Change"):
        rare += [title for title in titles if word in title][::-1]
    rare += [title for title in titles if title.startswith("Wait ")]
    spare = [titles.index(title) for title in dict.fromkeys(rare) if title in titles]
    yield from grid(
        titles,
        cells,
        options.terminal,
        words=len(words),
        sentences=[titles.index(title) for title in words if title in texts],
        heat=heat,
        spare=spare,
    )


def _most(change: Change) -> float:
    return max(change.mean_before, change.mean_after)


def _numbers(
    change: Change, unit: TimeUnit, row: Row, part: str
) -> tuple[str, str, str]:
    """Return both means of a time, and its change."""
    if part == "GPU " and not _most(change):
        return "", "", ""
    return (
        "" if _is_added(row) else unit.text(change.mean_before),
        "" if _is_removed(row) else unit.text(change.mean_after),
        _signed(change.difference, unit),
    )


def verdict_of(row: Row) -> str:
    """Return the changes beyond noise in a few words; "" for an added or removed row.

    A CPU time has no name in it, as almost every row has one. A function whose own
    noise hides the change of a line has the number of that line.
    """
    words = [_words_of(name, one) for name, one in row.times.beyond_noise.items()]
    for name, line in (row.function.hidden if row.line is None else {}).items():
        change = line.times.change(name)
        more = "more" if change.difference > 0 else "less"
        of_line = _words_of(name, change)
        of_line = of_line or f"{in_words(abs(change.difference))} {more}"
        words.append(f"line {line.after or line.before}: {of_line}")
    return ", ".join(filter(None, words))


def _words_of(name: str, change: Change) -> str:
    proportion = in_proportion(change, name)
    if is_wait(name):
        gone = "" if change.mean_after else "gone"
        return f"{WAITS.get(name, 'waits')} {proportion or gone}".strip()
    return f"GPU {proportion}" if name == "gpu_ns" and proportion else proportion


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
    words += ["within noise"] if row.rank == _IN_NOISE else []
    return ", ".join(words)


# Notes.


def notes(difference: Difference) -> Iterator[str]:
    """Yield what the comparison lacks, and the warnings of all profiles."""
    comparison = difference.comparison
    if comparison.is_one_run:
        yield ONE_RUN
    yield from notes_of_comparison(difference)
    if comparison.unknown_source:
        count = len(comparison.unknown_source)
        file, line, name = min(comparison.unknown_source)
        yield (
            f"the source of {counted(count, 'function')} is not in the profiles, so"
            " that lines match by their distance from the first one:"
            f" {name} ({file}:{line}){' and others' if count > 1 else ''}"
        )
    yield from diff_memory.notes(difference.before, difference.after)
    for side, profiles, sources in zip(
        _SIDES, (difference.before, difference.after), difference.sources
    ):
        for number, (profile, source) in enumerate(zip(profiles, sources), 1):
            run = f"{side}, run {number}" if len(profiles) > 1 else side
            for note in _notes_of(profile, source):
                yield f"{run}: {note}"


def notes_of_comparison(difference: Difference) -> Iterator[str]:
    """Yield by what times are compared, if it is not as always."""
    comparison = difference.comparison
    if comparison.unprofiled:
        count = len(comparison.unprofiled)
        file, line, name = comparison.unprofiled[0]
        more = " and others" if count > 1 else ""
        yield (
            f"{counted(count, 'function')} of files that both sides have ran, but only"
            f" one side profiled them: {name} ({file}:{line}){more}; times are with"
            " callees, of the functions that both profiled"
        )
    if comparison.stretch >= _BUSY and _has_waits(comparison):
        yield (
            "other programs had the processors for a part of the time, so a wait for a"
            " lock, I/O or another thread counts as longer only if it is more than"
            f" {comparison.stretch:.1f} times as long"
        )
    unknown = [
        side
        for side, profiles in zip(_SIDES, (difference.before, difference.after))
        if not all(map(knows_waits, profiles))
    ]
    if unknown:
        yield (
            f"the profile {' and '.join(unknown)} does not say how long lines waited:"
            " wall times are compared, and other load on the machine is in them"
        )


def _has_waits(comparison: Comparison) -> bool:
    """Return whether waits are a part of the time that is worth a note."""
    whole = comparison.whole
    if whole.cpu_ns is None or whole.wait_ns is None:
        return False
    return _most(whole.wait_ns) > _LEAST_WAIT * _most(whole.cpu_ns)


def _notes_of(profile: Profile, sources: Sources) -> Iterator[str]:
    if profile.why_empty:
        yield profile.why_empty
    if not has_calls(profile):
        yield (
            "the profile does not say who called whom, so that all times are those of"
            " lines with what these called"
        )
    if profile.waits and all(wait.cause == OTHER for wait in profile.waits):
        yield (
            "no cause of a wait is known, so that waits for a processor, which other"
            " work had, may be among them"
        )
    yield from Marks(profile).note()
    yield from profile.warnings
    yield from sources.remarks()


# Markdown.


def as_markdown(difference: Difference, options: Options) -> Iterator[str]:
    """Yield the text as a Markdown document, whose first line a program can find."""
    lines = text(difference, options._replace(terminal=markdown.DOCUMENT))
    head = [markdown.marker("diff"), markdown.title(next(lines))]
    yield from markdown.document(chain(head, lines))


# JSON.


def as_json(difference: Difference, options: Options) -> Iterator[str]:
    """Yield the comparison as one JSON object, a function or line on each line."""
    comparison = difference.comparison
    whole, process = comparison.whole, comparison.process_ns
    peaks = gpu_memory.changed_peaks(difference.before, difference.after)
    head = {
        "format": FORMAT,
        "unit": "ns",
        "view": "diff",
        "runs": {"before": comparison.runs[0], "after": comparison.runs[1]},
        "has_calls": comparison.has_calls,
        "verdict": verdict(comparison, Names(comparison, PLAIN)),
        "wall_ns": _change(comparison.wall_ns, None),
        "process_cpu_ns": _change(process, process and process.noise),
        "self_ns": _judged(whole, "self_ns"),
        "cpu_ns": _judged(whole, "cpu_ns"),
        "wait_ns": _judged(whole, "wait_ns"),
        "ready_ns": _change(comparison.ready_ns, None),
        **_memory_fields(whole),
        **({"gpu_memory": [one._asdict() for one in peaks]} if peaks else {}),
    }
    yield f"{json.dumps(head)[:-1]},"
    tables = {"functions": function_rows(comparison), "lines": line_rows(comparison)}
    shown = {name: _shown(rows, comparison, options) for name, rows in tables.items()}
    if whole.memory:
        rows = tables["memory_lines"] = memory_rows(comparison)
        shown["memory_lines"] = rows[: options.limit or None]
    for name, rows in shown.items():
        yield f' "{name}": ['
        for index, row in enumerate(rows, 1):
            yield f"  {json.dumps(_row(row))}{',' if index < len(rows) else ''}"
        yield f' ], "more_{name}": {len(tables[name]) - len(rows)},'
    yield f' "notes": {json.dumps(list(notes(difference)))}}}'


def _row(row: Row) -> dict[str, object]:
    """Return the fields of a function or line."""
    times = row.times
    fields: dict[str, object] = {
        "before": _place(row.function.before),
        "after": _place(row.function.after),
        "within_noise": row.rank > 0,
        "verdict": verdict_of(row),
    }
    if row.line is not None:
        fields["before_line"], fields["after_line"] = row.line.before, row.line.after
    fields["calls" if row.line is None else "hits"] = _count(times.count)
    for name in ("self_ns", "cpu_ns", "wait_ns"):
        fields[name] = _judged(times, name)
    causes = [name for name in times.beyond_noise if name in WAITS]
    fields["wait_cause"] = causes[0] if len(causes) == 1 else None
    fields["total_ns" if row.line is None else "time_ns"] = _judged(times, "total_ns")
    fields["gpu_self_ns"] = _judged(times, "gpu_ns")
    fields.update(_memory_fields(times, "self_"))
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


def _memory_fields(times: Times, part: str = "") -> dict[str, object]:
    """Return the changes of memory, in bytes; {} if a run does not know it."""
    return {
        f"host_{part}{name}": _change(one, one.noise)
        for name, one in times.memory.items()
    }


def _judged(times: Times, name: str) -> dict[str, object] | None:
    return _change(getattr(times, name), times.noise(name))


def _change(change: Change | None, noise: float | None) -> dict[str, object] | None:
    """Return a change: its means, rounded, and the value of each run; None: unknown.

    `noise` is its band (ns), None if nothing is judged by it.
    """
    if change is None:
        return None
    return {
        "before": round(change.mean_before),
        "after": round(change.mean_after),
        "change": round(change.difference),
        "ratio": change.ratio,
        "noise": None if noise is None else round(noise),
        "before_runs": list(change.before),
        "after_runs": list(change.after),
    }
