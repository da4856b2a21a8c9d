"""Rates of lines and functions, from the difference of two samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lineprof.live.reading import Numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from lineprof.live.reading import Place, Sample

_NS_PER_S = 1e9


class Row(NamedTuple):
    """One line or function in the table."""

    place: Place
    share: float | None  # time in the last interval per wall time; None: no interval
    total_share: float  # the same since the program began
    time_ns: int
    rate: float | None  # hits per second of the last interval
    hits: int
    wait_ns: int  # off-CPU, a part of `time_ns`
    gpu_ns: int = 0  # of kernels and memsets on GPUs
    kernels: int = 0

    @property
    def per_hit_ns(self) -> float:
        """The time of one hit; the whole time before the first hit has ended."""
        return self.time_ns / max(1, self.hits)


class Scope(NamedTuple):
    """Which numbers the rows have."""

    by_function: bool = False
    is_inclusive: bool = False  # times include callees
    is_total: bool = True  # times and hits since the program began, not the last ones


def never_less(sample: Sample, before: Sample | None) -> Sample:
    """Return a sample whose totals are at least those of the one before.

    Hits and times are not read at one instant, so that a time may be read a little
    late. If a line has fewer hits than before, its program began to count anew.
    """
    if before is None:
        return sample
    return sample._replace(
        lines=_at_least(sample.lines, before.lines),
        functions=_at_least(sample.functions, before.functions),
        ran_ns=max(sample.ran_ns, before.ran_ns),
    )


def _at_least(
    now: Mapping[Place, Numbers], before: Mapping[Place, Numbers]
) -> dict[Place, Numbers]:
    found = {**before, **now}
    for place, one in now.items():
        old = before.get(place)
        if old is not None and old.hits <= one.hits:
            found[place] = one._replace(
                time_ns=max(one.time_ns, old.time_ns),
                own_ns=max(one.own_ns, old.own_ns),
            )
    return found


def rows_of(sample: Sample, before: Sample | None, scope: Scope) -> list[Row]:
    """Return a row for each line, or function, that ran since the program began."""
    interval_ns = sample.at_ns - before.at_ns if before else 0
    old = _numbers(before, scope) if before else {}
    rows = []
    for place, numbers in _numbers(sample, scope).items():
        shown = _of_scope(numbers, scope)
        share, rate = None, None
        total_share = shown["time_ns"] / sample.ran_ns if sample.ran_ns else 0.0
        if interval_ns > 0:
            known = _of_scope(old.get(place, Numbers()), scope)
            last = {name: max(0, one - known[name]) for name, one in shown.items()}
            share = last["time_ns"] / interval_ns
            rate = last["hits"] / interval_ns * _NS_PER_S
            if not scope.is_total:
                shown = {**last, "wait_ns": min(last["wait_ns"], last["time_ns"])}
        rows.append(
            Row(place=place, share=share, total_share=total_share, rate=rate, **shown)
        )
    return rows


def _numbers(sample: Sample, scope: Scope) -> Mapping[Place, Numbers]:
    return sample.functions if scope.by_function else sample.lines


def _of_scope(numbers: Numbers, scope: Scope) -> dict[str, int]:
    """Return the numbers that a scope shows, by their names in `Row`."""
    time_ns, wait_ns = numbers.own_ns, numbers.own_wait_ns
    if scope.is_inclusive:
        time_ns, wait_ns = numbers.time_ns, numbers.wait_ns
    return {
        "time_ns": time_ns,
        "hits": numbers.hits,
        "wait_ns": min(wait_ns, time_ns),
        "gpu_ns": numbers.gpu_ns if scope.is_inclusive else numbers.own_gpu_ns,
        "kernels": numbers.kernels,
    }


# Columns to sort by. Rows of equal values are in the order of their total shares.

_KEYS: dict[str, Callable[[Row], float]] = {
    "now": lambda row: row.share or 0.0,
    "all": lambda row: row.total_share,
    "time": lambda row: row.time_ns,
    "rate": lambda row: row.rate or 0.0,
    "hits": lambda row: row.hits,
    "each": lambda row: row.per_hit_ns,
    "wait": lambda row: row.wait_ns,
    "gpu": lambda row: row.gpu_ns,
    "kernels": lambda row: row.kernels,
}

COLUMNS = (*_KEYS, "line")  # the last one: by file and line, the first one first


def ordered(rows: Iterable[Row], column: str) -> list[Row]:
    """Return the rows by one of `COLUMNS`, the greatest first."""
    if column not in _KEYS:
        return sorted(rows, key=lambda row: (row.place[0][0], row.place[1]))
    key = _KEYS[column]
    return sorted(
        rows, key=lambda row: (-key(row), -row.total_share, -row.hits, row.place)
    )
