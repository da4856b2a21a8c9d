"""The view --gpu-summary: sums of GPU activities and of CUDA calls, as nvprof's."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from lineprof.errors import printable
from lineprof.model.gpu import DRIVER, RUNTIME, Gpu, GpuSum
from lineprof.report.gpu_format import (
    LINE_TITLE,
    NOWHERE,
    Places,
    activity_name,
    call_name,
    event_filter,
    microseconds,
    milliseconds,
    quoted,
    time_text,
)
from lineprof.report.limits import limited
from lineprof.report.text_grid import percent_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lineprof.model.profile import Profile
    from lineprof.report.options import Options
    from lineprof.source import Sources

CALLS_NOT_RECORDED = "not recorded; kernprof -l --gpu-api records them"

_ACTIVITIES, _CALLS = "GPU activities", "API calls"

_HEADER = "            Type  Time(%)      Time     Calls       Avg       Min       Max"

_CSV_TITLES = (
    *("Type", "Time(%)", "Time", "Calls", "Avg", "Min", "Max", "Name"),
    *(LINE_TITLE, "Line(%)"),
)

_CSV_UNITS = ",%,ms,,us,us,us,,,%"


def gpu_summary(profile: Profile, _: Sources, options: Options) -> Iterator[str]:
    """Yield the activities and the calls, in two sections, the longest first."""
    places = Places(profile.gpu, options)
    is_shown = event_filter(options)
    activities: dict[str, list[GpuSum]] = {}
    calls: dict[str, list[GpuSum]] = {}
    for one in profile.gpu.sums:
        if one.kind in {RUNTIME, DRIVER}:
            calls.setdefault(call_name(one.name), []).append(one)
        elif is_shown(one):
            name = activity_name(one.kind, one.name)
            activities.setdefault(name, []).append(one)
    sections = [
        (_ACTIVITIES, _entries(activities, places)),
        (_CALLS, _entries(calls, places)),
    ]
    if options.csv:
        yield from _csv(sections, options)
        return
    yield from why_nothing(profile.gpu)
    if profile.gpu.sums:
        yield from _text(sections, options)
        if not has_calls(profile.gpu):
            yield f"{_CALLS + ':':>16} {CALLS_NOT_RECORDED}"


def summary_notes(profile: Profile, options: Options) -> Iterable[str]:
    """Yield warnings of missing data for CSV; a summary as text has them itself."""
    if not options.csv:
        return
    yield from why_nothing(profile.gpu)
    if profile.gpu.sums and not has_calls(profile.gpu):
        yield f"API calls were {CALLS_NOT_RECORDED}"


def has_calls(gpu: Gpu) -> bool:
    """Return whether calls of CUDA's API were recorded."""
    return any(one.kind in {RUNTIME, DRIVER} for one in gpu.sums)


def why_nothing(gpu: Gpu) -> Iterator[str]:
    """Yield the reason if the profile has no GPU activity."""
    if not gpu.sums:
        reasons = [run.reason for run in gpu.runs if run.backend != "cupti"]
        why = "".join(f": {printable(reason)}" for reason in dict.fromkeys(reasons))
        yield f"No GPU activity was recorded{why}"


class _Entry:
    """All activities, or calls, of one name."""

    def __init__(self, name: str, sums: Sequence[GpuSum], places: Places) -> None:
        self.name = name
        self.count = sum(one.count for one in sums)
        self.ns = sum(one.ns for one in sums)
        self.mean_ns = self.ns / self.count if self.count else 0
        self.min_ns = min(one.min_ns for one in sums)
        self.max_ns = max(0, *(one.max_ns for one in sums))
        self._ns_by_place: Counter[str] = Counter()
        for one in sums:
            self._ns_by_place[places.of(one)] += one.ns

    def main_cause(self) -> tuple[str, float]:
        """Return the line that caused most of the time, and its share in %."""
        place, ns = max(self._ns_by_place.items(), key=lambda item: (item[1], item[0]))
        return place, 100 * (ns / self.ns if self.ns else 1)


def _entries(by_name: dict[str, list[GpuSum]], places: Places) -> list[_Entry]:
    """Return one entry for each name, the longest time first."""
    entries = [_Entry(name, ones, places) for name, ones in by_name.items()]
    return sorted(entries, key=lambda entry: (-entry.ns, entry.name))


def _shown(entries: list[_Entry], options: Options) -> tuple[list[_Entry], int]:
    """Return the entries of a section that `options` leave, and the time of all."""
    total_ns = sum(entry.ns for entry in entries)
    return limited(entries, options, lambda entry: entry.ns, total_ns), total_ns


def _text(sections: list[tuple[str, list[_Entry]]], options: Options) -> Iterator[str]:
    causes = [_cause_text(entry) for _, entries in sections for entry in entries]
    width = max(map(len, [LINE_TITLE, *causes]))
    yield f"{_HEADER}  {LINE_TITLE:<{width}}  Name"
    for name, entries in sections:
        shown, total_ns = _shown(entries, options)
        title = f"{name}:"
        for entry in shown:
            share = f"{percent_of(entry.ns, total_ns):.2f}%"
            times = (entry.mean_ns, entry.min_ns, entry.max_ns)
            numbers = "".join(f" {time_text(ns):>9}" for ns in times)
            yield (
                f"{title:>16} {share:>8} {time_text(entry.ns):>9} {entry.count:>9}"
                f"{numbers}  {_cause_text(entry):<{width}}  {entry.name}"
            )
            title = ""
        if len(shown) < len(entries):
            yield f"{'':>16} {len(entries) - len(shown)} more"


def _cause_text(entry: _Entry) -> str:
    """Return the line that caused most time, and its share if that is not 100 %."""
    place, share = entry.main_cause()
    return place if share == 100 else f"{place} ({min(99, round(share))}%)"  # noqa: PLR2004


def _csv(sections: list[tuple[str, list[_Entry]]], options: Options) -> Iterator[str]:
    yield ",".join(map(quoted, _CSV_TITLES))
    yield _CSV_UNITS
    for name, entries in sections:
        shown, total_ns = _shown(entries, options)
        for entry in shown:
            place, share = entry.main_cause()
            fields = (
                quoted(name),
                f"{percent_of(entry.ns, total_ns):.6f}",
                milliseconds(entry.ns),
                f"{entry.count}",
                microseconds(round(entry.mean_ns)),
                microseconds(entry.min_ns),
                microseconds(entry.max_ns),
                quoted(entry.name),
                quoted("" if place == NOWHERE else place),
                f"{share:.6f}",
            )
            yield ",".join(fields)
