"""Spread of lines over the ranks of a parallel program, and its efficiency.

A rank that never ran a line has 0 for it. Sums are integers, so that means and standard
deviations are exact up to the last division. Times are in nanoseconds (ns).
"""

from __future__ import annotations

from itertools import islice
from math import isqrt
from operator import mul, sub
from typing import TYPE_CHECKING, NamedTuple

from lineprof.model.rank_lines import values_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lineprof.model.rank_lines import Place, RankValues
    from lineprof.model.records import Key, Ranks

_RANKS_AT_ONCE = 128
_NUMBERS_AT_ONCE = 500_000  # of these ranks


class Spread(NamedTuple):
    """One number of each rank: its sum and its spread."""

    ranks: int  # their number
    sum: int
    max: int
    min: int
    max_rank: int  # the first rank with the max
    squares: int  # the sum of the squares

    def plus(self, other: Spread) -> Spread:
        """Return the spread over the ranks of both; the other ones are later."""
        return Spread(
            ranks=self.ranks + other.ranks,
            sum=self.sum + other.sum,
            max=max(self.max, other.max),
            min=min(self.min, other.min),
            max_rank=self.max_rank if self.max >= other.max else other.max_rank,
            squares=self.squares + other.squares,
        )

    @property
    def mean(self) -> float:
        """The mean over all ranks."""
        return self.sum / self.ranks if self.ranks else 0.0

    @property
    def sd(self) -> float:
        """The standard deviation over all ranks: they are all there are."""
        if not self.ranks:
            return 0.0
        # With 20 bits of a fraction: isqrt is exact, however long the integer is.
        scaled = (self.ranks * self.squares - self.sum * self.sum) << 40
        return isqrt(max(0, scaled)) / (self.ranks << 20)

    @property
    def imbalance(self) -> float:
        """How far the max is above the mean: max / mean - 1, 0 if all are 0."""
        return (self.max * self.ranks - self.sum) / self.sum if self.sum else 0.0

    @property
    def lost(self) -> int:
        """The sum of what each rank is below the max: (max - mean) * ranks."""
        return self.max * self.ranks - self.sum


class LineSpread(NamedTuple):
    """One line of a function, or a whole function, over all ranks."""

    key: Key
    line: int  # or WHOLE
    hits: int  # of all ranks; calls of a whole function
    ran: int  # number of ranks that ran it
    mpi_ns: int  # of all ranks
    time: Spread
    useful: Spread  # time without communication
    own: Spread  # the same without profiled Python functions that the line called


class RunSpread(NamedTuple):
    """A whole run over its ranks."""

    wall: Spread
    mpi: Spread
    useful: Spread  # wall time without communication

    @property
    def efficiency(self) -> Efficiency:
        """The efficiency of the run."""
        return efficiency(self.useful, self.wall.max)


class Efficiency(NamedTuple):
    """Metrics of the POP Centre of Excellence, each from 0 to 1."""

    load_balance: float  # mean / max of the useful time of the ranks
    communication: float  # max of the useful time / run time

    @property
    def parallel(self) -> float:
        """The product of both: mean of the useful time / run time."""
        return self.load_balance * self.communication


def efficiency(useful: Spread, run_ns: int) -> Efficiency:
    """Return the efficiency of ranks with `useful` times in a run of `run_ns`.

    Without any time all are 1.
    """
    return Efficiency(
        load_balance=useful.mean / useful.max if useful.max else 1.0,
        communication=min(1.0, useful.max / run_ns) if run_ns else 1.0,
    )


def spread_of(ranks: Sequence[int], numbers: Sequence[int]) -> Spread:
    """Return the spread of `numbers`, one for each of `ranks` (at least one)."""
    top = max(numbers)
    return Spread(
        ranks=len(ranks),
        sum=sum(numbers),
        max=top,
        min=min(numbers),
        max_rank=ranks[numbers.index(top)],
        squares=sum(map(mul, numbers, numbers)),
    )


def run_spread(ranks: Ranks) -> RunSpread:
    """Return the spread of the runs of `ranks` (at least one)."""
    numbers = [run.rank for run in ranks.runs]
    walls = [run.wall_ns for run in ranks.runs]
    mpi = [min(run.mpi_ns, run.wall_ns) for run in ranks.runs]
    return RunSpread(
        wall=spread_of(numbers, walls),
        mpi=spread_of(numbers, mpi),
        useful=spread_of(numbers, [*map(sub, walls, mpi)]),
    )


def line_spreads(ranks: Ranks) -> dict[Place, LineSpread]:
    """Return the spread of each line and each whole function.

    LineprofError if the numbers of a rank are damaged.
    """
    count = len(ranks.places)
    hits, ran, mpi = [0] * count, [0] * count, [0] * count
    spreads: list[list[Spread]] = [[], [], []]  # of time, useful time, own time
    runs = iter(ranks.runs)
    at_once = max(1, min(_RANKS_AT_ONCE, _NUMBERS_AT_ONCE // max(1, count)))
    while some := list(islice(runs, at_once)):
        blocks: list[list[list[int]]] = [[] for _ in spreads]
        for run in some:
            values = values_of(ranks, run)
            for place, n_hits, ns in zip(values.places, values.hits, values.mpi_ns):
                hits[place] += n_hits
                mpi[place] += ns
                ran[place] += 1
            for rows, column in zip(blocks, (values.time_ns, *useful_ns(values))):
                rows.append(_dense(count, values.places, column))
        numbers = [run.rank for run in some]
        for index, rows in enumerate(blocks):
            spreads[index] = _joined(spreads[index], numbers, rows)
    every = zip(ranks.places, hits, ran, mpi, *spreads)
    return {
        (key, line): LineSpread(
            key=key,
            line=line,
            hits=n_hits,
            ran=n_ran,
            mpi_ns=mpi_ns,
            time=one,
            useful=free,
            own=alone,
        )
        for (key, line), n_hits, n_ran, mpi_ns, one, free, alone in every
    }


def useful_ns(values: RankValues) -> tuple[list[int], list[int]]:
    """Return the times (ns) without communication, with callees and without."""
    useful = [max(0, ns) for ns in map(sub, values.time_ns, values.mpi_ns)]
    return useful, [max(0, ns) for ns in map(sub, useful, values.callees_ns)]


def _joined(
    before: list[Spread], ranks: Sequence[int], rows: Sequence[Sequence[int]]
) -> list[Spread]:
    """Return the spread of each place, over `ranks` and those of `before`, if any."""
    spreads = [spread_of(ranks, numbers) for numbers in zip(*rows)]
    return [*map(Spread.plus, before, spreads)] if before else spreads


def _dense(count: int, places: Sequence[int], numbers: Sequence[int]) -> list[int]:
    """Return a number for each of `count` places: 0 for those that are not there."""
    found = [0] * count
    for place, number in zip(places, numbers):
        found[place] = number
    return found


class MissingRanks(NamedTuple):
    """Ranks of a program that have no profile."""

    number: int
    first: tuple[int, ...]  # some of them, in order


_MAX_NAMED = 8  # missing ranks


def missing_ranks(present: Iterable[int], count: int | None) -> MissingRanks:
    """Return the ranks of a program of `count` ranks that are not `present`."""
    there = {rank for rank in present if rank < (count or 0)}
    every = (rank for rank in range(count or 0) if rank not in there)
    return MissingRanks(
        number=(count or 0) - len(there), first=tuple(islice(every, _MAX_NAMED))
    )
