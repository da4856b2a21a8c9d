"""Spread of lines over ranks, and the efficiency of a run, with known answers."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

import pytest
from example_ranks import MAIN, MS, RANKS, WORK, rank_profile, summed

from lineprof.line_stats import LineStats
from lineprof.model.rank_lines import WHOLE, ranks_of, values_of
from lineprof.model.rank_spread import (
    efficiency,
    line_spreads,
    missing_ranks,
    run_spread,
    spread_of,
)
from lineprof.model.records import cell_columns
from lineprof.model.running_sum import RunningSum

if TYPE_CHECKING:
    from collections.abc import Callable


def together() -> LineStats:
    """Return the four ranks with all that they hold."""
    return LineStats.from_stats_objects(*[rank_profile(r) for r in range(RANKS)])


both = pytest.mark.parametrize("make", [together, summed])


@both
def test_the_spread_of_a_line_is_exact(make: Callable[[], LineStats]) -> None:
    line = line_spreads(ranks_of(make()))[WORK, 2]
    assert (line.hits, line.ran, line.mpi_ns) == (1 + 2 + 3 + 4, 4, 0)
    useful = line.useful
    assert (useful.sum, useful.max, useful.min) == (100 * MS, 40 * MS, 10 * MS)
    assert (useful.max_rank, useful.mean) == (3, 25 * MS)
    assert useful.sd == pytest.approx(sqrt(125) * MS, rel=1e-12)
    assert useful.imbalance == pytest.approx(0.6)
    assert useful.lost == 60 * MS
    assert line.own == line.time == useful


@both
def test_a_rank_that_did_not_run_a_line_has_zero(make: Callable[[], LineStats]) -> None:
    line = line_spreads(ranks_of(make()))[MAIN, 8]
    assert (line.hits, line.ran) == (1, 1)
    assert (line.useful.mean, line.useful.min) == (1 * MS, 0)
    assert (line.useful.imbalance, line.useful.lost) == (3.0, 12 * MS)
    assert line.useful.max_rank == 0


@both
def test_waiting_in_a_collective_is_not_useful_time(
    make: Callable[[], LineStats],
) -> None:
    lines = line_spreads(ranks_of(make()))
    barrier = lines[WORK, 3]
    assert (barrier.mpi_ns, barrier.time.sum) == (80 * MS, 80 * MS)
    assert (barrier.useful.max, barrier.useful.lost) == (0, 0)
    call = lines[MAIN, 7]
    assert (call.mpi_ns, call.time.lost) == (80 * MS, 0)
    assert call.useful == lines[WORK, 2].useful
    assert call.own.max == 0  # all of it is in the function that it calls


@both
def test_a_function_has_its_calls_and_its_total_time(
    make: Callable[[], LineStats],
) -> None:
    whole = line_spreads(ranks_of(make()))[WORK, WHOLE]
    assert (whole.hits, whole.ran, whole.mpi_ns) == (4, 4, 80 * MS)
    assert (whole.time.max, whole.time.min) == (45 * MS, 45 * MS)
    metrics = efficiency(whole.useful, whole.time.max)
    assert metrics.load_balance == pytest.approx(25 / 40)
    assert metrics.communication == pytest.approx(40 / 45)
    assert metrics.parallel == pytest.approx(25 / 45)


@both
def test_the_efficiency_of_the_run_is_that_of_pop(
    make: Callable[[], LineStats],
) -> None:
    run = run_spread(ranks_of(make()))
    assert [run.mpi.max, run.mpi.min] == [35 * MS, 5 * MS]
    assert [run.useful.max, run.useful.sum] == [45 * MS, 120 * MS]
    metrics = run.efficiency
    assert metrics.load_balance == pytest.approx(30 / 45)
    assert metrics.communication == pytest.approx(45 / 50)
    assert metrics.parallel == pytest.approx(30 / 50)


def test_a_running_sum_has_the_numbers_of_a_merge() -> None:
    one, other = together(), summed()
    assert one == other
    assert [f.calls for f in one.functions] == [f.calls for f in other.functions]
    assert [f.rows for f in one.functions] == [f.rows for f in other.functions]
    assert one.processes == other.processes
    sums = {node.function: node.inclusive_ns for node in other.calls.nodes}
    assert sums == {
        key: sum(n.inclusive_ns for n in one.calls.nodes if n.function == key)
        for key in sums
    }
    assert line_spreads(ranks_of(one)) == line_spreads(ranks_of(other))


def test_a_sum_can_be_merged_with_other_ranks() -> None:
    parts = []
    for some in ((0, 1), (2,)):
        total = RunningSum()
        for rank in some:
            profile = rank_profile(rank)
            total.add(profile, cell_columns(profile.functions))
        parts.append(total.profile())
    every = LineStats.from_stats_objects(*parts, rank_profile(3))
    assert line_spreads(ranks_of(every)) == line_spreads(ranks_of(together()))


def test_children_count_for_the_rank_of_their_parent() -> None:
    child = rank_profile(2, rank=None, pid=999, parent_pid=102)
    of_rank = LineStats.from_stats_objects(rank_profile(2), child)
    ranks = ranks_of(LineStats.from_stats_objects(rank_profile(1), of_rank))
    assert [run.rank for run in ranks.runs] == [1, 2]
    line = line_spreads(ranks)[WORK, 2]
    assert line.useful.max == 60 * MS  # 30 in the rank's process and 30 in the child


def test_standard_deviations_of_long_times_are_exact() -> None:
    hour = 3_600_000_000_000
    assert spread_of([0, 1], [1000 * hour, 1000 * hour + 2]).sd == 1.0
    assert spread_of([0, 1, 2], [7, 7, 7]).sd == 0.0


def test_more_ranks_than_are_added_at_once_make_one_spread() -> None:
    total = RunningSum()
    for rank in range(150):
        profile = rank_profile(0, rank=rank, wall_ns=rank)
        total.add(profile, cell_columns(profile.functions))
    ranks = ranks_of(total.profile())
    line = line_spreads(ranks)[WORK, 2]
    assert (line.useful.ranks, line.ran, line.hits) == (150, 150, 150)
    assert line.useful.sum == 1500 * MS
    assert values_of(ranks, ranks.runs[149]).hits[0] == 1


def test_missing_ranks_are_bounded() -> None:
    missing = missing_ranks([0, 2, 9], 4)
    assert (missing.number, missing.first) == (2, (1, 3))
    many = missing_ranks([0], 10**15)
    assert many.number == 10**15 - 1
    assert many.first[:2] == (1, 2)
    assert missing_ranks([0], None).number == 0
