"""Example profiles with the memory of lines: a server whose cache grows.

    serve 13 -> reply                100 executions
      reply 6                        makes pages, which are freed before the line ends
      reply 7                        keeps them
    serve 11                         makes a list

`example` has few bytes, a recursion and a curve of four moments, `leak` megabytes and a
long curve.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from example_advice import MS, Called, key_of, made
from example_calls import function
from example_stats import PROCESS

from lineprof.console.terminal import Terminal
from lineprof.line_stats import LineStats
from lineprof.model.host_memory import (
    HostMemory,
    MemoryCurve,
    MemoryPath,
    MemoryRun,
    MemorySum,
)
from lineprof.model.records import ThreadLine, cell_columns
from lineprof.model.running_sum import RunningSum

if TYPE_CHECKING:
    from lineprof.model.records import Key

KB, MB = 1_000, 1_000_000

WIDE = Terminal(width=1_000)

TEXT = """\
CACHE = {}


def reply(number):
    if number not in CACHE:
        page = render(number) * 2
        CACHE[number] = page
    return CACHE[number]

def serve(numbers):
    log = [0] * 125_000
    for number in numbers:
        reply(number)
    return log
"""

REPLY, SERVE = key_of(TEXT, "reply"), key_of(TEXT, "serve")

CALL, LIST = (SERVE, 13), (SERVE, 11)
TEMPORARY, KEPT, AGAIN = (REPLY, 6), (REPLY, 7), (REPLY, 8)


def _profile(recorded: HostMemory, **more: object) -> LineStats:
    return made(
        TEXT,
        {
            "serve": (1, {11: (1, MS), 12: (101, MS), 13: (100, 90 * MS)}),
            "reply": (100, {5: (100, MS), 6: (100, 40 * MS), 7: (100, 9 * MS)}),
        },
        [Called("serve", 13, "reply", 100, 50 * MS)],
        memory=recorded,
        **more,
    )


def example() -> LineStats:
    """Return the profile with the memory of `memory`."""
    return _profile(memory())


def memory() -> HostMemory:
    """Return the memory of `example`, in all 66,000 bytes and a peak of 44,500."""
    paths = ((CALL, TEMPORARY), (CALL, KEPT), (CALL, KEPT, AGAIN), (LIST,), ())
    return HostMemory(
        paths=tuple(MemoryPath(0, lines) for lines in paths),
        sums=(
            MemorySum(0, 20, 20_000, 20_000, 20_000, 2_000),
            MemorySum(1, 20, 40_000, 1_000, 0, 39_000),
            MemorySum(2, 1, 1_000, 0, 0, 1_000),
            MemorySum(3, 1, 800, 800, 0, 0),
            MemorySum(4, 7, 4_200, 1_700, 0, 2_500),
        ),
        runs=(
            MemoryRun(
                process=0,
                peak_bytes=44_500,
                peak_ns=2_000_000_000,
                side_bytes=65_536,
            ),
        ),
        curves=(
            MemoryCurve(
                process=0,
                times_ns=(0, 1_000_000_000, 2_000_000_000, 2_400_000_000),
                live_bytes=(0, 22_000, 44_500, 42_500),
                lines=(KEPT, TEMPORARY),
                line_bytes=((0, 20_000, 39_000, 39_000), (0, 1_000, 2_000, 0)),
            ),
        ),
    )


LEAK_RUN = MemoryRun(
    process=0, peak_bytes=7_500 * KB, peak_ns=80 * MS, side_bytes=400 * KB
)


def sums(**numbers: int) -> MemorySum:
    """Return a sum with these numbers, and 0 for the others."""
    zeros = dict.fromkeys(MemorySum._fields, 0)
    return MemorySum(**(zeros | numbers))


def leak_memory(*, moments: int = 100) -> HostMemory:
    """Return a memory whose curve has so many moments, 1 ms each.

    The peak, 7.500 MB at 80 ms, has 6.400 MB of reply 7 and 1.000 MB of serve 11. reply
    6 allocated 2.000 MB; 0.600 MB are outside of lines, of which 0.500 MB were freed.
    """
    kept = [64 * KB * min(99, number + 1) for number in range(moments)]
    kept[-1] = 6_400 * KB
    return HostMemory(
        paths=(
            MemoryPath(0, ()),
            MemoryPath(0, (LIST,)),
            MemoryPath(0, (CALL, TEMPORARY)),
            MemoryPath(0, (CALL, KEPT)),
        ),
        sums=(
            sums(
                path=0,
                allocs=6,
                alloc_bytes=600 * KB,
                freed_bytes=500 * KB,
                peak_bytes=100 * KB,
            ),
            sums(path=1, allocs=1, alloc_bytes=MB, freed_bytes=MB, peak_bytes=MB),
            sums(
                path=2,
                allocs=200,
                alloc_bytes=2 * MB,
                freed_bytes=2 * MB,
                temp_bytes=2 * MB,
            ),
            sums(path=3, allocs=100, alloc_bytes=6_400 * KB, peak_bytes=6_400 * KB),
        ),
        runs=(LEAK_RUN,),
        curves=(
            MemoryCurve(
                process=0,
                times_ns=tuple(MS * (number + 1) for number in range(moments)),
                live_bytes=tuple(size + MB for size in kept),
                lines=(KEPT, LIST),
                line_bytes=(tuple(kept), (MB,) * moments),
            ),
        ),
    )


def leak(recorded: HostMemory | None = None, **more: object) -> LineStats:
    """Return the profile with the memory of `leak_memory`, or with another one."""
    return _profile(leak_memory() if recorded is None else recorded, **more)


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


def of(key: Key) -> HostMemory:
    """Return the memory of a profile that has this function, on its line 34."""
    return HostMemory(
        paths=(MemoryPath(0, ((key, 34),)), MemoryPath(0, ())),
        sums=(MemorySum(0, 3, 300, 200, 100, 250), MemorySum(1, 1, 50, 0, 0, 50)),
        runs=(MemoryRun(0, 300, 7_000, 4096, 0, 1),),
        curves=(MemoryCurve(0, (0, 9), (0, 300), ((key, 34),), ((0, 250),)),),
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
