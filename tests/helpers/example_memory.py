"""Example profiles with the memory of lines, and their numbers."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from example_calls import function
from example_stats import PROCESS

from lineprof.line_stats import LineStats
from lineprof.model.host_memory import (
    HostMemory,
    MemoryCurve,
    MemoryPath,
    MemoryRun,
    MemorySum,
)
from lineprof.model.records import (
    NO_NODE,
    CallNode,
    CallTree,
    SourceFile,
    Thread,
    ThreadLine,
    cell_columns,
)
from lineprof.model.running_sum import RunningSum
from lineprof.source_files import text_hash

if TYPE_CHECKING:
    from lineprof.model.records import Key

FILE = "/project/cache.py"
TEXT = """\
def serve(requests):
    for one in requests:
        answer(one)
    return [0] * 100


CACHE = {}


def answer(one):
    text = one * 1000
    CACHE[one] = text + one
    return answer(one[1:]) if one else None
"""
SERVE, ANSWER = (FILE, 1, "serve"), (FILE, 10, "answer")

CALL = (SERVE, 3)  # calls `answer`, which also calls itself
LIST = (SERVE, 4)
TEMPORARY, KEPT, AGAIN = (ANSWER, 11), (ANSWER, 12), (ANSWER, 13)


def example() -> LineStats:
    """Return the profile of a server whose cache grows."""
    return LineStats.from_functions(
        [
            function(
                SERVE,
                ThreadLine(3, 0, 10, 9_000),
                ThreadLine(4, 0, 1, 500),
                calls=1,
            ),
            function(
                ANSWER,
                ThreadLine(11, 0, 20, 2_000),
                ThreadLine(12, 0, 20, 4_000),
                ThreadLine(13, 0, 20, 1_000),
                calls=20,
            ),
        ],
        threads=[Thread(0, 4711, "MainThread")],
        processes=[PROCESS],
        sources={FILE: SourceFile(FILE, TEXT, text_hash(TEXT))},
        calls=CallTree(
            (
                CallNode(NO_NODE, 0, SERVE, 0, 1, 1, 2_500, 9_500, 9_500),
                CallNode(0, 3, ANSWER, 0, 20, 10, 7_000, 7_000, 7_000),
            )
        ),
        memory=memory(),
    )


def memory(process: int = 0) -> HostMemory:
    """Return the memory of `example`, in all 66,000 bytes and a peak of 44,500."""
    paths = ((CALL, TEMPORARY), (CALL, KEPT), (CALL, KEPT, AGAIN), (LIST,), ())
    return HostMemory(
        paths=tuple(MemoryPath(process, lines) for lines in paths),
        sums=(
            MemorySum(0, 20, 20_000, 20_000, 20_000, 2_000),
            MemorySum(1, 20, 40_000, 1_000, 0, 39_000),
            MemorySum(2, 1, 1_000, 0, 0, 1_000),
            MemorySum(3, 1, 800, 800, 0, 0),
            MemorySum(4, 7, 4_200, 1_700, 0, 2_500),
        ),
        runs=(
            MemoryRun(
                process=process,
                peak_bytes=44_500,
                peak_ns=2_000_000_000,
                side_bytes=65_536,
            ),
        ),
        curves=(
            MemoryCurve(
                process=process,
                times_ns=(0, 1_000_000_000, 2_000_000_000, 2_400_000_000),
                live_bytes=(0, 22_000, 44_500, 42_500),
                lines=(KEPT, TEMPORARY),
                line_bytes=((0, 20_000, 39_000, 39_000), (0, 1_000, 2_000, 0)),
            ),
        ),
    )


def summed() -> LineStats:
    """Return the sum of three processes, as of many files."""
    total = RunningSum()
    for pid in range(3):
        stats = example()
        stats.processes = (PROCESS._replace(pid=pid),)
        total.add(stats, cell_columns(stats.functions))
    return LineStats.of(total.profile())


def outside_alone() -> LineStats:
    """Return a profile in which no line ran, but the program allocated a block."""
    return LineStats.from_functions(
        (),
        processes=[PROCESS],
        memory=HostMemory(
            paths=(MemoryPath(0, ()),),
            sums=(MemorySum(0, 1, 64, 0, 0, 64),),
            runs=(MemoryRun(0, 64, 1_000),),
        ),
    )


def of(key: Key, process: int = 0) -> HostMemory:
    """Return the memory of a profile that has this function, on its line 34."""
    return HostMemory(
        paths=(MemoryPath(process, ((key, 34),)), MemoryPath(process, ())),
        sums=(MemorySum(0, 3, 300, 200, 100, 250), MemorySum(1, 1, 50, 0, 0, 50)),
        runs=(MemoryRun(process, 300, 7_000, 4096, 0, 1),),
        curves=(MemoryCurve(process, (0, 9), (0, 300), ((key, 34),), ((0, 250),)),),
    )


def large(moments: int = 512, lines: int = 12, seed: int = 7) -> LineStats:
    """Return the profile of a program that grew, with a long curve of many lines."""
    chance = random.Random(seed)  # noqa: S311  # not for security
    key: Key = ("/p/grow.py", 1, "grow")
    columns: list[list[int]] = [[] for _ in range(lines)]
    times = [0]
    for _ in range(moments):
        times.append(times[-1] + 40_000_000 + chance.randrange(60_000))
        for column in columns:
            last = column[-1] if column else 0
            step = chance.choice((0, 0, 1, 3, -1)) * chance.randrange(48, 40_000)
            column.append(max(0, last + step))
    live = [sum(row) + 1_000 for row in zip(*columns)]
    peak = max(live)
    at_peak = [*columns, [1_000] * moments]
    paths = [MemoryPath(0, ((key, 2 + line),)) for line in range(lines)]
    return LineStats.from_functions(
        [function(key, *(ThreadLine(2 + i, -1, 9, 99) for i in range(lines)))],
        processes=[PROCESS],
        memory=HostMemory(
            paths=(*paths, MemoryPath(0, ())),
            sums=tuple(
                MemorySum(
                    path=index,
                    allocs=moments,
                    alloc_bytes=2 * max(column),
                    freed_bytes=2 * max(column) - column[-1],
                    temp_bytes=0,
                    peak_bytes=column[live.index(peak)],
                )
                for index, column in enumerate(at_peak)
            ),
            runs=(MemoryRun(0, peak, times[live.index(peak)]),),
            curves=(
                MemoryCurve(
                    process=0,
                    times_ns=tuple(times[:-1]),
                    live_bytes=tuple(live),
                    lines=tuple((key, 2 + line) for line in range(lines)),
                    line_bytes=tuple(map(tuple, columns)),
                ),
            ),
        ),
    )


def random_memory(seed: int) -> LineStats:
    """Return a profile of random call paths of the lines of `example`."""
    chance = random.Random(seed)  # noqa: S311  # not for security
    places = (CALL, LIST, TEMPORARY, KEPT, AGAIN)
    paths = {
        tuple(chance.sample(places, chance.randrange(len(places) + 1))): None
        for _ in range(12)
    }
    sums = []
    for index in range(len(paths)):
        size = chance.randrange(1 << 20)
        freed = chance.randrange(size + 1)
        temp, peak = chance.randrange(freed + 1), chance.randrange(size + 1)
        sums.append(MemorySum(index, 1 + size // 64, size, freed, temp, peak))
    stats = example()
    start_ns = PROCESS.start_unix_ns + seed
    stats.processes = (PROCESS._replace(pid=1 + seed, start_unix_ns=start_ns),)
    peak = sum(one.peak_bytes for one in sums)
    stats.memory = HostMemory(
        paths=tuple(MemoryPath(0, lines) for lines in paths),
        sums=tuple(sums),
        runs=(MemoryRun(0, peak, chance.randrange(1 << 40)),),
    )
    return stats
