"""Budgets and baselines: which hold in a profile, and messages for editors and CI.

A value that the profile does not know, and a function or line that is not in it, never
pass silently.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, NamedTuple

from lineprof.comparison.compare import Change, has_calls, wall_ns
from lineprof.errors import LineprofError, printable
from lineprof.model.budgets import (
    COUNT,
    FUNCTION,
    GPU_MEMORY,
    HOST_MEMORY,
    LIMITS,
    LINE,
    PROGRAM,
    SHARE,
    SIZE,
    TIME,
    Limit,
)
from lineprof.model.call_graph import function_totals, line_self_ns, uncounted
from lineprof.model.gpu import (
    GpuNumbers,
    numbers_of_functions,
    numbers_of_lines,
    totals,
)
from lineprof.model.gpu_memory import largest_peak
from lineprof.model.host_memory import (
    NO_BYTES,
    knows_memory,
    largest_run,
    memory_of_functions,
    memory_of_lines,
    total_memory,
)
from lineprof.report import diff_memory, markdown
from lineprof.report.diff import WAITS, in_proportion, is_wait, title_of, whole_ns
from lineprof.report.gpu_memory import pool_name
from lineprof.report.lookup import Finder
from lineprof.report.marks import Marks
from lineprof.report.sarif import (
    ERROR,
    GITHUB_ROOT,
    GITLAB_ROOT,
    WARNING,
    Message,
    Place,
    Result,
    Rule,
    fingerprints,
    log,
    path_of,
    source_root,
)
from lineprof.report.text_grid import counted, grid, in_bytes, in_words
from lineprof.source import sources_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from fractions import Fraction

    from lineprof.comparison.compare import Comparison, FunctionPair
    from lineprof.model.budgets import Budget, Budgets
    from lineprof.model.host_memory import MemoryNumbers
    from lineprof.model.profile import Profile
    from lineprof.model.records import Key, LineTotals
    from lineprof.report.gpu_memory import ChangedPeak
    from lineprof.source import Sources

    # Each value as a numerator and a denominator, None if the profile lacks it.
    Values = Mapping[str, tuple[int, int] | None]

FORMAT = 1  # of --format json; raised when a field changes its meaning or is removed

HOLDS, EXCEEDED, UNKNOWN = "holds", "exceeded", "unknown"

_TITLES = {  # of keys that do not tell
    "wall": "wall time",
    "cpu": "processor time",
    "self": "self time",
    "gpu": "GPU time",
    "gpu_self": "GPU self time",
    "max_host_alloc": "memory allocated",
    "max_host_live": "memory live at the end",
    "max_host_peak": "memory at the peak",
    "max_gpu_alloc": "GPU memory allocated",
    "max_gpu_live": "GPU memory live at the end",
    "max_gpu_peak": "GPU memory at the peak",
}


class Outcome(NamedTuple):
    """One limit of a budget, compared with a profile."""

    status: str  # HOLDS, EXCEEDED or UNKNOWN
    file: str  # source, or the file of the budget
    line: int
    name: str  # of the function; "" for the program
    key: str  # as in the file of the budget; of a baseline "slowdown", or "waits"
    message: str
    value: float | None = None  # ns, %, bytes or a number; None: unknown
    limit: float | None = None
    budget_file: str = ""  # "": a baseline
    budget_line: int = 0


_SLOWDOWN, _WAITS, _GROWTH = "slowdown", "waits", "memory"  # keys of a baseline

_OF_BASELINE = {  # titles of their rules, what they are about, and how it changed
    _SLOWDOWN: (
        "Slower than the baseline",
        "The CPU time, or GPU time, of the program or of a function is longer",
    ),
    _WAITS: (
        "Longer waits than in the baseline",
        "The time of waits of the program or of a function is longer",
    ),
    _GROWTH: (
        "More memory than the baseline",
        "The memory of the program or of a function is more",
    ),
}

# Budgets.


class _Place(NamedTuple):
    """The program, a function or a line whose values have limits."""

    file: str
    line: int
    name: str  # of the function; "" for the program
    values: Values
    before: str = ""  # of messages
    how_often: str = ""  # it ran, in words; "": unknown
    span: str = ""  # the part of the run that is known, in words; "": all of it
    is_estimate: bool = False  # its memory

    def outcome(self, limit: Limit) -> Outcome:
        """Return the outcome of a limit that holds at this place."""
        return Outcome(
            status=HOLDS,
            file=self.file,
            line=self.line,
            name=self.name,
            key=limit.key,
            message="",
            limit=float(limit.value),
        )


def outcomes(
    runs: Sequence[Profile], profile: Profile, sources: Sources, budgets: Budgets
) -> Iterator[Outcome]:
    """Yield an outcome for each limit of each budget, in the order of the file.

    `profile` is the sum of the runs, at least one, whose means have the limits.
    """
    checker = _Checker(runs, profile, sources, budgets.file)
    for budget in budgets.budgets:
        yield from checker.outcomes(budget)


class _Checker:
    """Lookup of the values of one profile, or the means of several runs."""

    def __init__(
        self, runs: Sequence[Profile], profile: Profile, sources: Sources, file: str
    ) -> None:
        self._runs = len(runs)
        self._profile = profile
        self._sources = sources
        self._file = file
        self._totals = function_totals(profile)
        self._finder = Finder(self._totals)
        self._functions = {function.key: function for function in profile.functions}
        self._whole_ns = sum(one.self_ns for one in self._totals.values())
        self._marks = Marks(profile)
        self._wall_ns = _known_sum(map(wall_ns, runs))
        self._uncounted = frozenset().union(*map(uncounted, runs))
        gpu = profile.gpu
        self._has_gpu = all(map(has_gpu, runs))
        self._gpu = numbers_of_functions(gpu) if gpu.sums else {}
        self._gpu_lines = numbers_of_lines(gpu) if gpu.sums else {}
        self._peaks = [largest_run(one.memory) for one in runs]
        self._gpu_peaks = [largest_peak(one.gpu.memory) for one in runs]
        self._has_gpu_memory = all(one.gpu.memory.is_known for one in runs)
        self._has_memory = all(knows_memory(one.memory) for one in runs)
        self._memory = memory_of_functions(profile.memory)
        self._memory_lines = memory_of_lines(profile.memory)
        self._is_estimate = profile.memory.is_estimate
        self._has_calls = all(map(has_calls, runs))
        self._self_ns = line_self_ns(profile) if self._has_calls else {}

    def outcomes(self, budget: Budget) -> Iterator[Outcome]:
        """Yield the outcomes of one budget."""
        places_of = {
            PROGRAM: self._program,
            FUNCTION: self._of_functions,
            LINE: self._of_lines,
        }
        try:
            places = list(places_of[budget.what](budget))
        except LineprofError as error:
            if not budget.optional:
                yield from self._missing(budget, error)
            return
        for limit in budget.limits:
            for place in places:
                found = _compared(limit, place, self._runs)
                yield found._replace(budget_file=self._file, budget_line=budget.line)

    def _missing(self, budget: Budget, error: LineprofError) -> Iterator[Outcome]:
        """Yield that a budget has nothing in the profile to be compared with."""
        hint = "correct its name, profile it, or write optional = true"
        if error.hint.startswith("did you mean"):
            hint = f"{error.hint} {hint.capitalize()}"
        place = _Place(self._file, budget.line, budget.name, values={})
        for limit in budget.limits:
            yield place.outcome(limit)._replace(
                status=UNKNOWN,
                budget_file=self._file,
                budget_line=budget.line,
                message=f"{budget.place}: {limit.key} = {limit.text} cannot be checked:"
                f" {error.message}; {hint}",
            )

    def _program(self, budget: Budget) -> Iterator[_Place]:
        """Yield the program."""
        gpu = totals(self._profile.gpu)
        values = {
            "wall": self._mean(self._wall_ns),
            "cpu": self._mean(
                _known_sum(one.cpu_ns for one in self._profile.processes)
            ),
            "time": self._mean(self._whole_ns),
            "gpu": self._mean(gpu.gpu_ns if self._has_gpu else None),
            # The peaks of several processes need not have been at one moment.
            **self._gpu_sizes(gpu._replace(peak_bytes=sum(self._gpu_peaks))),
            **self._sizes(
                total_memory(self._profile.memory)._replace(
                    peak_bytes=sum(one.peak_bytes for one in self._peaks if one)
                )
            ),
        }
        estimate = self._is_estimate
        yield _Place(self._file, budget.line, "", values, is_estimate=estimate)

    def _of_functions(self, budget: Budget) -> Iterator[_Place]:
        """Yield each selected function; LineprofError if there is none."""
        found = self._finder.functions(budget.name, self._sources)
        ran = [key for key in found if self._has_run(key)]
        if not ran:
            raise LineprofError(f"{budget.name} was never called in this profile")
        for key in ran:
            one = self._totals[key]
            is_counted = key not in self._uncounted
            calls = one.calls if is_counted else 0
            self_ns = one.self_ns if self._has_calls else None
            values = {
                "per_call": one.per_call if is_counted else None,
                "calls": self._mean(calls or None),
                **self._values(one.total_ns, self_ns, self._gpu.get(key)),
                **self._sizes(self._memory.get(key, NO_BYTES)),
            }
            yield _Place(
                file=key[0] or self._file,
                line=key[1] if key[0] else budget.line,
                name=key[2],
                values=values,
                before=f"{key[2]}: ",
                how_often=counted_in_words(calls, "call", self._runs) if calls else "",
                span=self._marks.span(key),
                is_estimate=self._is_estimate,
            )

    def _has_run(self, key: Key) -> bool:
        function = self._functions.get(key)
        one = self._totals[key]
        return bool(one.calls or one.total_ns or (function and function.thread_lines))

    def _of_lines(self, budget: Budget) -> Iterator[_Place]:
        """Yield each selected line; LineprofError if there is none."""
        rows = self._lines_by_text if budget.text else self._lines_at
        for key, row in rows(budget):
            gpu = self._gpu_lines.get(key, {}).get(row.line)
            self_ns = self._self_ns.get(key, {}).get(row.line)
            values = {
                "per_hit": _ratio(row.time_ns, row.hits),
                "hits": self._mean(row.hits),
                **self._values(row.time_ns, self_ns, gpu),
                **self._sizes(self._memory_lines.get(key, {}).get(row.line, NO_BYTES)),
            }
            yield _Place(
                file=key[0],
                line=row.line,
                name=key[2],
                values=values,
                how_often=counted_in_words(row.hits, "hit", self._runs),
                span=self._marks.span(key),
                is_estimate=self._is_estimate,
            )

    def _lines_at(self, budget: Budget) -> list[tuple[Key, LineTotals]]:
        """Return the measured lines with the number that a budget names."""
        place = self._finder.place(budget.name)
        if place is None:
            raise LineprofError(f"{budget.name} names no line")
        file, line = place
        found = self._measured(file, lambda row: row.line == line)
        if not found:
            text = (self._sources.line(file, line) or "").strip()
            shown = f" ({text})" if text else ""
            raise LineprofError(f"line {budget.name}{shown} did not run")
        return found

    def _lines_by_text(self, budget: Budget) -> list[tuple[Key, LineTotals]]:
        """Return the measured lines whose source has the text of a budget."""
        place = self._finder.place(f"{budget.name}:1")
        file = place[0] if place else ""
        if not self._sources.lines(file):
            raise LineprofError(f"the source of {budget.name} is not known")

        def text(row: LineTotals) -> str:
            return (self._sources.line(file, row.line) or "").strip()

        found = self._measured(file, lambda row: text(row) == budget.text)
        found = found or self._measured(file, lambda row: budget.text in text(row))
        if not found:
            raise LineprofError(
                f"no line of {budget.name} that ran has the text {budget.text!r}"
            )
        return found

    def _measured(
        self, file: str, is_chosen: Callable[[LineTotals], bool]
    ) -> list[tuple[Key, LineTotals]]:
        return [
            (function.key, row)
            for function in self._profile.functions
            if function.file == file
            for row in function.rows
            if is_chosen(row)
        ]

    def _values(self, ns: int, self_ns: int | None, gpu: GpuNumbers | None) -> Values:
        """Return the values that functions and lines have."""
        gpu_ns, gpu_self_ns = (gpu.gpu_ns, gpu.self_ns) if gpu else (0, 0)
        return {
            "time": self._mean(ns),
            "self": self._mean(self_ns),
            "share": _ratio(100 * ns, self._whole_ns),
            "gpu": self._mean(gpu_ns if self._has_gpu else None),
            "gpu_self": self._mean(gpu_self_ns if self._has_gpu else None),
            **self._gpu_sizes(gpu or GpuNumbers()),
        }

    def _sizes(self, numbers: MemoryNumbers) -> Values:
        """Return the values of host memory (bytes)."""
        sizes = (numbers.alloc_bytes, numbers.live_bytes, numbers.peak_bytes)
        return {
            key: self._mean(size if self._has_memory else None)
            for key, size in zip(HOST_MEMORY, sizes)
        }

    def _gpu_sizes(self, numbers: GpuNumbers) -> Values:
        """Return the values of memory of devices (bytes)."""
        sizes = (numbers.alloc_bytes, numbers.live_bytes, numbers.peak_bytes)
        return {
            key: self._mean(size if self._has_gpu_memory else None)
            for key, size in zip(GPU_MEMORY, sizes)
        }

    def _mean(self, total: int | None) -> tuple[int, int] | None:
        return None if total is None else (total, self._runs)


def _known_sum(values: Iterable[int | None]) -> int | None:
    """Return a sum; None if a value is not known, or if there is none."""
    every = list(values)
    known = [value for value in every if value is not None]
    return sum(known) if known and len(known) == len(every) else None


def has_gpu(profile: Profile) -> bool:
    """Return whether GPU work was recorded, or would have been."""
    gpu = profile.gpu
    return bool(gpu.sums) or any(run.backend == "cupti" for run in gpu.runs)


def _ratio(number: int, count: int) -> tuple[int, int] | None:
    return (number, count) if count else None


def counted_in_words(number: int, noun: str, runs: int = 1) -> str:
    """Return a number of things with commas, the mean of runs: ``1,000 hits``."""
    return f"{_mean_text(number, runs)} {noun}{'' if number == runs else 's'}"


def _mean_text(number: int, runs: int) -> str:
    """Return the mean of a number, with up to three decimals."""
    whole, rest = divmod(number, runs)
    return f"{number / runs:,.3f}".rstrip("0").rstrip(".") if rest else f"{whole:,}"


def _compared(limit: Limit, place: _Place, runs: int) -> Outcome:
    """Return the outcome of a limit for one place."""
    before = place.before
    outcome = place.outcome(limit)
    value = place.values[limit.key]
    if value is None:
        return outcome._replace(
            status=UNKNOWN,
            message=f"{before}the profile does not know {_title(limit.key)}, whose"
            f" budget is {limit.text}; {_remedy(limit)}",
        )
    number, by = value
    outcome = outcome._replace(value=number / by)
    if number <= limit.value * by:
        if not place.span:
            return outcome
        return outcome._replace(  # the rest of the run is unknown
            status=UNKNOWN,
            message=f"{before}{_title(limit.key)} is known for a part of the run alone:"
            f" counted {place.span}; profile without --max-overhead",
        )
    details = [f"mean of {runs} runs"] if runs > 1 else []
    if limit.kind == COUNT:
        words = counted_in_words(number, limit.key[:-1], by)
        words += f" {'exceeds' if number == by else 'exceed'} the budget"
    else:
        words = (
            f"{_title(limit.key)} {_value_text(number / by, limit)} exceeds its budget"
        )
        details += [place.how_often] if place.how_often else []
        details += (
            ["estimated"] if limit.key in HOST_MEMORY and place.is_estimate else []
        )
    after = f" ({', '.join(details)})" if details else ""
    message = f"{before}{words} of {limit.text}{after}"
    return outcome._replace(status=EXCEEDED, message=message)


def _title(key: str) -> str:
    return _TITLES.get(key, key.replace("_", " "))


def _remedy(limit: Limit) -> str:
    """Return what to do for a profile that has a value."""
    if limit.key.startswith("gpu"):
        return "run the program where there is a GPU"
    if limit.kind == SIZE:
        flag = "--gpu-memory" if limit.key in GPU_MEMORY else "--memory"
        return f"profile the program with kernprof -l {flag}"
    if limit.key == "share":
        return "profile a program that takes some time"
    return "profile the program with kernprof -l of lineprof"


def _value_text(value: float, limit: Limit) -> str:
    """Return a value, with more digits if it looks like its limit."""
    if limit.kind == SHARE:
        text = f"{value:.1f} %"
        return text if text != f"{float(limit.value):.1f} %" else f"{value:.6g} %"
    shown, unit = (in_bytes, "B") if limit.kind == SIZE else (in_words, "ns")
    text = shown(value)
    return text if text != shown(float(limit.value)) else f"{value:,.1f} {unit}"


# Baselines.


def slowdowns(
    comparison: Comparison,
    max_percent: Fraction,
    min_percent: float,
    file: str,
    *,
    knows_gpu: bool,
) -> Iterator[Outcome]:
    """Yield the outcomes of a baseline: of the program, and of functions too slow.

    A function is too slow if its CPU time, its waits or its GPU time, or its own time
    where waits are not known, grew by more than `max_percent` of itself, by
    `min_percent` or more of the time of all lines, and by more than the noise band, or
    if one of its lines did.
    `file` is the script of the program. GPU times of a baseline that does not know any
    are not compared.
    """
    limit = Limit(key="", kind=SHARE, value=max_percent, text="")
    program = _Place(file=file, line=1, name="", values={}).outcome(limit)
    for name, title, change in _of_program(comparison):
        outcome = program._replace(key=_key(name), value=_growth(change))
        if _is_slower(change, max_percent) and not change.is_noise:
            message = _slower(title, name, change, max_percent)
            outcome = outcome._replace(status=EXCEEDED, message=message)
        yield outcome
    min_ns = min_percent / 100 * whole_ns(comparison)
    for pair in comparison.functions:
        if pair.before is None or pair.after is None or not pair.after[0]:
            continue
        for name in (*pair.times.beyond_noise, *pair.hidden):
            change = pair.times.change(name)
            if name == "gpu_ns" and not knows_gpu:
                continue
            if _is_slower(change, max_percent) and change.difference >= min_ns:
                line, more = _slowest_line(pair, name)
                slower = _slower(title_of(name, comparison), name, change, max_percent)
                yield program._replace(
                    key=_key(name),
                    status=EXCEEDED,
                    file=pair.after[0],
                    line=line,
                    name=pair.after[2],
                    value=_growth(change),
                    message=f"{pair.after[2]}: {slower}{more}",
                )


def growths(
    comparison: Comparison, max_percent: Fraction, min_percent: float, file: str
) -> Iterator[Outcome]:
    """Yield the outcomes of a baseline for memory: of the program, and of functions.

    A function has too much if what it allocated itself, its part of that at the end, or
    its part at the peak grew by more than `max_percent` of itself, by `min_percent` or
    more of that of the program, and by more than the noise band.
    """
    limit = Limit(key="", kind=SHARE, value=max_percent, text="")
    program = _Place(file=file, line=1, name="", values={}).outcome(limit)
    program = program._replace(key=_GROWTH)
    whole = comparison.whole.memory
    for name, change in whole.items():
        outcome = program._replace(value=_growth(change))
        if _is_slower(change, max_percent) and not change.is_noise:
            message = _larger(_title_of_memory(name), change, max_percent)
            outcome = outcome._replace(status=EXCEEDED, message=message)
        yield outcome
    for pair in comparison.functions:
        if pair.before is None or pair.after is None or not pair.after[0]:
            continue
        for name, change in pair.times.memory_beyond_noise.items():
            least = min_percent / 100 * whole[name].most
            if _is_slower(change, max_percent) and change.difference >= least:
                grown = {
                    line.after: line.times.memory[name].difference
                    for line in pair.lines
                    if line.after is not None
                }
                line, more = _greatest(grown, pair.after[1], in_bytes)
                larger = _larger(_title_of_memory(name), change, max_percent)
                yield program._replace(
                    status=EXCEEDED,
                    file=pair.after[0],
                    line=line,
                    name=pair.after[2],
                    value=_growth(change),
                    message=f"{pair.after[2]}: {larger}{more}",
                )


def gpu_growths(
    peaks: Iterable[ChangedPeak], max_percent: Fraction, file: str
) -> Iterator[Outcome]:
    """Yield the outcomes of a baseline for the memory of devices: of each pool.

    It has too much if its peak grew by more than `max_percent` of itself.
    """
    limit = Limit(key="", kind=SHARE, value=max_percent, text="")
    program = _Place(file=file, line=1, name="", values={}).outcome(limit)
    for peak in peaks:
        change = Change(before=(round(peak.before),), after=(round(peak.after),))
        outcome = program._replace(key=_GROWTH, value=_growth(change))
        if _is_slower(change, max_percent):
            title = f"{pool_name(peak.device, peak.pool)}, peak"
            message = _larger(title, change, max_percent)
            outcome = outcome._replace(status=EXCEEDED, message=message)
        yield outcome


def _title_of_memory(name: str) -> str:
    """Return the title of a number of `Times.memory`."""
    return _TITLES[f"max_host_{name.removesuffix('_bytes')}"]


def _larger(title: str, change: Change, max_percent: Fraction) -> str:
    after, before = in_bytes(change.mean_after), in_bytes(change.mean_before)
    if not change.mean_before:
        return f"{title} {after}, none in the baseline"
    words = diff_memory.in_proportion(change)
    return (
        f"{title} {after}, {f'{words}: ' if words else ''}{before} in the baseline;"
        f" {float(max_percent):g} % more are allowed"
    )


def _of_program(comparison: Comparison) -> list[tuple[str, str, Change]]:
    """Return the times of the program: names as in `Times`, titles, changes."""
    whole = comparison.whole
    if whole.cpu_ns is None or whole.wait_ns is None:
        if comparison.wall_ns:
            return [("own_ns", "wall time", comparison.wall_ns)]
        return [("own_ns", "time of all functions", whole.own_ns)]
    cpu_ns = comparison.process_ns or whole.cpu_ns
    causes = {name: one for name, one in whole.beyond_noise.items() if name in WAITS}
    waits = causes or {"wait_ns": whole.wait_ns}
    if comparison.unprofiled:  # waits are of other functions
        waits = {}
    return [
        ("cpu_ns", "CPU time", cpu_ns),
        *((name, title_of(name, comparison), one) for name, one in waits.items()),
    ]


def _key(name: str) -> str:
    """Return the key of a time of `Times.beyond_noise`, which may have a slowdown."""
    return _WAITS if is_wait(name) else _SLOWDOWN


def _growth(change: Change) -> float | None:
    """Return by how much a time grew, in %; None if it was 0."""
    return None if change.ratio is None else 100 * (change.ratio - 1)


def _is_slower(change: Change, max_percent: Fraction) -> bool:
    """Return whether a time grew by more than a share of itself."""
    runs, runs_after = len(change.before), len(change.after)
    before, after = sum(change.before) * runs_after, sum(change.after) * runs
    return (after - before) * 100 > before * max_percent


def _slower(title: str, name: str, change: Change, max_percent: Fraction) -> str:
    after, before = in_words(change.mean_after), in_words(change.mean_before)
    if not change.mean_before:
        return f"{title} {after}, none in the baseline"
    words = in_proportion(change, name) or "more"
    return (
        f"{title} {after}, {words} than the {before} of the"
        f" baseline; {float(max_percent):g} % are allowed"
    )


def _slowest_line(pair: FunctionPair, name: str) -> tuple[int, str]:
    """Return the line that grew most, and by how much in words; else the first one."""
    grown = {
        line.after: line.times.change(name).difference
        for line in pair.lines
        if line.after is not None
    }
    return _greatest(grown, pair.after[1] if pair.after else 0, in_words)


def _greatest(
    grown: Mapping[int, float], first: int, in_text: Callable[[float], str]
) -> tuple[int, str]:
    """Return the line that grew most, and by how much; else the `first` one."""
    difference, number = max(
        ((size, -line) for line, size in grown.items()), default=(0, 0)
    )
    if difference <= 0:
        return first, ""
    return -number, f" (this line: {in_text(difference)} more)"


# Formats.


def summary(found: Sequence[Outcome]) -> str:
    """Return how many budgets hold, in words: ``7 budgets hold, 1 exceeded``."""
    count = _counts(found)
    verb = "holds" if count[HOLDS] == 1 else "hold"
    words = f"{counted(count[HOLDS], 'budget')} {verb}, {count[EXCEEDED]} exceeded"
    return words + (f", {count[UNKNOWN]} not checked" if count[UNKNOWN] else "")


def _counts(found: Sequence[Outcome]) -> dict[str, int]:
    """Return the number of outcomes with each status."""
    statuses = [one.status for one in found]
    return {status: statuses.count(status) for status in (HOLDS, EXCEEDED, UNKNOWN)}


class Checked(NamedTuple):
    """The outcomes of a profile, and sentences about them."""

    found: Sequence[Outcome]
    profile: Profile
    notes: Sequence[str] = ()


def as_text(checked: Checked) -> Iterator[str]:
    """Yield a line for each budget that does not hold, as compilers print errors."""
    for one, path in _failed(checked):
        # A colon in front would make it a workflow command on GitHub.
        start = "./" if path.startswith(":") else ""
        yield printable(f"{start}{path}:{one.line}: error: {one.message}")


def as_github(checked: Checked) -> Iterator[str]:
    """Yield a workflow command of GitHub Actions for each budget that does not hold."""
    title = _property("lineprof budget")
    for one, path in _failed(checked, GITHUB_ROOT):
        place = f"file={_property(path)},line={one.line}"
        yield f"::error {place},title={title}::{_data(one.message)}"


def _data(text: str) -> str:
    """Return the text of a workflow command, escaped as GitHub's toolkit does."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def as_gitlab(checked: Checked) -> Iterator[str]:
    """Yield a report of GitLab's Code Quality."""
    failed = [*_failed(checked, GITLAB_ROOT)]
    issues = [
        {
            "description": printable(one.message),
            "check_name": f"lineprof/{one.key}",
            "fingerprint": fingerprint,
            "severity": "major",
            "location": {"path": path, "lines": {"begin": one.line}},
        }
        for (one, path), fingerprint in zip(
            failed, fingerprints(_identities(failed, checked.profile))
        )
    ]
    yield from json.dumps(issues, indent=1).splitlines()


