"""Timelines of several hosts: one time axis, whatever their clocks say."""

from __future__ import annotations

import json
import time
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from as_python import viewer
from example_stats import PROCESS

from lineprof import LineProfiler
from lineprof.line_stats import LineStats
from lineprof.model.records import FunctionStats, Thread, ThreadLine
from lineprof.model.timelines import SLICE_COLUMNS, Trace, pack_slices

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from as_python import Outcome

pytestmark = pytest.mark.once  # files of fixed profiles

S, MS, US = 1_000_000_000, 1_000_000, 1_000  # in ns
NOON = 1_700_000_000 * S  # since the epoch
WORK, SOLVE = ("/p/solve.py", 1, "work"), ("/p/solve.py", 9, "solve")
BARRIER = ("", 0, "mpi4py.MPI.Comm.Barrier")
ALLREDUCE = ("", 0, "mpi4py.MPI.Comm.allreduce")
SEND = ("", 0, "mpi4py.MPI.Comm.send")
IBARRIER = ("", 0, "mpi4py.MPI.Comm.Ibarrier")
TORCH = "/site/torch/distributed/distributed_c10d.py"


@dataclass
class Host:
    """A machine: its name, and its clocks at noon (ns)."""

    name: str
    monotonic: int  # since it was started
    fast: int = 0  # how much its time of day is ahead


NODE_1 = Host("node-1", 500 * S)
NODE_2 = Host("node-2", 77 * S, fast=3 * S)


def profile(
    host: Host,
    rank: int,
    calls: Sequence[tuple[int, int, tuple[str, int, str]]],
    *,
    late: int = 0,
    is_old: bool = False,
) -> LineStats:
    """Return the profile of a rank that began to measure at noon, or `late` (ns).

    Calls have a start in ns after noon, a length and a function.
    """
    functions = tuple(dict.fromkeys(call[2] for call in calls))
    columns = {name: array(kind) for name, kind in SLICE_COLUMNS.items()}
    for start, ns, function in sorted(calls):
        for name, value in (
            ("thread", 0),
            ("function", functions.index(function)),
            ("line", 0),
            ("start", host.monotonic + start),
            ("ns", ns),
        ):
            columns[name].append(value)
    trace = Trace(
        process=0,
        count=len(calls),
        left_out=0,
        origin_ns=host.monotonic + late,
        functions=functions,
        threads=(0,),
        batches=pack_slices({name: one.tobytes() for name, one in columns.items()}),
    )
    process = PROCESS._replace(
        pid=100 + rank,
        host=host.name,
        rank=rank,
        ranks=4,
        overhead_ns=0,
        start_unix_ns=NOON + host.fast + late,
        unix_offset_ns=None if is_old else NOON + host.fast - host.monotonic,
    )
    line = ThreadLine(line=2, thread=0, hits=1, time_ns=5)
    return LineStats.from_functions(
        [FunctionStats(WORK[0], WORK[2], WORK[1], (line,))],
        processes=[process],
        threads=[Thread(process=0, native_id=100 + rank, name="MainThread")],
        traces=[trace],
    )


def exported(
    folder: Path, *profiles: LineStats, flags: Sequence[str] = ()
) -> tuple[dict[tuple[int, str], list[float]], Outcome]:
    """Return the starts (µs) of slices by rank and name in a trace for Chrome."""
    names = []
    for index, one in enumerate(profiles):
        names.append(f"{index}.lprof")
        one.to_file(str(folder / names[-1]))
    done = viewer("export", "-fchrome", "-o", "all.json", *names, *flags, cwd=folder)
    assert done.status == 0, done.err
    found: dict[tuple[int, str], list[float]] = {}
    events = json.loads((folder / "all.json").read_text())["traceEvents"]
    ranks = {
        one["pid"]: int(one["args"]["name"].partition("rank ")[2].rstrip(")"))
        for one in events
        if one["name"] == "process_name"
    }
    for one in events:
        if one["ph"] == "X":
            starts = found.setdefault((ranks[one["pid"]], one["name"]), [])
            starts.append(one["ts"])
    return found, done


def meetings(*ends: int, start: int = 0) -> list[tuple[int, int, tuple[str, int, str]]]:
    """Return barriers and a reduction that end at these times, after a call of work."""
    kinds = [BARRIER, ALLREDUCE, BARRIER, BARRIER, BARRIER]
    return [
        (start, MS, WORK),
        *((end - 200 * US, 200 * US, kind) for end, kind in zip(ends, kinds)),
    ]


ENDS = (10 * MS, 20 * MS, 30 * MS)
LATE = (10 * MS + 4 * US, 20 * MS + 5 * US, 30 * MS + 96 * US)  # by the network
SET = "the clocks of 2 hosts are set by the ends of 3 collectives, half of which agree"
AS_THEY_WERE = (
    "the clocks of 2 hosts are as the hosts had them, mostly to some millisec"
)


