"""Selected slices of exported timelines: the longest ones, with the sums of all."""

from __future__ import annotations

import io
import itertools
import json
import random
import re
import sqlite3
import sys
from collections import Counter, defaultdict
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import example_calls
import pytest
from as_python import Outcome, viewer
from example_gpu import ORIGIN_NS, PROCESS, THREADS, example
from example_traces import SLICES

import lineprof.cli.export
from lineprof.console.progress import Progress
from lineprof.export import EXPORTS, selection
from lineprof.line_stats import LineStats
from lineprof.model.timelines import SLICE_COLUMNS, Slice, Trace, pack_slices
from lineprof.storage import load, save

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.once  # files of fixed profiles

A, B, C = (("/p/a.py", line, name) for line, name in ((1, "a"), (10, "b"), (20, "c")))
SUMS = selection.SUMS_NAME
TIMELINES = [one.name for one in EXPORTS.values() if one.has_timeline]


def packed(slices: Iterable[Slice], *, in_order: bool = True) -> Trace:
    """Return a trace of `slices`, sorted as traces are."""
    rows = list(slices)
    if in_order:
        rows.sort(key=lambda one: (one.start_ns, -one.ns))
    functions = list(dict.fromkeys(one.function for one in rows))
    columns: dict[str, list[int]] = {
        "thread": [one.thread for one in rows],
        "function": [functions.index(one.function) for one in rows],
        "line": [one.line for one in rows],
        "start": [one.start_ns + ORIGIN_NS for one in rows],
        "ns": [one.ns for one in rows],
    }
    data = {
        name: b"".join(
            value.to_bytes(8 if kind == "Q" else 4, sys.byteorder)
            for value in columns[name]
        )
        for name, kind in SLICE_COLUMNS.items()
    }
    return Trace(
        process=0,
        count=len(rows),
        left_out=0,
        origin_ns=ORIGIN_NS,
        functions=tuple(functions),
        threads=(0, 1),
        batches=pack_slices(data),
    )


def profile(slices: Iterable[Slice], *, in_order: bool = True) -> LineStats:
    """Return a profile of two threads with these slices."""
    return LineStats.from_functions(
        [],
        processes=[PROCESS._replace(overhead_ns=0)],
        threads=THREADS,
        traces=[packed(slices, in_order=in_order)],
    )


@dataclass(frozen=True)
class Shown:
    """One slice of a Chrome trace; times in ns."""

    row: str
    name: str
    start: int
    ns: int

    @property
    def end(self) -> int:
        return self.start + self.ns


@dataclass(frozen=True)
class Exported:
    """A Chrome trace, parsed, and what the command said."""

    slices: list[Shown]
    sums: list[Shown]
    events: list[dict[str, Any]]
    said: list[str]


def exported(folder: Path, stats: LineStats, *flags: str) -> Exported:
    """Save a profile, run the command, and read the file."""
    save(stats, folder / "x.lprof")
    done = export(folder, "chrome", *flags)
    assert done.status == 0, done.err
    events = json.loads((folder / "x.trace.json").read_text())["traceEvents"]
    rows = {
        (one["pid"], one["tid"]): one["args"]["name"]
        for one in events
        if one["name"] == "thread_name"
    }
    found = [
        Shown(
            rows[one["pid"], one["tid"]],
            one["name"],
            round(one["ts"] * 1000),
            round(one["dur"] * 1000),
        )
        for one in events
        if one["ph"] == "X"
    ]
    said = [line.removeprefix("lineprof: ") for line in done.err.splitlines()]
    said.remove("wrote x.trace.json")
    return Exported(
        [one for one in found if SUMS not in one.row],
        [one for one in found if SUMS in one.row],
        events,
        said,
    )


def export(folder: Path, name: str, *flags: str) -> Outcome:
    return viewer("export", "-f", name, "x.lprof", *flags, cwd=folder)


# A calls B and C, then B runs on its own, five times.
KNOWN = (
    Slice(1_000, 9_000, 0, A, 0),
    Slice(2_000, 3_000, 0, B, 0),
    Slice(2_500, 2_000, 0, C, 0),
    Slice(6_000, 1_000, 0, C, 0),
    *(Slice(11_000 + 100 * i, 50 + i, 0, B, 0) for i in range(5)),
)