def _identities(
    failed: Iterable[tuple[Outcome, str]], profile: Profile
) -> Iterator[str]:
    """Yield what stays the same of each outcome if lines move and numbers change."""
    sources, files = sources_of(profile), {one.file for one in profile.functions}
    for one, path in failed:
        text = ""
        if one.file in files and not one.message.startswith(f"{one.name}: "):  # a line
            text = (sources.line(one.file, one.line) or "").strip()
        yield f"{path}\0{one.name}\0{one.key}\0{text}"


def as_sarif(checked: Checked) -> Iterator[str]:
    """Yield a SARIF log: see `lineprof.report.sarif`."""
    profile = checked.profile
    failed = [*_failed(checked, root=source_root())]
    sources = sources_of(profile)
    functions = {(one.file, one.name): one.key for one in reversed(profile.functions)}
    files = {one.file for one in profile.functions}
    results = []
    for (one, _), identity in zip(failed, _identities(failed, profile)):
        place = Place(one.file, one.line)
        if one.file in files:
            place = place._replace(
                function=functions.get((one.file, one.name)),
                source=sources.line(one.file, one.line),
            )
        places = [place]
        budget = (one.budget_file, one.budget_line)
        if one.budget_file and budget != (one.file, one.line):
            places.append(Place(*budget, message="the budget"))
        numbers = {"status": one.status, "value": one.value, "limit": one.limit}
        results.append(
            Result(
                rule=_rule_id(one),
                message=one.message,
                places=places,
                identity=identity,
                properties={**numbers, "unit": _UNITS[_KINDS[one.key]]},
            )
        )
    rules = {_rule_id(one): _rule(one) for one in checked.found}
    messages = [
        *(Message(text, WARNING) for text in profile.warnings),
        *(Message(text) for text in (*checked.notes, summary(checked.found))),
    ]
    return log("check", [*rules.values()], results, messages, profile)


