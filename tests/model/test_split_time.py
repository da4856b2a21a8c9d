"""Splits of a line's time: Python, C functions, system, wait and callees.

The machine may be busy, so shares are relative to the time on a processor, and
their limits are wide.
"""

from __future__ import annotations

import io
import json
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from as_python import kernprof, write
from c_events import needs_c_events
from running import new_profiler
from view_text import lines_of

from lineprof import load_stats
from lineprof.line_stats import LineStats
from lineprof.model.records import (
    C_SYSTEM,
    C_WAIT,
    NO_NODE,
    SYSTEM,
    WAIT,
    CallNode,
    CallTree,
    FunctionStats,
    LineBreakdown,
    ThreadLine,
)
from lineprof.model.time_split import TimeSplit, line_time_splits
from lineprof.report.line_table import SPLIT_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from lineprof.model.records import Key

    Make = Callable[[], Any]

LINUX = sys.platform == "linux"
MAIN, KEY = ("/p/a.py", 1, "main"), ("/p/a.py", 8, "key")
SORTED, LEN = ("", 0, "builtins.sorted"), ("", 0, "builtins.len")


# -- profiles made by hand -----------------------------------------------------


def function(key: Key, times: dict[int, int]) -> FunctionStats:
    cells = (ThreadLine(n, -1, 1, ns, 0, ns, ns, ns) for n, ns in times.items())
    return FunctionStats(key[0], key[2], key[1], thread_lines=tuple(cells), calls=1)


def example(*own: LineBreakdown) -> LineStats:
    """Return a profile: line 2 of main sorts for 600 ns, 100 of them in key and len."""
    return LineStats.from_functions(
        [function(MAIN, {2: 700, 3: 50}), function(KEY, {9: 100})],
        calls=CallTree(
            (
                CallNode(NO_NODE, 0, MAIN, -1, 1, 1, 150, 750, 750),
                CallNode(0, 2, SORTED, -1, 1, 1, 500, 600, 600),
                CallNode(1, 0, KEY, -1, 5, 5, 70, 100, 100),
                CallNode(2, 9, LEN, -1, 5, 5, 30, 30, 30),
            )
        ),
        breakdowns=own,
    )


def test_the_splits_of_lines() -> None:
    stats = example(
        LineBreakdown(MAIN, 2, 0, WAIT, 10),
        LineBreakdown(MAIN, 2, 0, SYSTEM, 20),
        LineBreakdown(MAIN, 2, 0, C_WAIT, 100),
        LineBreakdown(MAIN, 2, 0, C_SYSTEM, 150),
        LineBreakdown(MAIN, 2, 1, C_SYSTEM, 50),
    )
    assert line_time_splits(stats) == {
        MAIN: {2: TimeSplit(70, 200, 220, 110, 100), 3: TimeSplit(50, 0, 0, 0, 0)},
        KEY: {9: TimeSplit(70, 30, 0, 0, 0)},
    }


def test_no_part_of_a_line_is_longer_than_its_time() -> None:
    stats = example(
        LineBreakdown(MAIN, 3, 0, SYSTEM, 4_000),
        LineBreakdown(MAIN, 2, 0, WAIT, 95),
        LineBreakdown(MAIN, 2, 0, SYSTEM, 4_000),
        LineBreakdown(KEY, 9, 0, C_WAIT, 4_000),
        LineBreakdown(KEY, 9, 0, C_SYSTEM, 4_000),
    )
    assert line_time_splits(stats) == {
        MAIN: {2: TimeSplit(0, 500, 5, 95, 100), 3: TimeSplit(0, 0, 50, 0, 0)},
        KEY: {9: TimeSplit(70, 0, 0, 30, 0)},
    }


def test_a_profile_without_the_option_has_no_splits_and_a_note() -> None:
    assert line_time_splits(example()) == {}
    note = "The profile does not tell Python, native and system time apart"
    assert lines_of(example(), "text", columns=("native",))[-1].startswith(note)
    nothing = LineBreakdown(MAIN, 1, 0, WAIT, 0)
    lines = lines_of(example(nothing), "text", columns=("native",))
    assert not any(line.startswith(note) for line in lines)


def test_the_table_has_columns_that_add_up() -> None:
    stats = example(
        LineBreakdown(MAIN, 2, 0, C_WAIT, 100), LineBreakdown(MAIN, 2, 0, SYSTEM, 20)
    )
    lines = lines_of(stats, "text", unit=1e-9, columns=tuple(SPLIT_COLUMNS))
    title = next(line for line in lines if line.startswith("Line #"))
    assert title.split()[-8:-2] == [
        *("Python", "Native", "System", "Own", "Wait", "Callees")
    ]
    row = next(line.split() for line in lines if line.split()[:1] == ["2"])
    assert row[2] == "700.0"
    assert row[5:] == ["80.0", "400.0", "20.0", "100.0", "100.0"]


