"""Conversion of the core's numbers of memory to those of a profile."""

from __future__ import annotations

from typing import Any

import pytest
from core_profiles import profile_of
from example_stats import PROCESS

from lineprof.model.host_memory import (
    HostMemory,
    MemoryCurve,
    MemoryPath,
    MemoryRun,
    MemorySum,
    memory_of_lines,
    outside_memory,
    total_memory,
)
from lineprof.snapshot.host_memory import TakenMemory, memory_of, memory_warnings
from lineprof.snapshot.profile import TickScale

F, G = ("a.py", 1, "f"), ("a.py", 10, "g")
KEYS = {1: F, 2: G, 5: F}  # f has two code objects; 3 is of another profiler
START_NS = 5_000
# (parent, function, line) by number; the line of a root is 2 * thread + adopted.
PATHS = [
    (0, 0, 0),  # 0: of threads without lines
    (0, 0, 0),  # 1: of thread 0
    (1, 1, 2),  # 2: f 2
    (2, 2, 12),  # 3: f 2, g 12
    (0, 0, 7),  # 4: of thread 3, adopted
    (4, 1, 2),  # 5: f 2, of thread 3
    (2, 3, 30),  # 6: f 2, another profiler
    (1, 3, 30),  # 7: of another profiler alone
    (3, 5, 3),  # 8: f 2, g 12, f 3
    (8, 1, 2),  # 9: f 2 (again), g 12, f 3; the innermost is f 2
]


def raw(*sums: tuple[int, ...], **changes: Any) -> Any:
    """Return numbers like the core's, with these sums."""
    return {
        "paths": PATHS,
        "sums": list(sums),
        "peak_bytes": 900,
        "peak_ns": START_NS + 70,
        "live_bytes": 500,
        "curve": [],
        "side_bytes": 4096,
        "lost": 0,
        "sample": 0,
        "native": True,
        "notes": [],
        **changes,
    }


def made(data: Any) -> HostMemory:
    return memory_of(TakenMemory(data, START_NS), KEYS)


@pytest.mark.parametrize(
    ("number", "lines"),
    [
        (0, ()),
        (1, ()),
        (2, ((F, 2),)),
        (3, ((F, 2), (G, 12))),
        (6, ((F, 2),)),
        (7, ()),
        (8, ((F, 2), (G, 12), (F, 3))),
        (9, ((G, 12), (F, 3), (F, 2))),
    ],
)
def test_a_path_has_the_lines_of_the_profile(number: int, lines: Any) -> None:
    memory = made(raw((number, 3, 300, 200, 100, 50)))
    assert memory.paths == (MemoryPath(0, lines),)
    assert memory.sums == (MemorySum(0, 3, 300, 200, 100, 50),)


def test_sums_of_equal_paths_are_added_up() -> None:
    memory = made(
        raw(
            (2, 1, 10, 5, 4, 3),
            (0, 9, 90, 0, 0, 90),
            (5, 2, 20, 6, 5, 4),
            (6, 4, 40, 7, 6, 5),
            (7, 1, 1, 1, 0, 0),
        )
    )
    assert memory.paths == (MemoryPath(0, ((F, 2),)), MemoryPath(0, ()))
    assert memory.sums == (
        MemorySum(0, 7, 70, 18, 15, 12),
        MemorySum(1, 10, 91, 1, 0, 90),
    )


def test_lines_and_what_is_outside_add_up_to_the_process() -> None:
    memory = made(raw((3, 1, 10, 0, 0, 10), (1, 2, 30, 30, 0, 0), (9, 1, 7, 7, 7, 0)))
    own = memory_of_lines(memory, alone=True)
    sizes = [one.alloc_bytes for lines in own.values() for one in lines.values()]
    assert sum(sizes) + outside_memory(memory).alloc_bytes == 47
    assert total_memory(memory).alloc_bytes == 47


def test_the_run_has_the_peak_since_measuring_began() -> None:
    [run] = made(raw(lost=2, sample=512_000, native=False)).runs
    assert run == MemoryRun(0, 900, 70, 4096, 512_000, 2, is_native=False)


def test_a_process_without_a_peak_has_none() -> None:
    [run] = made(raw(peak_bytes=0, peak_ns=0)).runs
    assert (run.peak_bytes, run.peak_ns) == (0, 0)


def test_the_curve_has_the_own_blocks_of_lines() -> None:
    moments = [
        (START_NS - 1, 10, [(2, 10)]),
        (START_NS + 5, 100, [(3, 50), (5, 20), (6, 10), (7, 15)]),
        (START_NS + 9, 30, [(9, 25)]),
    ]
    [curve] = made(raw(curve=moments)).curves
    assert curve == MemoryCurve(
        process=0,
        times_ns=(0, 5, 9),
        live_bytes=(10, 100, 30),
        lines=((F, 2), (G, 12)),
        line_bytes=((10, 30, 25), (0, 50, 0)),
    )


def test_the_curve_has_the_twelve_lines_with_most_bytes() -> None:
    paths = [(0, 0, 0), *((0, 1, line) for line in range(1, 31))]
    moments = [
        (START_NS + when, 1000, [(line, 100 * line) for line in some])
        for when, some in enumerate((range(1, 16), range(16, 31)))
    ]
    [curve] = made(raw(paths=paths, curve=moments)).curves
    assert [line for _, line in curve.lines] == [*range(30, 18, -1)]
    assert curve.line_bytes[0] == (0, 3000)


def test_a_run_without_moments_has_no_curve() -> None:
    assert made(raw()).curves == ()


def test_what_is_missing_is_a_warning() -> None:
    notes = ["another tool removed the hooks of PyMem_RawMalloc"]
    taken = TakenMemory(raw(lost=3, notes=notes), 0)
    assert memory_warnings(taken) == [
        *notes,
        "3 blocks of memory were not counted: there was no room to keep track of them",
    ]
    [one] = memory_warnings(TakenMemory(raw(lost=1), 0))
    assert one.startswith("1 block of memory was")


def test_a_profile_has_the_memory_and_its_warnings() -> None:
    code = ((*F, 0), 1, 5, 0, 0, (), 1)
    scale = TickScale(ns_per_tick=1 << 32, cost_one=1)
    data = raw((2, 1, 10, 0, 0, 10), (3, 1, 5, 0, 0, 5), notes=["so it is"])
    profile = profile_of([], [code], scale, PROCESS, memory=(data, START_NS))
    assert profile.memory.paths == (MemoryPath(0, ((F, 2),)),)
    assert profile.memory.sums[0].alloc_bytes == 15
    assert "so it is" in profile.warnings
    without = profile_of([], [code], scale, PROCESS)
    assert without.memory == HostMemory()
