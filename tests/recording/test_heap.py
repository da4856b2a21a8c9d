"""Memory of lines, as the core counts it: bytes by arithmetic."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from memory_numbers import METHOD
from memory_program import ON_LINUX
from running import core_name, new_profiler

from lineprof import _core as core

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from settable_clock import Clock


pytestmark = ON_LINUX

EMPTY = sys.getsizeof(b"")  # bytes of an object without any
BIG = 4096


class Numbers(NamedTuple):
    """Numbers of a line itself."""

    allocs: int = 0
    alloc_bytes: int = 0
    freed_bytes: int = 0
    temp_bytes: int = 0
    peak_bytes: int = 0


class Measured:
    """What was measured, by line."""

    def __init__(self) -> None:
        self.lines: dict[int, Numbers] = {}
        self.peak_bytes = 0
        self.peak_ns = 0
        self.live_bytes = 0

    def read(self) -> None:
        snapshot = core.memory_snapshot()
        assert snapshot is not None
        self.peak_bytes = snapshot["peak_bytes"]
        self.peak_ns = snapshot["peak_ns"]
        self.live_bytes = snapshot["live_bytes"]
        totals: dict[int, list[int]] = {}
        for path, *numbers in snapshot["sums"]:
            _, serial, line = snapshot["paths"][path]
            total = totals.setdefault(line if serial else 0, [0] * len(numbers))
            totals[line if serial else 0] = [
                a + b for a, b in zip(total, numbers, strict=True)
            ]
        self.lines = {line: Numbers(*total) for line, total in totals.items()}
        assert sum(one.peak_bytes for one in self.lines.values()) == self.peak_bytes
        assert snapshot["lost"] == 0


@contextmanager
def measured(sample: int = 0) -> Iterator[Measured]:
    """Measure memory in the block; the numbers are there after it."""
    found = Measured()
    profiler = new_profiler()  # it keeps the engine's clock going
    gc.disable()  # it empties the free lists, too
    core.memory_start(sample, False)
    try:
        yield found
        found.read()
    finally:
        core.memory_stop()
        gc.enable()
        del profiler


def by_line(
    found: Measured, function: Callable[..., object], bytes_at_least: int = 0
) -> dict[int, Numbers]:
    """Return numbers by line, the first of the function being 0."""
    first = function.__code__.co_firstlineno
    return {
        line - first: numbers
        for line, numbers in found.lines.items()
        if line and numbers.alloc_bytes >= bytes_at_least
    }


def measure(function: Callable[..., object], *arguments: object) -> dict[int, Numbers]:
    """Run a function with its lines; return those that allocate some thousand bytes."""
    profiler = new_profiler(function)
    with profiler:
        function(*arguments)  # what is made once is not counted
    with measured() as found, profiler:
        function(*arguments)
    return by_line(found, function, BIG)


def test_bytes_are_those_of_arithmetic() -> None:
    def work(n: int) -> list[bytes]:
        kept = []
        for i in range(n):
            a = bytes(1000)
            b = bytearray(3000)
            if i % 10 == 0:
                kept.append(a)
            del a, b
        return kept

    profiler = new_profiler(work)
    with profiler:
        work(10)  # what is made once is not counted
    with measured() as found, profiler:
        kept = work(1000)
    lines = by_line(found, work, BIG)
    one = EMPTY + 1000
    assert lines[3][:3] == (1000, 1000 * one, 900 * one)
    assert lines[3].temp_bytes == 0
    array = sys.getsizeof(bytearray(3000))
    assert lines[4][:3] == (2000, 1000 * array, 1000 * array)
    assert len(kept) == 100


def test_what_a_line_frees_before_it_ends_is_temporary() -> None:
    def work() -> None:
        bytes(BIG)
        x = bytes(BIG)
        bool(x + x)
        x = x + x
        x = b""

    lines = measure(work)
    one, two = EMPTY + BIG, EMPTY + 2 * BIG
    assert {line: numbers[:4] for line, numbers in lines.items()} == {
        1: (1, one, one, one),
        2: (1, one, one, 0),
        3: (1, two, two, two),
        4: (1, two, two, 0),
    }


def test_a_block_that_grows_is_freed_and_allocated_anew() -> None:
    def work() -> None:
        grows = bytearray(BIG)
        grows.extend(bytes(2 * BIG))
        del grows

    lines = measure(work)
    assert lines[1].allocs == 2
    assert lines[1].freed_bytes == lines[1].alloc_bytes
    assert lines[1].temp_bytes == 0
    assert lines[2].freed_bytes == lines[2].alloc_bytes >= 5 * BIG
    assert 2 * BIG <= lines[2].temp_bytes < 3 * BIG


def test_a_callee_frees_what_its_caller_has_allocated() -> None:
    def drop(kept: list[bytes]) -> None:
        kept.clear()
        kept.append(bytes(BIG))

    def work() -> None:
        drop([bytes(BIG)])
        kept = [bytes(BIG)]
        drop(kept)

    profiler = new_profiler(work, drop)
    with profiler:
        work()
    with measured() as found, profiler:
        work()
    one = EMPTY + BIG
    lines = by_line(found, work, BIG)
    assert lines[1].freed_bytes == lines[1].alloc_bytes
    assert lines[1].temp_bytes >= one
    assert lines[2].freed_bytes == lines[2].alloc_bytes
    assert lines[2].temp_bytes < one
    made = by_line(found, drop, BIG)
    assert made[2].freed_bytes >= 2 * one
    assert made[2].temp_bytes == 2 * METHOD


def test_threads_free_each_others_blocks() -> None:
    handed: list[bytes] = []

    def make(n: int) -> None:
        for _ in range(n):
            block = bytes(BIG)
            handed.append(block)

    def free() -> None:
        while handed:
            handed.pop()

    profiler = new_profiler(make, free)
    with measured() as found, profiler:
        threads = [threading.Thread(target=make, args=(50,)) for _ in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        thread = threading.Thread(target=free)
        thread.start()
        thread.join()
    lines = by_line(found, make, BIG)
    assert lines[2].alloc_bytes >= 200 * (EMPTY + BIG)
    assert lines[2].alloc_bytes - lines[2].freed_bytes < BIG
    assert lines[2].temp_bytes < BIG


def test_a_generator_has_its_own_blocks() -> None:
    def produce(n: int) -> Iterator[bytes]:
        for _ in range(n):
            yield bytes(BIG)

    def work() -> None:
        for one in produce(10):
            bool(one)

    profiler = new_profiler(produce, work)
    with measured() as found, profiler:
        work()
    one = EMPTY + BIG
    assert by_line(found, produce, BIG)[2][:4] == (10, 10 * one, 10 * one, 0)


LINES = """
def called(n):
    x = n
    y = x
    if x is y:
        y = None
    return y


