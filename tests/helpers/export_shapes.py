"""Unusual profiles that every export must handle: empty, deep, many threads, ..."""

from __future__ import annotations

import random
from functools import cache

import example_gpu
import example_memory
import example_stats
from example_calls import MAIN_FILE, deep, example, function

from lineprof.export import EXPORTS
from lineprof.line_stats import LineStats
from lineprof.model.records import (
    NO_NODE,
    CallNode,
    CallTree,
    FunctionStats,
    Thread,
    ThreadLine,
)

MANY = 200  # threads
STEPS = 1_000_000  # of a generator


def content(stats: LineStats, name: str) -> bytes:
    """Return the content of the file that exports `stats` in the format `name`."""
    return b"".join(EXPORTS[name].content(stats))


def remarks(stats: LineStats, name: str) -> list[str]:
    """Return the remarks of the export `name` on `stats`."""
    return list(EXPORTS[name].remarks(stats))


def threads(count: int = MANY) -> LineStats:
    """Return a profile of `count` threads, each of which ran the same two functions."""
    outer, inner = (MAIN_FILE, 1, "run"), (MAIN_FILE, 5, "step")
    nodes: list[CallNode] = []
    outers, inners = [], []
    for i in range(count):
        own, below = 10 + i, 1000 + 7 * i
        nodes += (
            CallNode(NO_NODE, 0, outer, i, 1, 1, own, own + below, own + below),
            CallNode(2 * i, 2, inner, i, 3, 3, below, below, below),
        )
        outers.append(ThreadLine(2, i, 1, own + below))
        inners += (ThreadLine(6, i, 3, i), ThreadLine(7, i, 3, below - i))
    return LineStats.from_functions(
        [function(outer, *outers, calls=count), function(inner, *inners, calls=count)],
        threads=[Thread(0, 5000 + i, f"worker {i}") for i in range(count)],
        processes=example().processes,
        calls=CallTree(tuple(nodes)),
    )


def generator(steps: int = STEPS) -> LineStats:
    """Return a profile of a generator that yielded `steps` values."""
    outer, inner = (MAIN_FILE, 1, "total"), (MAIN_FILE, 5, "values")
    spent = 30 * steps
    nodes = (
        CallNode(NO_NODE, 0, outer, 0, 1, 1, 20 * steps, 50 * steps, 50 * steps),
        CallNode(0, 2, inner, 0, 1, 1, spent, spent, spent),
        CallNode(NO_NODE, 0, inner, 0, 0, 0, 50, 0, 50),  # steps from elsewhere
    )
    return LineStats.from_functions(
        [
            function(outer, ThreadLine(2, 0, steps + 1, 50 * steps), calls=1),
            function(inner, ThreadLine(6, 0, steps, spent + 50), calls=1),
        ],
        threads=[Thread(0, 1, "MainThread")],
        processes=example().processes,
        calls=CallTree(nodes),
    )


def random_profile(seed: int) -> LineStats:
    """Return a profile of random functions and calls, with times that add up."""
    chance = random.Random(seed)  # noqa: S311  # not for security
    keys = [(f"/p/{i % 3}.py", 10 * i + 1, f"f{i % 5}") for i in range(8)]
    own = [
        [chance.choice((0, 1, 7, 10**9)) * chance.randrange(1, 99) for _ in range(4)]
        for _ in keys
    ]
    places = [(0, NO_NODE, 0)]  # function, parent, line
    for i in range(1, 40):
        parent = chance.randrange(len(places))
        line = keys[places[parent][0]][1] + chance.randrange(1, 5)
        places.append((chance.randrange(1, 8) if i > 7 else i, parent, line))
    left = [sum(lines) for lines in own]
    last = {callee: place for place, (callee, _, _) in enumerate(places)}
    mine = []
    for place, (callee, _, _) in enumerate(places):
        part = chance.randrange(left[callee] + 1)
        mine.append(left[callee] if last[callee] == place else part)
        left[callee] -= mine[-1]
    took, lines_ns = list(mine), [list(lines) for lines in own]
    for place in range(len(places) - 1, 0, -1):
        _, parent, line = places[place]
        caller = places[parent][0]
        took[parent] += took[place]
        lines_ns[caller][line - keys[caller][1] - 1] += took[place]
    return LineStats.from_functions(
        [
            FunctionStats(
                *(key[0], key[2], key[1]),
                tuple(
                    ThreadLine(key[1] + 1 + i, -1, 3, ns) for i, ns in enumerate(lines)
                ),
                calls=3,
            )
            for key, lines in zip(keys, lines_ns)
        ],
        calls=CallTree(
            tuple(
                CallNode(
                    parent, line, keys[callee], -1, 2, 1, mine[i], took[i], took[i]
                )
                for i, (callee, parent, line) in enumerate(places)
            )
        ),
    )


@cache
def shapes() -> dict[str, LineStats]:
    """Return profiles by the names of their peculiarities."""
    return {
        "calls": example(),
        "no tree": example_stats.example(),
        "a GPU and no tree": example_gpu.example(),
        "nothing": LineStats({}, 1e-9),
        "never called": LineStats.from_functions([function((MAIN_FILE, 1, "f"))]),
        "calls without lines": LineStats.from_functions(
            [function((MAIN_FILE, 1, "f"), calls=3)],
        ),
        "of line_profiler": LineStats({("a.py", 1, "f"): [(2, 3, 40)]}, 1e-6),
        "deep": deep(3000),
        "threads": threads(),
        "a generator": generator(),
        "random": random_profile(7),
        "memory": example_memory.example(),
        "memory outside of lines": example_memory.outside_alone(),
        "memory of many": example_memory.summed(),
    }