def test_files_and_sums_keep_splits(tmp_path: Path) -> None:
    stats = example(
        LineBreakdown(MAIN, 2, -1, C_WAIT, 100), LineBreakdown(KEY, 9, -1, WAIT, 0)
    )
    stats.to_file(tmp_path / "x.lprof")
    found = load_stats(tmp_path / "x.lprof")
    assert found.breakdowns == stats.breakdowns
    both = found + found
    assert {one.ns for one in both.breakdowns} == {200, 0}
    example().to_file(tmp_path / "y.lprof")
    assert load_stats(tmp_path / "y.lprof").breakdowns == ()


# -- programs that run ---------------------------------------------------------

measured = pytest.mark.usefixtures("hook")


@pytest.fixture
def make() -> Iterator[Make]:
    """Yield a maker of profilers with --split; the option ends with the test."""

    def new() -> Any:
        profiler = new_profiler()
        profiler.c_functions(split=True)
        return profiler

    yield new
    new_profiler().c_functions(on=False)


def split_of(profiler: Any, name: str, line: int) -> TimeSplit:
    """Return the split of a line's time; line 1 is below ``def``."""
    stats = profiler.get_stats()
    key = next(f.key for f in stats.functions if f.name.endswith(name))
    return line_time_splits(stats)[key][key[1] + 1 + line]


def share(split: TimeSplit, ns: int) -> float:
    """Return the share of `ns` in the time on a processor without callees."""
    return ns / (split.python_ns + split.native_ns + split.system_ns)


@pytest.mark.serial
@measured
def test_arithmetic_is_python_time(make: Make) -> None:
    profiler = make()

    @profiler
    def work() -> int:
        n = 0
        for i in range(20_000):  # the line is long: its events cost little beside it
            n += i**90 % 7 + i**80 % 5 + i**70 % 11
        return n

    work()
    split = split_of(profiler, "work", 3)
    assert share(split, split.python_ns) > 0.8


@pytest.mark.serial
@measured
@needs_c_events
def test_sorting_is_native_time(make: Make) -> None:
    profiler = make()
    data = [hash(str(i)) for i in range(200_000)]

    @profiler
    def work() -> list[int]:
        return sorted(data)

    work()
    split = split_of(profiler, "work", 1)
    assert share(split, split.native_ns) > 0.6


@pytest.mark.serial
@measured
@pytest.mark.skipif(not LINUX, reason="other systems do not report system time")
def test_reading_random_numbers_is_system_time(make: Make) -> None:
    profiler = make()

    @profiler
    def read() -> None:
        with io.FileIO("/dev/urandom") as source:
            source.read(30_000_000)

    read()
    split = split_of(profiler, "read", 2)
    assert share(split, split.system_ns) > 0.5


@pytest.mark.serial
@measured
def test_a_sleep_is_own_wait_of_its_line_alone(make: Make) -> None:
    profiler = make()

    @profiler
    def nap() -> None:
        time.sleep(0.1)

    @profiler
    def work() -> None:
        nap()

    work()
    own, above = split_of(profiler, "nap", 1), split_of(profiler, "work", 1)
    assert own.own_wait_ns > 80_000_000
    assert above.own_wait_ns < 20_000_000
    assert above.callees_ns > 80_000_000


@pytest.mark.serial
@measured
@needs_c_events
def test_a_function_called_back_by_c_is_a_callee(make: Make) -> None:
    profiler = make()

    @profiler
    def key(value: int) -> int:
        time.sleep(0.02)
        return value

    @profiler
    def work() -> list[int]:
        return sorted([3, 1, 2], key=key)

    work()
    split = split_of(profiler, "work", 1)
    assert split.callees_ns > 50_000_000
    assert split.native_ns + split.python_ns < split.callees_ns


def test_splits_by_kernprof_add_up(tmp_path: Path) -> None:
    write(
        tmp_path,
        "x.py",
        """
        import os, time

        def inner(n):
            time.sleep(0.01)
            return sum(range(n))

        def main():
            for n in range(5):
                inner(100_000)
                data = sorted(os.urandom(200_000))
            return data

        main()
        """,
    )
    alone = kernprof("-lqo", "plain", "x.py", cwd=tmp_path)
    split = kernprof("-lqo", "split", "--split", "x.py", cwd=tmp_path)
    assert (alone.status, split.status, split.err) == (0, 0, "")
    assert load_stats(tmp_path / "plain").breakdowns == ()
    stats = load_stats(tmp_path / "split")
    rows = {(f.key, row.line): row for f in stats.functions for row in f.rows}
    lines = {
        (key, line): one
        for key, found in line_time_splits(stats).items()
        for line, one in found.items()
    }
    assert lines.keys() == {place for place, row in rows.items() if row.time_ns}
    assert all(one.time_ns == rows[place].time_ns for place, one in lines.items())
    assert all(min(one) >= 0 for one in lines.values())
    made = json.loads("".join(lines_of(stats, "json")))
    for one in (one for each in made["functions"] for one in each["lines"]):
        assert sum(one.get("split", {"": 0}).values()) == one["time_ns"]