_UNITS = {TIME: "ns", SHARE: "%", COUNT: "count", SIZE: "bytes"}

_KINDS = {
    **{key: kind for keys in LIMITS.values() for key, kind in keys.items()},
    **dict.fromkeys((_SLOWDOWN, _WAITS, _GROWTH), SHARE),
}


def _rule_id(one: Outcome) -> str:
    table = "baseline" if one.key in _OF_BASELINE else "budget"
    return f"{table}-{one.key.replace('_', '-')}"


def _rule(one: Outcome) -> Rule:
    """Return the rule that an outcome is compared by."""
    if one.key in _OF_BASELINE:
        title, what = _OF_BASELINE[one.key]
        text = (
            f"{what} than in the baseline, by more than is allowed and by more than"
            " chance."
        )
        more = "allocate more" if one.key == _GROWTH else "take longer"
        helps = f"lineprof diff BEFORE AFTER lists the lines that {more}."
    else:
        title = _title(one.key)
        title = f"{title[:1].upper()}{title[1:]} over budget"
        text = (
            f"The budget {one.key} of a function, of a line or of the program is"
            " exceeded, or the profile does not know the number."
        )
        helps = (
            "lineprof view --drill NAME FILE shows where the time goes. If the number"
            " is right, correct its budget."
        )
    return Rule(_rule_id(one), title, text, helps, ERROR)


