"""Findings about memory from known bytes, and none just below each threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import example_memory
import pytest
from example_advice import FILE, MS, advice, found
from example_memory import MB, REPLY, SERVE, leak, sums
from view_text import lines_of

from lineprof.advice import memory
from lineprof.model.host_memory import (
    HostMemory,
    MemoryCurve,
    MemoryPath,
    MemoryRun,
)
from lineprof.report.advice import brief, first_findings
from lineprof.source import Sources

if TYPE_CHECKING:
    from lineprof.line_stats import LineStats

pytestmark = pytest.mark.once  # numbers of fixed profiles

GROWING, TEMPORARY = "growing-memory", "temporary-peak"
KEPT = (REPLY, 7)
LIBRARY = (("/usr/lib/python3.13/json/decoder.py", 340, "decode"), 345)


def grown(
    sizes: list[int],
    *,
    freed: int = 0,
    peak: int = 0,
    lines: tuple[tuple[tuple[str, int, str], int], ...] = ((SERVE, 13), KEPT),
    **run: int,
) -> LineStats:
    """Return a profile in which the last of `lines` has these bytes over the run."""
    end = sizes[-1]
    peak = peak or max(sizes)
    made = MemoryRun(process=0, peak_bytes=peak, peak_ns=MS, **run)
    return leak(
        HostMemory(
            paths=(MemoryPath(0, lines),),
            sums=(
                sums(
                    path=0,
                    allocs=len(sizes),
                    alloc_bytes=end + freed,
                    freed_bytes=freed,
                    peak_bytes=max(sizes),
                ),
            ),
            runs=(made,),
            curves=(
                MemoryCurve(
                    process=0,
                    times_ns=tuple(MS * (number + 1) for number in range(len(sizes))),
                    live_bytes=tuple(sizes),
                    lines=lines[-1:],
                    line_bytes=(tuple(sizes),),
                ),
            ),
        )
    )


def steady(count: int = 80, end: int = 8 * MB) -> list[int]:
    """Return bytes that rise by the same at each moment."""
    return [end * (number + 1) // count for number in range(count)]


def places(stats: LineStats, kind: str) -> list[int]:
    return [one.places[0][1] for one in found(stats, kind)]


# Growth.


def test_a_cache_that_is_never_emptied_keeps_growing() -> None:
    [one] = found(leak(), GROWING)
    assert one.places == (KEPT,)
    assert (one.cost_ns, one.cost_bytes, one.share) == (0, 6_400_000, 6.4 / 7.5)
    assert dict(one.numbers) == {
        "live_bytes": 6_400_000,
        "grown_bytes": 3_200_000,
        "alloc_bytes": 6_400_000,
        "freed_bytes": 0,
        "allocs": 100,
        "run_peak_bytes": 7_500_000,
        "process": 0,
    }
    assert one.measured == (
        "What this line allocated grew over the whole run: 6.400 MB were live at the"
        " end, 85.3 % of the peak of 7.500 MB, 3.200 MB of them from the second half of"
        " the run; 0.0 % of what it allocated was ever freed."
    )


def test_data_that_are_loaded_once_do_not() -> None:
    at_start = [8 * MB] * 80
    assert places(grown(at_start), GROWING) == []
    first_half = [*steady(40), *[8 * MB] * 40]
    assert places(grown(first_half), GROWING) == []
    late = [*[0] * 40, *steady(36), *[8 * MB] * 4]
    assert places(grown(late), GROWING) == []
    last_eighth = [*steady(70), *[8 * MB] * 10]
    assert places(grown(last_eighth), GROWING) == []


def test_one_thing_that_is_built_over_the_whole_run_does_not() -> None:
    assert places(grown(steady(), lines=((SERVE, 13),)), GROWING) == [13]
    assert places(grown(steady(), lines=((SERVE, 11),)), GROWING) == []  # it ran once


def test_growth_may_begin_after_the_start_and_slow_down() -> None:
    assert places(grown([*[0] * 16, *steady(64)]), GROWING) == [7]
    slower = [round(8 * MB * (number / 80) ** 0.5) for number in range(1, 81)]
    assert places(grown(slower), GROWING) == [7]


def test_bytes_that_are_freed_again_do_not_count() -> None:
    falls = steady()
    falls[60] -= 510_000  # 5.1 % below the moment before
    assert places(grown(falls), GROWING) == []
    falls[60] += 20_000
    assert places(grown(falls), GROWING) == [7]
    stats = grown(steady())
    [one] = stats.memory.sums
    half = one._replace(freed_bytes=4 * MB)
    assert places(leak(stats.memory._replace(sums=(half,))), GROWING) == []


@pytest.mark.parametrize(
    ("stats", "is_found"),
    [
        (grown(steady(end=memory.MIN_GROWN_BYTES)), True),
        (grown(steady(end=memory.MIN_GROWN_BYTES - 1)), False),
        (grown(steady(), peak=80 * MB), True),
        (grown(steady(), peak=80 * MB + 10), False),
        (grown(steady(16)), True),
        (grown(steady(15)), False),
    ],
)
def test_a_small_program_has_no_growing_line(
    stats: LineStats, *, is_found: bool
) -> None:
    assert bool(places(stats, GROWING)) is is_found


def test_temporaries_of_a_growing_line_are_named_as_freed() -> None:
    [one] = found(grown(steady(), freed=8 * MB), GROWING)
    assert "50.0 % of what it allocated was ever freed" in one.measured


def test_a_line_of_a_library_stands_for_that_of_the_program() -> None:
    stats = grown(steady(), lines=((SERVE, 13), LIBRARY))
    whole = stats.with_processes(
        [one._replace(is_whole=True) for one in stats.processes]
    )
    [one] = found(whole, GROWING)
    assert one.places == ((SERVE, 13), LIBRARY)
    assert one.measured.startswith("What this line, by a library, allocated grew")


def test_estimates_say_so() -> None:
    [one] = found(grown(steady(), sample_bytes=512_000), GROWING)
    assert "about 8.000 MB were live at the end" in one.measured


def test_a_line_of_several_processes_is_found_once_with_most_bytes() -> None:
    first, second = grown(steady()).memory, grown(steady(end=9 * MB)).memory
    both = HostMemory(
        paths=(*first.paths, second.paths[0]._replace(process=1)),
        sums=(*first.sums, second.sums[0]._replace(path=1)),
        runs=(*first.runs, second.runs[0]._replace(process=1)),
        curves=(*first.curves, second.curves[0]._replace(process=1)),
    )
    [one] = found(leak(both), GROWING)
    assert one.cost_bytes == 9 * MB


# Temporaries.


def peaked(
    temporary: int = 40 * MB,
    others: int = 20 * MB,
    *,
    temp_bytes: int | None = None,
    live_bytes: int = 0,
    held: int = 5,
) -> LineStats:
    """Return a profile whose peak is `temporary` bytes of reply 6, over `others`.

    They are held for so many of 80 moments.
    """
    sizes = [0] * 30 + [temporary] * held + [0] * (50 - held)
    return leak(
        HostMemory(
            paths=(
                MemoryPath(0, ((SERVE, 13), (REPLY, 6))),
                MemoryPath(0, ((SERVE, 11),)),
            ),
            sums=(
                sums(
                    path=0,
                    allocs=1,
                    alloc_bytes=temporary,
                    freed_bytes=temporary - live_bytes,
                    temp_bytes=temporary if temp_bytes is None else temp_bytes,
                    peak_bytes=temporary,
                ),
                sums(path=1, allocs=1, alloc_bytes=others, peak_bytes=others),
            ),
            runs=(
                MemoryRun(process=0, peak_bytes=temporary + others, peak_ns=31 * MS),
            ),
            curves=(
                MemoryCurve(
                    process=0,
                    times_ns=tuple(MS * (number + 1) for number in range(80)),
                    live_bytes=tuple(size + others for size in sizes),
                    lines=((REPLY, 6), (SERVE, 11)),
                    line_bytes=(tuple(sizes), (others,) * 80),
                ),
            ),
        )
    )


def test_a_temporary_that_makes_the_peak_is_found() -> None:
    [one] = found(peaked(), TEMPORARY)
    assert one.places == ((REPLY, 6),)
    assert (one.cost_bytes, one.share) == (40 * MB, 40 / 60)
    assert one.measured == (
        "40.00 MB that this line allocated were live at the peak, 66.7 % of 60.00 MB,"
        " and were freed before the line ended; without them the most that was seen"
        " live is 20.00 MB."
    )


def test_bytes_that_are_held_while_their_line_runs_are_found() -> None:
    [one] = found(peaked(temp_bytes=0, held=40), TEMPORARY)  # line 6 took 40 ms
    assert "and half of them or more were held for only 40.00 ms;" in one.measured
    stats = peaked(temp_bytes=0, held=5)
    [serve, reply] = stats.functions
    cells = [
        one._replace(time_ns=3 * MS) if one.line == 6 else one
        for one in reply.thread_lines
    ]
    short = stats.with_functions([serve, reply._replace(thread_lines=tuple(cells))])
    assert found(short, TEMPORARY) == []


@pytest.mark.parametrize(("outlived", "is_said"), [(4 * MB, True), (5 * MB, False)])
def test_a_result_that_outlives_much_churn_was_not_freed_by_its_line(
    outlived: int, *, is_said: bool
) -> None:
    stats = peaked(temp_bytes=1000 * MB)
    first, *others = stats.memory.sums
    first = first._replace(alloc_bytes=1000 * MB + outlived)
    first = first._replace(freed_bytes=first.alloc_bytes)
    [one] = found(leak(stats.memory._replace(sums=(first, *others))), TEMPORARY)
    assert ("were freed before the line ended" in one.measured) is is_said


def test_what_a_program_works_with_for_most_of_the_run_is_no_temporary() -> None:
    assert len(found(peaked(held=40), TEMPORARY)) == 1
    assert found(peaked(held=41), TEMPORARY) == []


@pytest.mark.parametrize(
    ("stats", "is_found"),
    [
        (peaked(memory.MIN_TEMPORARY_BYTES, MB), True),
        (peaked(memory.MIN_TEMPORARY_BYTES - 1, MB), False),
        (peaked(30 * MB, 70 * MB), True),
        (peaked(30 * MB, 70 * MB + 10), False),
        (peaked(live_bytes=400_000), True),
        (peaked(live_bytes=400_001), False),
    ],
)
def test_other_peaks_are_left_alone(stats: LineStats, *, is_found: bool) -> None:
    assert bool(found(stats, TEMPORARY)) is is_found


def test_a_peak_that_would_be_as_high_without_it_is_left_alone() -> None:
    stats = peaked()
    [curve] = stats.memory.curves
    high = list(curve.live_bytes)
    high[-1] = 52 * MB
    again = curve._replace(live_bytes=tuple(high))
    assert found(leak(stats.memory._replace(curves=(again,))), TEMPORARY) == []


def test_without_a_curve_nothing_is_proved() -> None:
    for stats, kind in ((leak(), GROWING), (peaked(), TEMPORARY)):
        without = leak(stats.memory._replace(curves=()))
        assert found(without, kind) == []
        assert kind not in advice(without).checked


# Views.


def test_the_kinds_are_looked_for_only_in_profiles_with_memory() -> None:
    assert {GROWING, TEMPORARY} <= {*advice(leak()).checked}
    bare = leak(HostMemory())
    assert not {GROWING, TEMPORARY} & {*advice(bare).checked}


def test_the_advice_has_bytes_and_the_share_of_the_peak() -> None:
    lines = lines_of(leak(), "advice")
    assert "1. growing-memory: 6.400 MB, 85.3 %" in lines
    assert lines[0] == "1 finding; its share is of the peak of the memory"
    assert "   program.py:7          CACHE[number] = page" in lines


def test_the_first_screen_has_the_first_finding_about_memory() -> None:
    stats = leak()
    [one] = first_findings(stats, Sources(stats.sources))
    first, second = brief(one, stats, example_memory.WIDE)
    assert first.startswith("growing-memory at program.py:7: What this line")
    assert "a cache with a largest size" in second
    assert REPLY[0] == FILE
