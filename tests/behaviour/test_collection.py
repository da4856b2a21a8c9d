"""Collection that the program switches off and on: stop() and start()."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from gpu_double import environment
from running import hook_name, new_profiler, run_python

import lineprof
from lineprof import LineStats

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from settable_clock import Clock

    from lineprof import LineProfiler


@pytest.fixture(autouse=True)
def _start_again() -> Iterator[None]:
    yield
    lineprof.start()


def rows(profiler: LineProfiler, function: Callable[..., object]) -> dict[int, int]:
    """Return the hits by line, relative to the function's first line."""
    first = function.__code__.co_firstlineno  # type: ignore[attr-defined]
    return {
        row.line - first: row.hits
        for one in profiler.get_stats().functions
        for row in one.rows
        if one.name.endswith(function.__name__) and row.hits
    }


def test_nothing_counts_between_stop_and_start() -> None:
    def f(n: int) -> int:  # 0
        for i in range(n):  # 1
            if i == 3:  # 2
                lineprof.stop()  # 3
            if i == 6:  # 4
                lineprof.start()  # 5
        return n  # 6

    profiler = new_profiler()
    profiler(f)(10)
    # After start(), the frame counts from its next line on.
    assert rows(profiler, f) == {1: 4 + 4, 2: 4 + 3, 3: 1, 4: 3 + 3, 6: 1}


def test_a_call_while_collection_is_off_counts_from_start_on() -> None:
    def f() -> int:  # 0
        a = 1  # 1
        lineprof.start()  # 2
        b = 2  # 3
        return a + b  # 4

    profiler = new_profiler()
    decorated = profiler(f)
    lineprof.stop()
    assert decorated() == 3
    assert rows(profiler, f) == {3: 1, 4: 1}
    assert profiler.enable_count == 0
    assert decorated() == 3
    assert rows(profiler, f) == {1: 1, 2: 1, 3: 2, 4: 2}


def test_time_while_collection_is_off_counts_on_no_line(clock: Clock) -> None:
    tick = clock.tick

    def f() -> None:  # 0
        tick(5)  # 1
        (lineprof.stop(), tick(100), lineprof.start())  # 2
        tick(7)  # 3

    profiler = new_profiler(clock=clock.capsule)
    profiler(f)()
    first = f.__code__.co_firstlineno
    (function,) = profiler.get_stats().functions
    assert {row.line - first: row.time_ns for row in function.rows} == {
        1: 5,
        2: 0,
        3: 7,
    }


def test_generators_resumed_while_collection_is_off_count_again_afterwards() -> None:
    def f() -> Iterator[int]:  # 0
        yield 1  # 1
        yield 2  # 2
        yield 3  # 3

    profiler = new_profiler()
    steps = profiler(f)()
    next(steps)
    lineprof.stop()
    next(steps)
    lineprof.start()
    next(steps)
    steps.close()
    assert rows(profiler, f) == {1: 1, 3: 1}
    assert profiler.enable_count == 0


def test_collection_is_also_off_in_callers_of_the_function_that_stops_it() -> None:
    def inner(switch: Callable[[], object]) -> int:  # 0
        switch()  # 1
        return 0  # 2

    def outer() -> int:  # 0
        inner_of(lineprof.stop)  # 1
        inner_of(int)  # 2
        inner_of(lineprof.start)  # 3
        return 0  # 4

    profiler = new_profiler()
    inner_of = profiler(inner)
    profiler(outer)()
    assert rows(profiler, inner) == {1: 1, 2: 1}
    assert rows(profiler, outer) == {1: 1, 4: 1}


PROGRAM = """
from gpu_double import workload
gpu = workload()
gpu.fk_init()
{imports}

@profile
def step(n):
    gpu.fk_launch(b"kernel", 0, n)
    return n

step(1)
{start}
step(10)
step(20)
{stop}
step(300)
"""


@pytest.mark.parametrize(
    ("imports", "start", "stop"),
    [
        ("import lineprof", "lineprof.start()", "lineprof.stop()"),
        ("", "gpu.fk_profiler_start()", "gpu.fk_profiler_stop()"),
    ],
)
def test_profile_from_start_off_waits_for_the_program(
    tmp_path: Path, doubles: Path, imports: str, start: str, stop: str
) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(imports=imports, start=start, stop=stop))
    flags = ["-l", "--core", hook_name(), "--profile-from-start", "off", str(program)]
    done = subprocess.run(
        [sys.executable, "-m", "kernprof", *flags],
        cwd=tmp_path,
        env=environment(doubles),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    stats = LineStats.from_files(tmp_path / "program.lprof")
    (function,) = stats.functions
    assert [(row.hits) for row in function.rows] == [2, 2]
    assert sum(one.ns for one in stats.gpu.sums if one.kind == "kernel") == 30
    assert function.calls == 2


def test_profile_from_start_accepts_on_or_off(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kernprof", "--profile-from-start", "maybe", "x.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert (
        done.stderr
        == "kernprof: --profile-from-start: bad value 'maybe'; give on or off\n"
    )


def test_a_program_that_switches_collection_off_for_good_gets_a_warning() -> None:
    profiler = new_profiler()
    lineprof.stop()
    said = "nothing was counted since a call of cudaProfilerStop or lineprof.stop"
    assert profiler.get_stats().warnings == (said,)
    lineprof.start()
    assert profiler.get_stats().warnings == ()


def test_a_timeline_may_end_after_the_names_of_its_module_are_gone() -> None:
    """A program that freezes its garbage may have a profiler at its very end."""
    assert run_python("""
import gc, sys
from lineprof import LineProfiler
profiler = LineProfiler(trace=True)
names = vars(sys.modules["lineprof.recording.trace"])
names.update(dict.fromkeys([name for name in names if name[:2] != "__"]))
del profiler
gc.collect()
""") == (0, "", "")