def test_the_longest_slices_are_shown_and_the_others_count_above(
    tmp_path: Path,
) -> None:
    found = exported(tmp_path, profile(KNOWN), "--limit", "3")
    assert [(one.name, one.start, one.ns) for one in found.slices] == [
        ("a", 1_000, 9_000),
        ("b", 2_000, 3_000),
        ("c", 2_500, 2_000),
    ]
    assert [(one.row, one.name, one.start, one.ns) for one in found.sums] == [
        (f"MainThread: {SUMS} (4711)", "b", 11_000, 50 + 51 + 52 + 53 + 54)
    ]
    (said,) = found.said
    assert said == (
        "the file has the longest 3 of 9 slices, down to 2.0000us: the others count as"
        f" time of the slices around them, or on a row '{SUMS}' if there is none;"
        " --limit 0 writes all"
    )


def test_a_minimum_length_folds_shorter_slices(tmp_path: Path) -> None:
    found = exported(tmp_path, profile(KNOWN), "--min-duration", "52ns")
    assert [one.ns for one in found.slices] == [
        *(9_000, 3_000, 2_000, 1_000),
        52,
        53,
        54,
    ]
    assert [(one.name, one.ns) for one in found.sums] == [("b", 50), ("b", 51)]
    (said,) = found.said
    assert said == (
        "2 of 9 slices are shorter than 52ns: they count as time of the slices around"
        f" them, or on a row '{SUMS}' if there is none"
    )


def test_a_window_cuts_slices_off_at_its_ends(tmp_path: Path) -> None:
    window = ("--from", "2.6us", "--to", "0.0000065")
    found = exported(tmp_path, profile(KNOWN), *window)
    assert [(one.name, one.start, one.end) for one in found.slices] == [
        ("a", 2_600, 6_500),
        ("b", 2_600, 5_000),
        ("c", 2_600, 4_500),
        ("c", 6_000, 6_500),
    ]
    assert (found.sums, found.said) == ([], [])
    found = exported(tmp_path, profile(KNOWN), "--from", "1s")
    assert found.slices == []
    assert found.said == ["the file has no slices: none is between --from and --to"]


def test_of_equal_slices_some_are_shown_from_all_of_the_time(tmp_path: Path) -> None:
    equal = [Slice(1_000 * i, 500, i % 2, A, 0) for i in range(100)]
    found = exported(tmp_path, profile(equal), "--limit", "10")
    assert len(found.slices) == 10
    assert found.slices[0].start == 0
    assert found.slices[-1].start >= 80_000
    assert sum(one.ns for one in found.slices + found.sums) == 100 * 500


# Slices at random, as a program could make them.


def random_slices(seed: int, thread: int) -> Iterator[Slice]:
    """Yield the slices of a thread, in the order in which they begin."""
    choose = random.Random(seed)  # noqa: S311  # the same ones each time

    def within(start: int, end: int, depth: int) -> Iterator[Slice]:
        at = start
        while True:
            at += choose.randrange(0, 2_000)
            ns = choose.choice([0, 100, choose.randrange(1 << choose.randrange(1, 22))])
            if at + ns > end:
                return
            key = choose.choice([A, B, C])
            yield Slice(at, ns, thread, key, 0)
            if depth < 12:
                yield from within(at, at + ns, depth + 1)
            at += ns

    return within(0, 5_000_000, 0)


def outermost(slices: Iterable[Shown]) -> Counter[tuple[str, str]]:
    """Return the time of the outermost slices, by row and name; fail unless nested."""
    times: Counter[tuple[str, str]] = Counter()
    ends: dict[str, list[int]] = defaultdict(list)
    for one in slices:
        mine = ends[one.row]
        while mine and mine[-1] <= one.start:
            mine.pop()
        assert not mine or one.end <= mine[-1], one
        if not mine:
            times[one.row.replace(f": {SUMS}", ""), one.name] += one.ns
        mine.append(one.end)
    return +times


