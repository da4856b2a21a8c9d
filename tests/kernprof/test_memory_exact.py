"""kernprof --memory: bytes of a line by arithmetic, and the peak of a staircase."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

import pytest
from as_python import kernprof_forked, write
from compiled_doubles import double
from memory_numbers import METHOD
from memory_program import ON_LINUX

from lineprof import load_stats
from lineprof.model.host_memory import (
    NO_BYTES,
    MemoryNumbers,
    memory_of_functions,
    memory_of_lines,
    outside_memory,
    total_memory,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from lineprof.model.host_memory import HostMemory

pytestmark = [
    pytest.mark.smoke,
    ON_LINUX,
]

# The shell of a bytearray, and its buffer with a byte for the end.
LOOP = """\
def work(n):
    kept = []
    for i in range(n):
        a = bytes(1000)
        b = bytearray(3000)
        if i % 10 == 0:
            kept.append(a)
        a = b = None
    return kept
k = work(10000)
"""
SHELL = sys.getsizeof(bytearray())
BUFFER = sys.getsizeof(bytearray(3000)) - SHELL

STAIRS = """\
from blocks import take, OBJ, MEM, RAW, MALLOC, MAP
def stairs():
    a = take(MEM, 1_000_000)
    b = take(RAW, 2_000_000)
    c = take(MALLOC, 3_000_000)
    del b
    d = take(OBJ, 1_500_000)
    e = higher(take(MAP, 2_500_000))
    d.resize(200_000)
    f = take(MEM, 3_999_999)
    a = c = d = f = None
    return e
def higher(block):
    if not block:
        return None
    step = take(RAW, 400)
    block.resize(5_000_000)
    return step
higher(None)  # Python makes its tables of a function when it runs first
kept = stairs()
"""


def memory_of(folder: Path, program: str, *words: str) -> HostMemory:
    """Run a program under kernprof; return the memory in the file that it writes."""
    write(folder, "program.py", program)
    arguments = ("-lq", "--memory", *words, "-o", "out.lprof", "program.py")
    outcome = kernprof_forked(*arguments, cwd=folder)
    assert (outcome.status, outcome.err) == (0, ""), outcome
    return load_stats(folder / "out.lprof").memory


def by_line(memory: HostMemory, *, alone: bool = True) -> Mapping[int, MemoryNumbers]:
    """Return the numbers of all lines of the program, by line."""
    lines = memory_of_lines(memory, alone=alone)
    return {
        line: numbers
        for function in lines.values()
        for line, numbers in function.items()
    }


def numbers(allocs: int, alloc: int, freed: int, **more: int) -> MemoryNumbers:
    """Return numbers of a line."""
    return MemoryNumbers(allocs=allocs, alloc_bytes=alloc, freed_bytes=freed, **more)


def resized(size: int) -> MemoryNumbers:
    """Return numbers of a line that calls `resize`."""
    blocks, bytes_ = 1 + bool(METHOD), size + METHOD
    return numbers(blocks, bytes_, bytes_, temp_bytes=METHOD)


def without_peak(one: MemoryNumbers) -> MemoryNumbers:
    """Return numbers but for those at the peak."""
    return one._replace(peak_bytes=0)


def test_lines_of_a_loop_have_the_bytes_of_their_arithmetic(tmp_path: Path) -> None:
    memory = memory_of(tmp_path, LOOP)
    lines = by_line(memory)
    size = sys.getsizeof(bytes(1000))
    assert without_peak(lines[4]) == numbers(10_000, 10_000 * size, 9_000 * size)
    both = 10_000 * (SHELL + BUFFER)
    assert without_peak(lines[5]) == numbers(20_000, both, both)
    assert lines[4].live_bytes == 1_000 * size
    # At the peak are the blocks that are kept, and those of the last turn.
    assert lines[4].peak_bytes == 1_001 * size
    assert lines[5].peak_bytes == SHELL + BUFFER
    # Doubling of the list: what it was moved from is freed, and never temporary.
    assert lines[7].live_bytes == sys.getsizeof(grown(1_000)) - sys.getsizeof([])
    assert lines[7].temp_bytes == 1_000 * METHOD
    assert not {6, 8, 9} & lines.keys()


def grown(length: int) -> list[int]:
    """Return a list that grew item by item."""
    made: list[int] = []
    for item in range(length):
        made.append(item)  # noqa: PERF402 - a copy has another size
    return made


FIRST_CALLS = """\
def callee():
    return None
