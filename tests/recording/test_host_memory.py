"""LineProfiler(memory=True): the memory that lines allocate."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import pytest
from memory_numbers import BLOCK, check_sums, own_memory
from memory_program import ON_LINUX
from running import new_profiler

from lineprof import _core as core
from lineprof.errors import LineprofError
from lineprof.model.host_memory import (
    HostMemory,
    MemoryNumbers,
    outside_memory,
    total_memory,
)
from lineprof.recording.host_memory import MemoryRecorder

if TYPE_CHECKING:
    from collections.abc import Callable

    from settable_clock import Clock

    from lineprof import LineProfiler

pytestmark = ON_LINUX


def keep(kept: list[object]) -> None:
    for place in range(len(kept)):
        kept[place] = bytes(1000)  # 2


def drop() -> None:
    for _ in range(100):
        bytes(1000)  # 2


def allocated() -> int:
    """Return the bytes that were allocated since measuring began, as the core has."""
    raw = core.memory_snapshot()
    return sum(row[2] for row in raw["sums"]) if raw else 0


@pytest.mark.serial
def test_a_line_has_the_bytes_that_it_allocates_and_keeps() -> None:
    profiler = new_profiler(memory=True)
    kept: list[object] = [None] * 100
    profiler(keep)(kept)
    stats = profiler.get_stats()
    assert own_memory(stats, "keep")[2] == MemoryNumbers(
        allocs=100, alloc_bytes=100 * BLOCK, peak_bytes=100 * BLOCK
    )
    check_sums(stats)


def test_bytes_that_a_line_frees_itself_are_temporary() -> None:
    profiler = new_profiler(memory=True)
    profiler(drop)()
    numbers = own_memory(profiler.get_stats(), "drop")[2]
    assert numbers._replace(peak_bytes=0) == MemoryNumbers(
        100, 100 * BLOCK, 100 * BLOCK, 100 * BLOCK
    )
    assert numbers.peak_bytes <= BLOCK


@pytest.mark.serial
def test_blocks_stay_those_of_their_line_when_another_one_frees_them() -> None:
    profiler = new_profiler(memory=True)
    kept: list[object] = [None] * 100
    profiler(keep)(kept)
    kept.clear()
    numbers = own_memory(profiler.get_stats(), "keep")[2]
    assert (numbers.freed_bytes, numbers.temp_bytes) == (100 * BLOCK, 0)
    assert numbers.peak_bytes == 100 * BLOCK


def staircase(tick: Any) -> None:
    tick(10)
    low = bytes(100_000)  # 2
    tick(20)
    high = bytes(300_000)  # 4
    high = None  # 5
    tick(40)
    low = bytes(200_000)  # 7: both are live
    tick(80)
    del low, high


@pytest.mark.serial
def test_the_peak_has_its_moment_and_its_lines(clock: Clock) -> None:
    profiler = new_profiler(clock=clock.capsule, memory=True)
    profiler.add_function(staircase)
    clock.tick(1000)  # measuring has begun
    with profiler:
        staircase(clock.tick)
    stats = profiler.get_stats()
    [run] = stats.memory.runs
    header = sys.getsizeof(b"")
    peaks = {
        line: one.peak_bytes
        for line, one in own_memory(stats, "staircase").items()
        if one.peak_bytes > 1000
    }
    assert peaks == {2: 100_000 + header, 4: 300_000 + header}
    assert 400_000 < run.peak_bytes < 500_000
    assert run.peak_ns == 1030
    check_sums(stats)


def test_the_curve_has_the_lines_by_time(clock: Clock) -> None:
    profiler = new_profiler(clock=clock.capsule, memory=True)
    tick = clock.tick

    def grow() -> list[bytes]:
        kept = []
        for _ in range(8):
            kept.append(bytes(50_000))  # 3
            tick(5_000_000)
        return kept

    profiler.add_function(grow)
    with profiler:
        kept = grow()
    [curve] = profiler.get_stats().memory.curves
    first = grow.__code__.co_firstlineno
    sizes = curve.line_bytes[[line for _, line in curve.lines].index(first + 3)]
    assert [*curve.times_ns] == sorted(curve.times_ns)
    assert max(sizes) > 7 * sys.getsizeof(kept[0])
    assert [*sizes] == sorted(sizes)
    assert curve.times_ns[-1] <= 40_000_000


@pytest.mark.serial
def test_a_profile_of_a_running_program_has_none_of_its_own_objects() -> None:
    profiler = new_profiler(memory=True)
    kept: list[object] = [None] * 100
    profiler(keep)(kept)
    profiler.get_stats()
    before = allocated()
    stats = profiler.get_stats()
    so_far = profiler.stats_so_far()
    assert allocated() - before < 2000  # with those of `allocated`
    assert stats.memory.sums
    assert so_far.memory.paths == stats.memory.paths


@pytest.mark.serial
def test_registering_functions_does_not_count() -> None:
    profiler = new_profiler(memory=True)
    profiler(drop)
    profiler(keep)  # what is made once has been made

    def made(register: Callable[[Any], object]) -> int:
        before = allocated()
        for number in range(50):
            names: dict[str, Any] = {}
            exec(f"def f():\n    return {number}", names)
            register(names["f"])
        return allocated() - before

    # Other threads, and the compiler's caches, only ever add to what is counted.
    registered = min(made(profiler) for _ in range(4))
    made_alone = min(made(bool) for _ in range(4))
    assert registered - made_alone < 50 * 300  # of the loops' own


@pytest.mark.serial
def test_reset_begins_again() -> None:
    profiler = new_profiler(memory=True)
    kept: list[object] = [None] * 100
    decorated = profiler(keep)
    decorated(kept)
    profiler.reset()
    older, kept = kept, [None] * 10
    decorated(kept)
    del older  # freed now, but older than the measurement
    numbers = own_memory(profiler.get_stats(), "keep")[2]
    assert numbers == MemoryNumbers(10, 10 * BLOCK, 0, 0, 10 * BLOCK)


def test_a_forked_child_has_its_own_numbers() -> None:
    profiler = new_profiler(memory=True)
    kept: list[object] = [None] * 100
    decorated = profiler(keep)
    decorated(kept)
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            mine: list[object] = [None] * 10
            decorated(mine)
            numbers = own_memory(profiler.get_stats(), "keep")[2]
            os.write(writer, repr(tuple(numbers)).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    told = os.read(reader, 1000)
    os.close(reader)
    assert os.waitpid(child, 0)[1] == 0
    assert told == repr((10, 10 * BLOCK, 0, 0, 10 * BLOCK)).encode()
    assert own_memory(profiler.get_stats(), "keep")[2].allocs == 100


def test_a_second_profiler_is_refused_until_the_first_has_gone() -> None:
    first = new_profiler(memory=True)
    first(drop)()
    with pytest.raises(LineprofError, match=r"another profiler .* delete that one"):
        new_profiler(memory=True)
    del first
    second = new_profiler(memory=True)
    second(drop)()
    assert own_memory(second.get_stats(), "drop")[2].allocs == 100


def test_a_profiler_in_a_cycle_that_nobody_has_is_in_nobodys_way() -> None:
    first = new_profiler(memory=True)
    first(drop)()
    cycle = [first]
    cycle.append(cycle)  # type: ignore[arg-type]
    del first, cycle
    second = new_profiler(memory=True)
    second(drop)()
    assert own_memory(second.get_stats(), "drop")[2].allocs == 100


def test_the_second_of_two_new_profilers_is_refused_at_its_first_function() -> None:
    first, second = new_profiler(memory=True), new_profiler(memory=True)
    first(drop)
    with pytest.raises(LineprofError, match="another profiler of this process"):
        second(drop)
    assert "memory is not measured: another" in "".join(second.get_stats().warnings)


def test_nothing_is_measured_once_the_profiler_has_gone() -> None:
    profiler = new_profiler(memory=True)
    profiler(drop)()
    del profiler
    before = allocated()
    kept = [bytes(1000) for _ in range(100)]
    assert allocated() == before
    assert kept


@pytest.mark.parametrize("asked", [None, False])
def test_without_the_option_there_is_no_memory(asked: bool | None) -> None:  # noqa: FBT001
    profiler = new_profiler(memory=asked)
    profiler(drop)()
    assert profiler.get_stats().memory == HostMemory()


def test_a_variable_asks_for_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEPROF_MEMORY", "1")
    first, second = new_profiler(), new_profiler()
    first(drop)()
    second(keep)([None])
    assert total_memory(first.get_stats().memory).allocs >= 100
    stats = second.get_stats()
    assert stats.memory == HostMemory()
    assert any("another profiler" in one for one in stats.warnings)
    assert new_profiler(memory=False).get_stats().memory == HostMemory()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LINEPROF_MEMORY", "perhaps"),
        ("LINEPROF_MEMORY_SAMPLE", "much"),
        ("LINEPROF_MEMORY_SAMPLE", "-1"),
    ],
)
def test_an_invalid_variable_is_named(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEPROF_MEMORY", "1")
    monkeypatch.setenv(name, value)
    with pytest.raises(LineprofError, match=f"{name}: bad .*{value}"):
        new_profiler()


@pytest.mark.parametrize("size", [4096, "4096", "4KiB", "4.096 kb"])
def test_a_sample_has_about_the_bytes_of_all_blocks(size: int | str) -> None:
    profiler = new_profiler(memory_sample=size)
    kept: list[object] = [None] * 20_000
    profiler(keep)(kept)
    stats = profiler.get_stats()
    [run] = stats.memory.runs
    assert run.sample_bytes == 4096
    assert own_memory(stats, "keep")[2].alloc_bytes == pytest.approx(
        20_000 * BLOCK, rel=0.1
    )


@pytest.mark.parametrize("size", ["", "much", "-1", "1.5", "2 TB", "5 bananas"])
def test_a_bad_size_is_refused(size: str) -> None:
    with pytest.raises(LineprofError, match="bad size"):
        new_profiler(memory_sample=size)


def test_named_blocks_have_memory() -> None:
    profiler = new_profiler(memory=True)
    with profiler.block("load"):
        kept = bytes(1_000_000)
    stats = profiler.get_stats()
    numbers = own_memory(stats, "load")[1]
    assert (numbers.allocs, numbers.live_bytes) == (1, sys.getsizeof(kept))


def test_lines_of_another_profiler_are_outside() -> None:
    profiler, other = new_profiler(memory=True), new_profiler()
    kept: list[object] = [None] * 100
    profiler(drop)
    other(keep)(kept)
    stats = profiler.get_stats()
    assert own_memory(stats, "keep") == {}
    assert outside_memory(stats.memory).alloc_bytes >= 100 * BLOCK
    check_sums(stats)


class _Refusing:
    """A core that refuses."""

    def __getattr__(self, name: str) -> Any:
        return getattr(core, name)

    def memory_start(self, sample: int, native: bool) -> None:  # noqa: ARG002, FBT001
        raise RuntimeError("this system has no memory to measure")


def test_a_run_goes_on_if_memory_cannot_be_measured() -> None:
    recorder = MemoryRecorder(_Refusing(), 0)  # type: ignore[arg-type]
    profiler: LineProfiler = new_profiler(memory=recorder)
    recorder.begin()
    profiler(drop)()
    stats = profiler.get_stats()
    assert stats.memory == HostMemory()
    assert "memory is not measured: this system has no memory to measure" in (
        stats.warnings
    )


@pytest.mark.serial
def test_calibration_does_not_count() -> None:
    profiler = new_profiler(memory=True)
    profiler(drop)()
    stats = profiler.get_stats()
    assert outside_memory(stats.memory).alloc_bytes < 2000
