"""The sums of a GPU's activities and of calls, as nvprof prints them."""

from __future__ import annotations

from lineprof.gpu_records import DRIVER, RUNTIME
from lineprof.views.gpu_names import (
    NOWHERE,
    Places,
    activity_name,
    call_name,
    wanted,
)
from lineprof.views.gpu_remarks import NO_CALLS, has_calls, nothing
from lineprof.views.gpu_units import microseconds, milliseconds, quoted, time_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lineprof.gpu_records import GpuSum
    from lineprof.stats import Profile
    from lineprof.views.view import Options

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
