"""An example profile without a call tree, for tests of views, exports and files."""

from __future__ import annotations

from lineprof.line_stats import LineStats
from lineprof.model.records import (
    FunctionStats,
    Process,
    SourceFile,
    Thread,
    ThreadLine,
)
from lineprof.source_files import text_hash

FILE = "/project/train.py"
TEXT = '''\
"""A program to be shown."""


def load(path):
    # the whole file at once
    with open(path) as stream:
        return stream.read()


class Model:
    @property
    def size(self):
        return len(self.weights)

    async def fit(self, data):
        for batch in data:
            loss = await self.step(batch)
            print("naïve — 損失",\tloss)


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def never():
    return 1
'''

PROCESS = Process(
    pid=4711,
    host="node-1",
    rank=None,
    argv=("train.py", "--fast"),
    cwd="/project",
    python="3.12.1",
    start_unix_ns=1_700_000_000_000_000_000,
    wall_ns=2_500_000_000,
    core="monitoring",
    core_reason="this Python has sys.monitoring",
    clock="tsc",
    overhead_ns=1_200_000,
    version="0.1.0",
    exit="",
)


def function(name: str, line: int, *cells: ThreadLine, **more: int) -> FunctionStats:
    return FunctionStats(FILE, name, line, cells, **more)


def example() -> LineStats:
    """Return a profile with threads, awaits, recursion and a function never called."""
    return LineStats.from_functions(
        [
            function(
                "load",
                4,
                ThreadLine(6, 0, 2, 150_000, 0, 150_400),
                ThreadLine(7, 0, 2, 1_234_567_891, 0, 1_234_568_000),
                calls=2,
            ),
            function("Model.size", 11, ThreadLine(13, 0, 1, 350, 0, 420), calls=1),
            function(
                "Model.fit",
                15,
                ThreadLine(16, 0, 101, 20_200, 0, 22_000),
                ThreadLine(16, 1, 51, 10_200, 0, 11_000),
                ThreadLine(17, 0, 100, 5_000_000, 900_000_000, 5_002_000),
                ThreadLine(17, 1, 50, 2_500_000, 450_000_000, 2_501_000),
                ThreadLine(18, 0, 100, 700_000, 0, 702_000),
                calls=2,
            ),
            function(
                "fib",
                21,
                ThreadLine(22, 0, 1_234_567_890, 8_000_000_000, 0, 9_000_000_000),
                calls=1_234_567_890,
                recursive_ns=900_000_000,
            ),
            function("never", 25),
        ],
        processes=[PROCESS],
        threads=[Thread(0, 4711, "MainThread"), Thread(0, 4712, "loader")],
        sources={FILE: SourceFile(FILE, TEXT, text_hash(TEXT))},
        warnings=["3 events were lost"],
    )


def everything(stats: LineStats) -> dict[str, object]:
    """Return all fields of a profile, of which `==` compares only the numbers."""
    names = ("functions", "processes", "threads", "sources", "warnings", "unit", "gpu")
    more = ("calls", "waits", "traces", "memory")
    return {name: getattr(stats, name) for name in (*names, *more)}