@pytest.mark.parametrize(
    "flags",
    [
        *(("--limit", f"{limit}") for limit in (1, 10, 100, 777, 1500)),
        ("--min-duration", "100ns"),
        ("--min-duration=0.5ms", "--limit=5"),
        ("--from=1ms", "--to=3ms", "--limit=50"),
    ],
)
def test_sums_hold_and_no_slice_is_outside_of_its_caller(
    tmp_path: Path, flags: tuple[str, ...]
) -> None:
    slices = [*random_slices(1, 0), *random_slices(2, 1)]
    assert len(slices) > 1_600
    window = [flag for flag in flags if flag.startswith(("--from", "--to"))]
    whole = exported(tmp_path, profile(slices), "--limit=0", *window)
    found = exported(tmp_path, profile(slices), *flags)
    times = outermost(found.slices)
    times.update(outermost(found.sums))
    assert times == outermost(whole.slices)
    there = Counter(whole.slices)
    there.subtract(Counter(found.slices))
    assert min(there.values()) == 0  # each one is of the whole timeline
    left_out = [one.ns for one in there.elements()]
    assert left_out
    assert max(left_out) <= min(one.ns for one in found.slices)
    if "--limit" in flags:
        assert 0.9 * int(flags[1]) <= len(found.slices) <= int(flags[1])


@pytest.mark.parametrize("name", TIMELINES)
def test_without_a_limit_the_file_is_that_of_all_slices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    save(profile(KNOWN), tmp_path / "x.lprof")
    whole = b"".join(EXPORTS[name].content(load(tmp_path / "x.lprof")))
    file = tmp_path / "out"
    monkeypatch.setattr("lineprof.cli.export.DEFAULT_LIMIT", 8)
    for flags, is_whole in (
        (("--limit=0",), True),
        (("--limit=9",), True),
        ((), False),
    ):
        done = export(tmp_path, name, "-o", "out", *flags)
        assert done.status == 0
        assert (file.read_bytes() == whole) == is_whole
        assert ("the longest 8 of 9 slices" in done.err) == (not is_whole)


def test_slices_that_are_stored_out_of_order_are_sorted(tmp_path: Path) -> None:
    stats = profile(reversed(KNOWN), in_order=False)
    found = exported(tmp_path, stats, "--limit", "2")
    assert [one.ns for one in found.slices] == [9_000, 3_000]
    assert outermost(found.slices)[found.slices[0].row, "a"] == 9_000


def test_other_formats_have_the_same_slices_and_sums(tmp_path: Path) -> None:
    slices = [*random_slices(1, 0), *random_slices(2, 1)]
    found = exported(tmp_path, profile(slices), "--limit=50")
    times = Counter(one.name for one in found.slices + found.sums)
    assert export(tmp_path, "sqlite", "--limit=50").status == 0
    query = "SELECT name, count(*) FROM slices JOIN functions ON id = function_id"
    with closing(sqlite3.connect(tmp_path / "x.sqlite")) as db:
        rows = dict(db.execute(f"{query} GROUP BY name"))
    assert rows == {name[-1]: count for name, count in times.items()}
    assert export(tmp_path, "speedscope", "--limit=50").status == 0
    file = json.loads((tmp_path / "x.speedscope.json").read_text())
    opened = Counter(
        file["shared"]["frames"][event["frame"]]["name"]
        for view in file["profiles"]
        for event in view["events"]
        if event["type"] == "O" and view["name"].endswith("by function")
    )
    assert opened == times


def test_sums_in_a_cpuprofile_have_only_their_own_time(tmp_path: Path) -> None:
    calls = [Slice(1_000_000 * i, 2_000, 0, B, 0) for i in (3, 9)]
    save(profile([Slice(0, 1_000_000, 0, A, 0), *calls]), tmp_path / "x.lprof")
    assert export(tmp_path, "cpuprofile", "--min-duration=10us").status == 0
    nodes = json.loads((tmp_path / "x.cpuprofile").read_text())["nodes"]
    times = {node["callFrame"]["functionName"]: node["hitCount"] for node in nodes}
    assert {name: us for name, us in times.items() if us} == {"a": 1_000, "b": 4}


# GPU activities.


def gpu_profile() -> LineStats:
    """Return the profile of example_gpu with the slices of example_traces."""
    stats = example()
    stats.traces = (packed(SLICES),)
    return stats


