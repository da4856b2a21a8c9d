"""An example profile with memory: a small server whose cache grows.

    serve 12 -> reply                100 executions
      reply 6                        2.000 MB, all freed before the line ended
      reply 7                        6.400 MB, never freed
    outside of lines                 0.600 MB, of which 0.500 MB were freed

The peak, 7.500 MB at 80 ms, has 6.400 MB of reply 7 and 1.000 MB of serve 11.
"""

from __future__ import annotations

from example_advice import MS, Called, key_of, made

from lineprof.console.terminal import Terminal
from lineprof.model.host_memory import (
    HostMemory,
    MemoryCurve,
    MemoryPath,
    MemoryRun,
    MemorySum,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lineprof.line_stats import LineStats

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

RUN = MemoryRun(process=0, peak_bytes=7_500 * KB, peak_ns=80 * MS, side_bytes=400 * KB)


def sums(**numbers: int) -> MemorySum:
    """Return a sum with these numbers, and 0 for the others."""
    zeros = dict.fromkeys(MemorySum._fields, 0)
    return MemorySum(**(zeros | numbers))


def memory(*, moments: int = 100) -> HostMemory:
    """Return the memory; its curve has so many moments, 1 ms each."""
    kept = [64 * KB * min(99, number + 1) for number in range(moments)]
    kept[-1] = 6_400 * KB
    return HostMemory(
        paths=(
            MemoryPath(0, ()),
            MemoryPath(0, ((SERVE, 11),)),
            MemoryPath(0, ((SERVE, 13), (REPLY, 6))),
            MemoryPath(0, ((SERVE, 13), (REPLY, 7))),
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
        runs=(RUN,),
        curves=(
            MemoryCurve(
                process=0,
                times_ns=tuple(MS * (number + 1) for number in range(moments)),
                live_bytes=tuple(size + MB for size in kept),
                lines=((REPLY, 7), (SERVE, 11)),
                line_bytes=(tuple(kept), (MB,) * moments),
            ),
        ),
    )


def example(recorded: HostMemory | None = None, **more: object) -> LineStats:
    """Return the profile."""
    return made(
        TEXT,
        {
            "serve": (1, {11: (1, MS), 12: (101, MS), 13: (100, 90 * MS)}),
            "reply": (100, {5: (100, MS), 6: (100, 40 * MS), 7: (100, 9 * MS)}),
        },
        [Called("serve", 13, "reply", 100, 50 * MS)],
        memory=memory() if recorded is None else recorded,
        **more,
    )
