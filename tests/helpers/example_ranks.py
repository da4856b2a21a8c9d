"""Profiles of the four ranks of a program, with numbers that are easy to check.

Rank r computes for (r + 1) * 10 ms and waits in a collective for the slowest rank;
rank 0 alone writes a report.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from example_stats import PROCESS

from lineprof.line_stats import LineStats
from lineprof.model.records import (
    NO_NODE,
    CallNode,
    CallTree,
    FunctionStats,
    Process,
    SourceFile,
    Thread,
    ThreadLine,
    cell_columns,
)
from lineprof.model.running_sum import RunningSum
from lineprof.source_files import text_hash
from lineprof.storage import save

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

FILE = "/project/solve.py"
TEXT = """\
def work(n):
    compute(n)
    comm.allreduce(n)


def main():
    work(4)
    report()
"""
WORK, MAIN = (FILE, 1, "work"), (FILE, 6, "main")
ALLREDUCE = ("", 0, "mpi4py.MPI.Comm.allreduce")
RANKS = 4
MS = 1_000_000
WALL = 50 * MS
START = PROCESS.start_unix_ns


def process(rank: object, **more: object) -> Process:
    """Return the process of a rank."""
    number = rank if isinstance(rank, int) else 0
    facts = {
        "pid": 100 + number,
        "rank": rank,
        "ranks": RANKS,
        "argv": ("solve.py",),
        "wall_ns": WALL,
        "start_unix_ns": START,
        "overhead_ns": 0,
        **more,
    }
    return PROCESS._replace(**facts)  # type: ignore[arg-type]


def cell(line: int, hits: int, ns: int) -> ThreadLine:
    """Return a line of the only thread, with the times of all its executions."""
    return ThreadLine(
        line=line,
        thread=0,
        hits=hits,
        time_ns=ns,
        raw_ns=ns,
        min_ns=ns // hits,
        max_ns=ns // hits,
    )


def node(parent: int, line: int, function: tuple[str, int, str], ns: int) -> CallNode:
    """Return one call."""
    return CallNode(
        parent=parent,
        line=line,
        function=function,
        thread=0,
        calls=1,
        primitive_calls=1,
        self_ns=0,
        total_ns=ns,
        inclusive_ns=ns,
    )


def rank_profile(number: int, **more: object) -> LineStats:
    """Return the profile of a rank; `more` are facts of its process."""
    rank = number
    compute_ns = (rank + 1) * 10 * MS
    mpi_ns = 45 * MS - compute_ns
    main_lines = [cell(7, 1, 45 * MS)]
    if rank == 0:
        main_lines.append(cell(8, 1, 4 * MS))
    main_ns = sum(one.time_ns for one in main_lines)
    return LineStats.from_functions(
        [
            FunctionStats(
                file=FILE,
                name="work",
                line=1,
                thread_lines=(cell(2, rank + 1, compute_ns), cell(3, 1, mpi_ns)),
                calls=1,
            ),
            FunctionStats(
                file=FILE,
                name="main",
                line=6,
                thread_lines=tuple(main_lines),
                calls=1,
            ),
        ],
        processes=[process(more.pop("rank", rank), **more)],
        threads=[Thread(process=0, native_id=100 + rank, name="MainThread")],
        sources={FILE: SourceFile(file=FILE, text=TEXT, sha256=text_hash(TEXT))},
        calls=CallTree(
            nodes=(
                node(NO_NODE, 0, MAIN, main_ns),
                node(0, 7, WORK, 45 * MS),
                node(1, 3, ALLREDUCE, mpi_ns),
            )
        ),
    )


def summed() -> LineStats:
    """Return the sum of the four ranks, without threads."""
    total = RunningSum()
    for rank in range(RANKS):
        profile = rank_profile(rank)
        total.add(profile, cell_columns(profile.functions))
    return LineStats.of(total.profile())


def save_ranks(folder: Path, ranks: Iterable[int] = range(RANKS)) -> list[str]:
    """Write a file for each rank, and return the names."""
    names = []
    for rank in ranks:
        names.append(str(folder / f"r.r{rank:04}.lprof"))
        save(rank_profile(rank), names[-1])
    return names