def work(n):
    a = n
    b = a
    called(a)
    b = a
    while b:
        b = None
        a = b
    return a
"""


@pytest.mark.parametrize("sample", [0, 64])
@pytest.mark.parametrize("length", [0, 200])  # of both functions
@pytest.mark.parametrize("above", [0, 300, 5000])
def test_a_line_that_allocates_nothing_has_no_bytes(
    above: int, length: int, sample: int
) -> None:
    namespace: dict[str, Callable[..., object]] = {}
    body = "(n):\n    if n is None:\n" + "        n = n\n" * (length + 1)
    source = "\n" * above + LINES.replace("(n):\n", body)
    exec(compile(source, "lines.py", "exec"), namespace)
    work, called = namespace["work"], namespace["called"]
    profiler = new_profiler(work, called)
    with profiler:
        work((1, 2))
    with measured(sample) as found, profiler:
        for _ in range(10):
            work((1, 2))
    lines = {line: numbers for line, numbers in found.lines.items() if line}
    if length and core_name() == "settrace" and sys.version_info[:2] == (3, 12):
        # Their branches make ints, freed at once, of which lineprof hears nothing.
        assert {line - above for line in lines} <= {3, 207, 213, 419}
        assert all(one.temp_bytes == one.alloc_bytes for one in lines.values())
        if not sample:
            sizes = [one.alloc_bytes / one.allocs for one in lines.values()]
            assert len(sizes) == 4
            assert all(28 <= size <= 32 for size in sizes)
    else:
        assert not lines


def test_the_first_call_of_a_function_has_no_bytes() -> None:
    namespace: dict[str, Callable[..., object]] = {}
    exec(compile(LINES, "lines.py", "exec"), namespace)
    work, called = namespace["work"], namespace["called"]
    profiler = new_profiler(work, called)
    with measured() as found, profiler:
        work((1, 2))
    assert {line for line in found.lines if line} == set()


@pytest.mark.serial
def test_the_peak_is_that_of_a_staircase(clock: Clock) -> None:
    tick = clock.tick

    def climb() -> None:
        a = bytes(1 * BIG)
        b = bytes(2 * BIG)
        c = bytes(3 * BIG)
        tick(1000)
        a = b""
        d = bytes(BIG // 2)
        del b, c, d, a

    profiler = new_profiler(climb, clock=clock.capsule)
    with profiler:
        climb()
    with measured() as found, profiler:
        before = clock.now()
        climb()
    lines = by_line(found, climb, BIG // 2)
    assert {line: numbers.peak_bytes for line, numbers in lines.items()} == {
        1: EMPTY + 1 * BIG,
        2: EMPTY + 2 * BIG,
        3: EMPTY + 3 * BIG,
        6: 0,
    }
    # The bound method of `tick` is part of the peak, and goes before the clock does.
    assert found.peak_ns == before + (0 if METHOD else 1000)
    assert 6 * BIG <= found.peak_bytes < 7 * BIG


def test_memory_outside_of_lines_is_counted() -> None:
    with measured() as found:
        kept = bytes(BIG)
    assert found.lines[0].alloc_bytes >= len(kept)
    assert found.live_bytes >= len(kept)


def test_samples_stand_for_all_blocks() -> None:
    def work() -> None:
        for _ in range(20000):
            bytes(1000)

    profiler = new_profiler(work)
    with measured(sample=65536) as found, profiler:
        work()
    total = 20000 * (EMPTY + 1000)
    assert 0.7 * total < by_line(found, work)[2].alloc_bytes < 1.3 * total


def test_a_second_session_is_refused() -> None:
    with measured(), pytest.raises(RuntimeError, match="another profiler"):
        core.memory_start(0, False)


def test_numbers_stay_after_the_end() -> None:
    with measured() as found:
        kept = bytes(BIG)
    found.read()
    live = found.live_bytes
    del kept
    found.read()
    assert found.live_bytes == live >= BIG
    core.memory_stop()


PROGRAM = """
import os, sys, tracemalloc
import lineprof._core as core
from lineprof import LineProfiler