def caller():
    callee()
    callee()
caller()
"""


def test_a_first_call_has_no_memory_of_lineprof(tmp_path: Path) -> None:
    lines = by_line(memory_of(tmp_path, FIRST_CALLS))
    first, second = lines.get(4, NO_BYTES), lines.get(5, NO_BYTES)
    assert (first.temp_bytes, second) == (0, NO_BYTES)
    assert first.allocs <= 1, "more than Python's table for the events of a function"


def test_all_lines_and_what_is_outside_add_up_to_the_run(tmp_path: Path) -> None:
    memory = memory_of(tmp_path, LOOP)
    (run,) = memory.runs
    alone = memory_of_lines(memory, alone=True)
    total = outside_memory(memory)
    for function in alone.values():
        for one in function.values():
            total = total.plus(one)
    assert total == total_memory(memory)
    assert total.peak_bytes == run.peak_bytes
    (name,) = (key for key in memory_of_functions(memory) if key[2] == "work")
    assert memory_of_functions(memory)[name].alloc_bytes >= 10_000 * 4_000


@pytest.fixture
def stairs(tmp_path: Path, shared_folder: Path) -> HostMemory:
    """Return the memory of the staircase."""
    shutil.copy(double(shared_folder, "python/blocks.c"), tmp_path / "blocks.so")
    return memory_of(tmp_path, STAIRS)


OBJECT = 40  # bytes of each object that owns a block


def test_a_staircase_has_its_peak_on_the_highest_step(stairs: HostMemory) -> None:
    lines = by_line(stairs)
    peak = {line: one.peak_bytes for line, one in lines.items() if one.peak_bytes > 39}
    on_top = {
        3: 1_000_000 + OBJECT,
        5: 3_000_000 + OBJECT,
        7: OBJECT + 1_500_000,
        8: OBJECT + 2_500_000,  # the old mapping goes after the new one has come
        16: OBJECT + 400,
        17: 5_000_000 + METHOD,
    }
    assert {line: peak.get(line) for line in on_top} == on_top
    rest = sum(peak.values()) - sum(on_top.values())  # the list of globals, imports
    (run,) = stairs.runs
    assert 0 <= rest < 20_000
    outside = outside_memory(stairs).peak_bytes
    assert run.peak_bytes == sum(on_top.values()) + rest + outside


def test_lines_of_a_staircase_have_what_they_took_and_gave(stairs: HostMemory) -> None:
    lines = {line: without_peak(one) for line, one in by_line(stairs).items()}
    expected: dict[int, MemoryNumbers] = {
        3: numbers(2, 1_000_040, 1_000_040),
        4: numbers(2, 2_000_040, 2_000_040),
        5: numbers(2, 3_000_040, 3_000_040),
        7: numbers(2, 1_500_040, 1_500_040),
        9: resized(200_000),
        10: numbers(2, 4_000_039, 4_000_039),
        16: numbers(2, 440, 0),
        17: resized(5_000_000),
        # It goes when the call of its line ends, as its argument.
        8: numbers(2, 2_500_040, 2_500_040, temp_bytes=2_500_040),
    }
    assert {line: lines.get(line) for line in expected} == expected
    inclusive = by_line(stairs, alone=False)[8]
    assert inclusive.alloc_bytes == 2_500_040 + 440 + 5_000_000 + METHOD
    assert inclusive.live_bytes == 440


def test_the_curve_passes_the_peak(stairs: HostMemory) -> None:
    (run,) = stairs.runs
    (curve,) = stairs.curves
    assert 0 < run.peak_ns <= curve.times_ns[-1]
    assert max(curve.live_bytes) <= run.peak_bytes
    assert [*curve.times_ns] == sorted(curve.times_ns)
    for number in range(len(curve.times_ns)):
        shown = sum(line[number] for line in curve.line_bytes)
        assert shown <= curve.live_bytes[number]