@pytest.mark.parametrize("limit", [1, 5, 8, 12, 20])
def test_gpu_activities_count_and_no_arrow_is_left_alone(
    tmp_path: Path, limit: int
) -> None:
    found = exported(tmp_path, gpu_profile(), "--limit", f"{limit}")
    shown = [one for one in found.slices if "overhead" not in one.row]
    assert limit - 2 <= len(shown) <= limit
    whole = exported(tmp_path, gpu_profile(), "--limit=0")
    left_out = Counter(whole.slices) - Counter(found.slices)
    longest = max((one.ns for one in left_out), default=0)
    assert longest <= min(one.ns for one in shown)
    starts, ends = (
        {one["id"]: one for one in found.events if one["ph"] == phase}
        for phase in ("s", "f")
    )
    assert starts.keys() == ends.keys()
    places = {
        (one["pid"], one["tid"], one["ts"]) for one in found.events if one["ph"] == "X"
    }
    for one in (*starts.values(), *ends.values()):
        assert (one["pid"], one["tid"], one["ts"]) in places


def test_of_slices_of_one_length_gpu_activities_come_first(tmp_path: Path) -> None:
    found = exported(tmp_path, gpu_profile(), "--limit", "3")
    rows = [one.row for one in found.slices if one.ns == 500_000]
    assert rows == ["Context 1: Compute", "Context 1: Stream 7"]
    assert [one.ns for one in SLICES].count(500_000) == 2


def test_sums_of_a_run_without_a_trace_are_whole(tmp_path: Path) -> None:
    flags = ("--limit=2", "--min-duration=1s")
    found = exported(tmp_path, example_calls.example(), *flags)
    assert found.slices == exported(tmp_path, example_calls.example()).slices
    said = "--min-duration, --from and --to leave the sums of calls as they are"
    assert said in found.said


# Flags, and what is said.


@pytest.mark.parametrize("flag", ["limit", "min-duration", "from", "to"])
def test_a_number_may_have_any_number_of_digits(tmp_path: Path, flag: str) -> None:
    save(profile(KNOWN), tmp_path / "x.lprof")
    unit = "" if flag == "limit" else "s"
    words = (f"--{flag}={'9' * 5000}{unit}", "-o-")
    done = viewer("export", "x.lprof", "-fchrome", *words, cwd=tmp_path)
    assert done.status == 0
    assert "traceEvents" in json.loads(done.out)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            ("-fcallgrind", "--limit=5"),
            "callgrind has no timeline, for which --limit is",
        ),
        (("-fcsv", "--from=1s"), "csv has no timeline, for which --from is"),
        (("-fchrome", "--min-duration=10"), "'10' is no time; give 10us, 1ms or 0.5s"),
        (("-fchrome", "--to=later"), "'later' is no time; give 10us, 1ms or 0.5s"),
        (("-fchrome", "--limit=-1"), "'-1' is no number; give 1000000, or 0 for all"),
        (("-fchrome", "--from=2s", "--to=2"), "--to is not later than --from"),
    ],
)
def test_flags_that_do_not_fit_are_an_error_of_one_line(
    tmp_path: Path, flags: tuple[str, ...], message: str
) -> None:
    save(profile(KNOWN), tmp_path / "x.lprof")
    done = viewer("export", "x.lprof", *flags, cwd=tmp_path)
    assert done.status != 0
    assert message in done.err
    assert done.err.count("\n") == 1
    assert [file.name for file in tmp_path.iterdir()] == ["x.lprof"]


def test_long_work_is_shown_on_a_terminal() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal, seconds = Terminal(), itertools.count()
    with Progress(terminal, lambda: next(seconds)) as progress:
        choice = selection.SliceChoice(limit=2)
        selection.select(profile(KNOWN), choice, progress)
    shown = [part for part in re.split("[\r\x1b]", terminal.getvalue()) if part[2:]]
    assert shown == [
        "[Klineprof: counting slices: 9 of 9",
        "[Klineprof: choosing slices: 9 of 9",
    ]


@pytest.mark.parametrize("name", TIMELINES)
def test_the_size_is_said_before_a_large_file_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    save(profile(random_slices(1, 0)), tmp_path / "x.lprof")
    monkeypatch.setattr(selection, "_SAMPLE_FROM", 10)
    assert "will have" not in export(tmp_path, name, "-o", "out").err
    size = (tmp_path / "out").stat().st_size
    monkeypatch.setattr(lineprof.cli.export, "_LARGE", size - 1)
    said = export(tmp_path, name, "-o", "out").err.splitlines()
    megabytes = round(size / 1e6, -1)
    assert said[0] == (
        f"lineprof: the file will have about {megabytes:,.0f} MB; --limit,"
        " --min-duration, --from and --to make it smaller"
    )
    assert said[1] == "lineprof: wrote out"