def work(n):
    kept = []
    for i in range(n):
        a = bytes(1000)
        if i % 10 == 0:
            kept.append(a)
    return kept

profiler = LineProfiler(core=os.environ["LINEPROF_CORE"])
profiler.add_function(work)
first = work.__code__.co_firstlineno

def show(n):
    with profiler:
        kept = work(n)
    snapshot = core.memory_snapshot()
    for path, *numbers in snapshot["sums"]:
        if snapshot["paths"][path][2] == first + 3:
            print(*numbers[:3], *snapshot["notes"], flush=True)
"""


def output(body: str, **environment: str) -> list[str]:
    """Return the lines that a program prints."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + textwrap.dedent(body)],
        stdout=subprocess.PIPE,
        check=True,
        text=True,
        env={
            **os.environ,
            "LINEPROF_CORE": core_name(),
            "PYTHONPATH": os.pathsep.join(sys.path),
            **environment,
        },
    )
    return done.stdout.splitlines()


def is_right(line: str, n: int, *, traced: int = 0) -> bool:
    """Tell whether so many blocks are there, and no others.

    tracemalloc above lineprof allocates 16 bytes for each that it traces.
    """
    allocs, alloc_bytes, _ = map(int, line.split()[:3])
    rest = alloc_bytes - n * (EMPTY + 1000)
    return n <= allocs < n + traced + 9 and 0 <= rest < 16 * traced + 1000