def four_ranks() -> list[LineStats]:
    """Return profiles of two ranks on each host; the second one's work is at 2 ms."""
    second = meetings(*LATE, start=2 * MS)
    return [
        profile(NODE_1, 0, meetings(*ENDS)),
        profile(NODE_1, 1, meetings(*ENDS), late=7 * MS),
        profile(NODE_2, 2, second),
        profile(NODE_2, 3, second),
    ]


@pytest.mark.parametrize("limit", ["0", "9"])
def test_collectives_set_the_clocks_of_two_hosts(tmp_path: Path, limit: str) -> None:
    found, done = exported(tmp_path, *four_ranks(), flags=["--limit", limit])
    # The hosts' clocks are 3 s apart. The median of 4, 5 and 96 is 5 µs: node-2 is set
    # back by that, and comes first.
    assert found[0, "work"] == found[1, "work"] == [5]
    assert found[2, "work"] == found[3, "work"] == [2_000]
    assert f"{SET} to 1.0 µs; they were moved by up to 3,000.005 ms\n" in done.err


def test_child_processes_that_meet_nobody_have_the_clock_of_their_host(
    tmp_path: Path,
) -> None:
    child = profile(NODE_2, 7, [(MS, MS, WORK)])
    child.processes = (child.processes[0]._replace(parent_pid=102),)
    found, done = exported(tmp_path, *four_ranks(), child)
    assert found[0, "work"] == [5]
    assert (found[2, "work"], found[7, "work"]) == ([2_000], [1_000])
    assert SET in done.err


def test_a_host_that_meets_nobody_sets_no_clock(tmp_path: Path) -> None:
    first = profile(NODE_1, 0, meetings(*ENDS))
    second = profile(NODE_2, 1, [(0, MS, WORK)])
    found, done = exported(tmp_path, first, second)
    assert (found[0, "work"], found[1, "work"]) == ([0], [3_000_000])
    assert f"{AS_THEY_WERE}onds: ranks have different collectives" in done.err


def test_without_collectives_hosts_have_the_time_of_day(tmp_path: Path) -> None:
    work = [(0, MS, WORK), *((at, US, SEND) for at in ENDS)]
    work += [(at + US, US, IBARRIER) for at in ENDS]
    first, second = profile(NODE_1, 0, work), profile(NODE_2, 1, work)
    found, done = exported(tmp_path, first, second)
    assert (found[0, "work"], found[1, "work"]) == ([0], [3_000_000])
    assert f"{AS_THEY_WERE}onds: no barrier is in the timeline" in done.err


def test_ranks_with_different_collectives_set_no_clock(tmp_path: Path) -> None:
    first = profile(NODE_1, 0, meetings(*ENDS))
    second = profile(NODE_2, 1, meetings(*ENDS[:2]))
    found, done = exported(tmp_path, first, second)
    assert (found[0, "work"], found[1, "work"]) == ([0], [3_000_000])
    assert f"{AS_THEY_WERE}onds: ranks have different collectives" in done.err


def test_of_torch_only_barriers_set_clocks(tmp_path: Path) -> None:
    barrier, reduce = (TORCH, 4000, "barrier"), (TORCH, 2000, "all_reduce")
    ranks = [
        profile(
            host,
            rank,
            [(0, MS, WORK), (2 * MS, MS + late, barrier), (5 * MS, 9 * late, reduce)],
        )
        for rank, (host, late) in enumerate([(NODE_1, 1), (NODE_2, 8 * US + 1)])
    ]
    found, done = exported(tmp_path, *ranks)
    assert (found[0, "work"], found[1, "work"]) == ([8], [0])
    assert "set by the ends of 1 collective, half of which agree to 0.0 µs" in done.err
    assert "µs; they were moved by up to " in done.err


def test_ranks_of_one_host_share_its_clock(tmp_path: Path) -> None:
    first = profile(NODE_1, 0, meetings(*ENDS))
    second = profile(NODE_1, 1, meetings(*LATE), late=4 * MS)
    found, done = exported(tmp_path, first, second)
    assert found[0, "work"] == found[1, "work"] == [0]
    assert "clocks of" not in done.err


def test_hosts_of_one_name_are_told_apart_by_their_clocks(tmp_path: Path) -> None:
    ranks = four_ranks()
    for one in ranks[2:]:
        one.processes = (one.processes[0]._replace(host="node-1"),)
    found, done = exported(tmp_path, *ranks)
    assert (found[0, "work"], found[3, "work"]) == ([5], [2_000])
    assert SET in done.err


def test_older_profiles_have_the_time_of_their_start(tmp_path: Path) -> None:
    first = profile(NODE_1, 0, meetings(*ENDS), is_old=True)
    second = profile(NODE_2, 1, meetings(*ENDS))
    found, done = exported(tmp_path, first, second)
    assert (found[0, "work"], found[1, "work"]) == ([0], [3_000_000])
    assert f"{AS_THEY_WERE}onds: the profile is of an older lineprof" in done.err


def test_a_profile_has_the_offset_of_its_clocks() -> None:
    before = time.time_ns() - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    (process,) = LineProfiler().get_stats().processes
    assert process.unix_offset_ns is not None
    assert abs(process.unix_offset_ns - before) < S