def as_json(checked: Checked) -> Iterator[str]:
    """Yield one JSON object with all budgets, those that hold included."""
    every, profile = checked.found, checked.profile
    head = {"format": FORMAT, **_counts(every)}
    yield f'{json.dumps(head)[:-1]}, "budgets": ['
    for index, one in enumerate(every, 1):
        paths = {"file": path_of(one.file, profile)}
        if one.budget_file:
            paths["budget_file"] = path_of(one.budget_file, profile)
        row = {**one._asdict(), **paths}
        yield f" {json.dumps(row)}{',' if index < len(every) else ''}"
    yield "]}"


def as_markdown(checked: Checked) -> Iterator[str]:
    """Yield a Markdown document with a row for each budget that does not hold."""
    summed = summary(checked.found)
    lines: list[str] = [markdown.marker("check"), markdown.title(summed)]
    rows = [
        [f"{path}:{one.line}", one.message]
        for one, path in _failed(checked, GITHUB_ROOT)
    ]
    titles = ["Place", "Budget that does not hold"]
    if rows:
        lines += grid(titles, rows, markdown.DOCUMENT, words=2, sentences=[1])
    yield from markdown.document(lines)


def _failed(
    checked: Checked, variable: str = "", root: str = ""
) -> Iterator[tuple[Outcome, str]]:
    """Yield what does not hold, with the path of its file.

    The path is as seen from `root`, or the folder that the environment `variable`
    names.
    """
    root = root or os.environ.get(variable, "")
    for one in checked.found:
        if one.status != HOLDS:
            yield one, path_of(one.file, checked.profile, root)


FORMATS: Mapping[str, Callable[[Checked], Iterator[str]]] = {
    "text": as_text,
    "github": as_github,
    "gitlab": as_gitlab,
    "sarif": as_sarif,
    "json": as_json,
    "markdown": as_markdown,
}