@pytest.mark.parametrize("allocator", ["malloc", "debug", "pymalloc", "malloc_debug"])
def test_any_allocator_of_python_may_be_below(allocator: str) -> None:
    [line] = output("core.memory_start(0, False); show(1000)", PYTHONMALLOC=allocator)
    assert is_right(line, 1000)


def test_tracemalloc_may_have_started_before() -> None:
    body = """
        tracemalloc.start()
        core.memory_start(0, False)
        show(1000)
        core.memory_stop()
        print(tracemalloc.get_traced_memory()[0] > 0)
        tracemalloc.stop()
        """
    line, traced = output(body)
    assert is_right(line, 1000)
    assert traced == "True"


def test_tracemalloc_may_start_and_stop_meanwhile() -> None:
    body = """
        core.memory_start(0, False)
        tracemalloc.start()
        show(1000)
        tracemalloc.stop()
        show(1000)
        core.memory_stop()
        core.memory_start(0, False)
        show(500)
        """
    first, second, third = output(body)
    assert is_right(first, 1000, traced=1000)
    assert is_right(second, 2000, traced=1000)
    assert is_right(third, 500)


def test_a_tool_above_keeps_the_hooks_and_a_new_session_uses_them() -> None:
    body = """
        core.memory_start(0, False)
        tracemalloc.start()
        core.memory_stop()
        print(*core.memory_snapshot()["notes"])
        core.memory_start(0, False)
        show(1000)
        core.memory_stop()
        tracemalloc.stop()
        core.memory_start(0, False)
        show(700)
        """
    note, second, third = output(body)
    assert "stay there" in note
    assert is_right(second, 1000, traced=1000)
    assert is_right(third, 700)


def test_removed_hooks_are_told_of() -> None:
    body = """
        tracemalloc.start()
        core.memory_start(0, False)
        show(1000)
        tracemalloc.stop()
        show(1000)
        """
    first, second = output(body)
    assert is_right(first, 1000)
    assert "removed" in second


def test_a_forked_child_begins_at_nothing() -> None:
    body = """
        core.memory_start(0, False)
        before = [bytes(1000) for _ in range(100)]
        show(1000)
        pid = os.fork()
        if pid == 0:
            before.clear()
            show(300)
            os._exit(0)
        os.waitpid(pid, 0)
        show(500)
        """
    first, child, last = output(body)
    assert is_right(first, 1000)
    assert is_right(child, 300)
    assert is_right(last, 1500)


def test_a_start_that_is_refused_changes_nothing() -> None:
    with measured(sample=123_456):
        with pytest.raises(RuntimeError, match="another profiler"):
            core.memory_start(0, False)
        snapshot = core.memory_snapshot()
    assert snapshot is not None
    assert snapshot["sample"] == 123_456


def resident_bytes() -> int:
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.serial
def test_profilers_long_after_a_measurement_leave_no_memory() -> None:
    source = "def many_lines():\n" + "\n".join(f"    x = {i}" for i in range(3000))
    names: dict[str, Callable[[], None]] = {}
    exec(compile(source, "many_lines.py", "exec"), names)
    with measured():
        pass
    time.sleep(1.1)  # threads may be in hooks before

    def profile(rounds: int) -> None:
        for _ in range(rounds):
            profiler = new_profiler(names["many_lines"])
            with profiler:
                names["many_lines"]()
            del profiler

    profile(20)
    before = resident_bytes()
    profile(100)
    assert resident_bytes() - before < 5_000_000
