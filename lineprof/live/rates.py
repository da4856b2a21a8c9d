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
    return [
        _row(
            place,
            numbers,
            (old.get(place, Numbers()), interval_ns) if interval_ns > 0 else None,
            sample.ran_ns,
            scope,
        )
        for place, numbers in _numbers(sample, scope).items()
    ]


def _numbers(sample: Sample, scope: Scope) -> Mapping[Place, Numbers]:
    return sample.functions if scope.by_function else sample.lines


def _row(
    place: Place,
    now: Numbers,
    before: tuple[Numbers, int] | None,
    ran_ns: int,
    scope: Scope,
) -> Row:
    time_ns, wait_ns = _times(now, scope)
    hits, share, rate = now.hits, None, None
    total_share = time_ns / ran_ns if ran_ns else 0.0
    gpu_ns = now.gpu_ns if scope.is_inclusive else now.own_gpu_ns
    kernels = now.kernels
    if before is not None:
        old, interval_ns = before
        old_ns, old_wait_ns = _times(old, scope)
        last_ns, last_hits = max(0, time_ns - old_ns), max(0, now.hits - old.hits)
        share = last_ns / interval_ns
        rate = last_hits / interval_ns * _NS_PER_S
        if not scope.is_total:
            time_ns, hits = last_ns, last_hits
            wait_ns = min(max(0, wait_ns - old_wait_ns), last_ns)
            old_gpu_ns = old.gpu_ns if scope.is_inclusive else old.own_gpu_ns
            gpu_ns = max(0, gpu_ns - old_gpu_ns)
            kernels = max(0, kernels - old.kernels)
    return Row(
        place=place,
        share=share,
        total_share=total_share,
        time_ns=time_ns,
        rate=rate,
        hits=hits,
        wait_ns=wait_ns,
        gpu_ns=gpu_ns,
        kernels=kernels,
    )


def _times(numbers: Numbers, scope: Scope) -> tuple[int, int]:
    """Return the time and the wait (ns) that a scope shows."""
    if scope.is_inclusive:
        return numbers.time_ns, min(numbers.wait_ns, numbers.time_ns)
    return numbers.own_ns, min(numbers.own_wait_ns, numbers.own_ns)


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
