"""The sums of a GPU's activities and of calls, as nvprof prints them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineprof.errors import printable
from lineprof.model.gpu import DRIVER, RUNTIME
from lineprof.report.gpu_format import (
    NOWHERE,
    Places,
    activity_name,
    call_name,
    microseconds,
    milliseconds,
    quoted,
    time_text,
    wanted,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lineprof.model.gpu import Gpu, GpuSum
    from lineprof.model.profile import Profile
    from lineprof.report.options import Options


# What a reader of the GPU views should know beside their rows, a line each.
#
# It ends a text; beside CSV, which has no place for it, the command says it.


NO_CALLS = "not recorded; kernprof -l --gpu-api records them"


def has_calls(gpu: Gpu) -> bool:
    """Tell whether calls of CUDA's API were recorded."""
    return any(one.kind in {RUNTIME, DRIVER} for one in gpu.sums)


def of_sums(stats: Profile, options: Options) -> Iterable[str]:
    """Return what is to be said beside the summary as CSV."""
    if not options.csv:
        return
    yield from nothing(stats.gpu)
    if stats.gpu.sums and not has_calls(stats.gpu):
        yield f"API calls were {NO_CALLS}"


def of_activities(stats: Profile, options: Options) -> Iterable[str]:
    """Return what is to be said beside the trace of activities as CSV."""
    return left_out(stats.gpu) if options.csv else ()


def of_calls(stats: Profile, options: Options) -> Iterable[str]:
    """Return what is to be said beside the trace of calls as CSV."""
    return calls_left_out(stats.gpu) if options.csv else ()


def nothing(gpu: Gpu) -> Iterator[str]:
    """Yield that, and why, there is nothing to show, if so."""
    if not gpu.sums:
        reasons = [run.reason for run in gpu.runs if run.backend != "cupti"]
        why = "".join(f": {printable(reason)}" for reason in dict.fromkeys(reasons))
        yield f"No GPU activity was recorded{why}"


def left_out(gpu: Gpu) -> Iterator[str]:
    """Yield what a trace does not show."""
    yield from nothing(gpu)
    if gpu.sums and not any(timeline.count for timeline in gpu.timelines):
        yield "The profile has no timeline; --gpu-summary shows the sums"
    count = sum(run.left_out for run in gpu.runs)
    if count:
        yield (
            f"The timeline was full: {count} records are in --gpu-summary alone;"
            " kernprof -l --gpu-events N keeps more"
        )


def calls_left_out(gpu: Gpu) -> Iterator[str]:
    """Yield what a trace of calls does not show."""
    if gpu.sums and not has_calls(gpu):
        yield f"API calls were {NO_CALLS}"
    else:
        yield from left_out(gpu)


_ACTIVITIES, _CALLS = "GPU activities", "API calls"

_HEADER = "            Type  Time(%)      Time     Calls       Avg       Min       Max"

_CSV_HEADER = (
    *("Type", "Time(%)", "Time", "Calls", "Avg", "Min", "Max", "Name"),
    *("Python Line", "Line(%)"),
)

_ALL = 100  # %

_CSV_UNITS = ",%,ms,,us,us,us,,,%"


class _Entry:
    """All that has one name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.count = self.ns = self.max_ns = 0
        self.min_ns: int | None = None
        self._ns_of: dict[str, int] = {}

    def add(self, one: GpuSum, place: str) -> None:
        """Add a sum that the line `place` has caused."""
        self.count += one.count
        self.ns += one.ns
        self.min_ns = (
            one.min_ns if self.min_ns is None else min(self.min_ns, one.min_ns)
        )
        self.max_ns = max(self.max_ns, one.max_ns)
        self._ns_of[place] = self._ns_of.get(place, 0) + one.ns

    @property
    def mean_ns(self) -> float:
        """The mean time (ns)."""
        return self.ns / self.count if self.count else 0

    def cause(self) -> tuple[str, float]:
        """Return the line that caused most of the time, and its share in %."""
        place = max(self._ns_of, key=lambda place: (self._ns_of[place], place))
        share = self._ns_of[place] / self.ns if self.ns else 1
        return place, _ALL * share


def _percent(part: int, whole: int) -> float:
    return _ALL * part / whole if whole else 0


def summary(stats: Profile, options: Options) -> Iterator[str]:
    """Yield the activities and the calls, in two sections, the longest first."""
    places = Places(stats.gpu, options)
    is_wanted = wanted(options)
    activities = [
        (activity_name(one.kind, one.name), one)
        for one in stats.gpu.sums
        if is_wanted(one)
    ]
    calls = [
        (call_name(one.name), one)
        for one in stats.gpu.sums
        if one.kind in {RUNTIME, DRIVER}
    ]
    sections = [
        (_ACTIVITIES, _entries(activities, places)),
        (_CALLS, _entries(calls, places)),
    ]
    if options.csv:
        yield from _csv(sections)
        return
    yield from nothing(stats.gpu)
    if stats.gpu.sums:
        yield from _text(sections)
        if not has_calls(stats.gpu):
            yield f"{_CALLS + ':':>16} {NO_CALLS}"


def _entries(sums: Iterable[tuple[str, GpuSum]], places: Places) -> list[_Entry]:
    """Return one entry for each name, the longest time first."""
    entries: dict[str, _Entry] = {}
    for name, one in sums:
        entries.setdefault(name, _Entry(name)).add(one, places.of(one))
    return sorted(entries.values(), key=lambda entry: (-entry.ns, entry.name))


def _text(sections: list[tuple[str, list[_Entry]]]) -> Iterator[str]:
    causes = [_cause(entry) for _, entries in sections for entry in entries]
    width = max(map(len, ["Python Line", *causes]))
    yield f"{_HEADER}  {'Python Line':<{width}}  Name"
    for name, entries in sections:
        whole = sum(entry.ns for entry in entries)
        title = f"{name}:"
        for entry in entries:
            share = f"{_percent(entry.ns, whole):.2f}%"
            times = (entry.mean_ns, entry.min_ns or 0, entry.max_ns)
            numbers = "".join(f" {time_text(ns):>9}" for ns in times)
            yield (
                f"{title:>16} {share:>8} {time_text(entry.ns):>9} {entry.count:>9}"
                f"{numbers}  {_cause(entry):<{width}}  {entry.name}"
            )
            title = ""


def _cause(entry: _Entry) -> str:
    """Return the line that caused most, with its share where it is not all."""
    place, percent = entry.cause()
    if percent == _ALL:
        return place
    return f"{place} ({min(_ALL - 1, round(percent))}%)"


def _csv(sections: list[tuple[str, list[_Entry]]]) -> Iterator[str]:
    yield ",".join(map(quoted, _CSV_HEADER))
    yield _CSV_UNITS
    for name, entries in sections:
        whole = sum(entry.ns for entry in entries)
        for entry in entries:
            place, percent = entry.cause()
            fields = (
                quoted(name),
                f"{_percent(entry.ns, whole):.6f}",
                milliseconds(entry.ns),
                f"{entry.count}",
                microseconds(round(entry.mean_ns)),
                microseconds(entry.min_ns or 0),
                microseconds(entry.max_ns),
                quoted(entry.name),
                quoted("" if place == NOWHERE else place),
                f"{percent:.6f}",
            )
            yield ",".join(fields)
