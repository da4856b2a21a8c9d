"""Calls that are counted without lines: `LineProfiler.count_calls`."""

from __future__ import annotations

import gc
import threading
from typing import TYPE_CHECKING
from weakref import ref

import pytest
from running import hook_name, new_profiler

import lineprof
from lineprof import _core as core
from lineprof.recording.calibration import Calibration, Costs, set_costs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FunctionType

    from settable_clock import Clock

    from lineprof import LineProfiler

pytestmark = pytest.mark.skipif(
    hook_name() == "settrace", reason="a trace function cannot do it"
)

Lines = dict[int, tuple[int, int]]  # by line, from the first one: hits and ns


def lines_of(profiler: LineProfiler, function: Callable[..., object]) -> Lines:
    """Return hits and time of a function's lines."""
    code = function.__code__
    [found] = [
        one for one in profiler.get_stats().functions if one.line == code.co_firstlineno
    ]
    return {
        row.line - found.line: (row.hits, row.time_ns)
        for row in found.rows
        if row.hits or row.time_ns
    }


def calls_of(profiler: LineProfiler, name: str) -> tuple[int, int]:
    """Return the calls of a function, and their total (ns)."""
    [found] = [one for one in profiler.get_stats().functions if one.name.endswith(name)]
    total = found.recursive_ns
    return found.calls, found.total_ns if total is None else total


def test_later_calls_have_their_time_on_the_first_line(clock: Clock) -> None:
    tick = clock.tick

    def f() -> None:  # 0
        tick(5)  # 1
        tick(7)  # 2

    profiler = new_profiler(clock=clock.capsule)
    profiler.add_function(f)
    with profiler:
        f()
        assert profiler.count_calls(f.__code__)
        assert not profiler.count_calls(f.__code__)  # it does so already
        f()
        f()
    assert lines_of(profiler, f) == {0: (0, 24), 1: (1, 5), 2: (1, 7)}
    assert calls_of(profiler, "f") == (3, 36)


def test_a_call_under_way_goes_on_on_its_first_line(clock: Clock) -> None:
    tick = clock.tick

    def f() -> None:  # 0
        tick(5)  # 1
        (tick(10), profiler.count_calls(f.__code__), tick(100))  # 2
        tick(7)  # 3

    profiler = new_profiler(clock=clock.capsule)
    profiler.add_function(f)
    with profiler:
        f()
    assert lines_of(profiler, f) == {0: (0, 107), 1: (1, 5), 2: (1, 10)}
    assert calls_of(profiler, "f") == (1, 122)


def test_callers_and_callees_of_such_a_function_keep_their_times(clock: Clock) -> None:
    tick = clock.tick

    def leaf() -> None:  # 0
        tick(3)  # 1

    def middle(n: int) -> None:  # 0
        tick(10)  # 1
        if n:  # 2
            middle(n - 1)  # 3
        leaf()  # 4

    def outer() -> None:  # 0
        middle(2)  # 1
        tick(1)  # 2

    profiler = new_profiler(clock=clock.capsule)
    for function in (leaf, middle, outer):
        profiler.add_function(function)
    with profiler:
        assert profiler.count_calls(middle.__code__)
        outer()
    assert lines_of(profiler, leaf) == {1: (3, 9)}
    assert lines_of(profiler, outer) == {1: (1, 39), 2: (1, 1)}
    assert calls_of(profiler, "middle") == (3, 39)  # recursion counts once
    assert calls_of(profiler, "leaf") == (3, 9)
    # All time in the three frames: 13 + 26 + 39.
    assert lines_of(profiler, middle) == {0: (0, 78)}


def test_a_generator_that_raises_and_one_that_is_closed(clock: Clock) -> None:
    tick = clock.tick

    def numbers(n: int) -> Iterator[int]:  # 0
        for i in range(n):  # 1
            tick(10)  # 2
            yield i  # 3
        raise ValueError("end")  # 4

    def consume() -> None:  # 0
        for _ in numbers(2):  # 1
            tick(1)  # 2

    profiler = new_profiler(clock=clock.capsule)
    for function in (numbers, consume):
        profiler.add_function(function)
    with profiler:
        assert profiler.count_calls(numbers.__code__)
        with pytest.raises(ValueError, match="end"):
            consume()
        steps = numbers(5)
        next(steps)
        steps.close()
    assert lines_of(profiler, numbers) == {0: (0, 30)}
    assert lines_of(profiler, consume) == {1: (3, 20), 2: (2, 2)}
    assert calls_of(profiler, "numbers") == (2, 30)


def test_a_lambda_has_one_line_for_both(clock: Clock) -> None:
    tick = clock.tick
    function = lambda: tick(5)  # noqa: E731
    profiler = new_profiler(clock=clock.capsule)
    profiler.add_function(function)
    with profiler:
        function()
        assert profiler.count_calls(function.__code__)
        function()
    assert lines_of(profiler, function) == {0: (1, 10)}


def test_all_threads_do_so() -> None:
    def work() -> int:
        total = 0
        for i in range(100):
            total += i
        return total

    profiler = new_profiler(work)

    def run() -> None:
        go.wait()
        work()

    go = threading.Event()
    threads = [threading.Thread(target=run) for _ in range(3)]
    with profiler:
        work()
        for thread in threads:
            thread.start()
        assert profiler.count_calls(work.__code__)
        go.set()
        for thread in threads:
            thread.join()
    lines = lines_of(profiler, work)
    assert [hits for hits, _ in lines.values()] == [0, 1, 101, 100, 1]
    assert calls_of(profiler, "work")[0] == 4


def test_code_of_two_profilers_keeps_its_lines() -> None:
    def work() -> int:
        return 1

    first, second = new_profiler(work), new_profiler(work)
    assert not first.count_calls(work.__code__)
    with first, second:
        work()
    assert [hits for hits, _ in lines_of(second, work).values()] == [1]


def test_a_profiler_that_comes_later_gets_the_lines() -> None:
    def work() -> int:
        return 1

    first = new_profiler(work)
    assert first.count_calls(work.__code__)
    second = new_profiler(work)
    with second:
        work()
    assert [hits for hits, _ in lines_of(second, work).values()] == [1]


def test_other_code_is_refused() -> None:
    assert not new_profiler().count_calls(lines_of.__code__)


def test_it_begins_after_discovery_has_ended() -> None:
    def work(n: int) -> int:
        return n

    profiler = new_profiler()
    profiler.discover(lambda code: code is work.__code__)
    with profiler:
        work(1)
        profiler.discover(None)
        assert profiler.count_calls(work.__code__)
        for n in range(10):
            work(n)
    assert calls_of(profiler, "work")[0] == 11


def test_a_call_goes_on_after_a_pause(clock: Clock) -> None:
    tick = clock.tick

    def leaf() -> None:  # 0
        tick(3)  # 1

    def work() -> None:  # 0
        tick(5)  # 1
        (lineprof.stop(), tick(100), lineprof.start())  # 2
        tick(7)  # 3
        leaf()  # 4

    profiler = new_profiler(work, leaf, clock=clock.capsule)
    with profiler:
        assert profiler.count_calls(work.__code__)
        work()
    assert lines_of(profiler, work) == {0: (0, 15)}
    assert lines_of(profiler, leaf) == {1: (1, 3)}
    [callee] = [one for one in profiler.get_stats().calls.nodes if one.parent >= 0]
    assert callee.function[2].endswith("leaf")


def test_code_that_is_compiled_again_has_no_lines_either() -> None:
    def compiled() -> FunctionType:
        scope: dict[str, FunctionType] = {}
        text = "def work(n):\n    a = n\n    return a\n"
        exec(compile(text, "again.py", "exec"), scope)
        return scope["work"]

    def register_and_call() -> None:
        work = compiled()
        profiler.add_function(work)
        with profiler:
            work(1)

    profiler = new_profiler()
    work = compiled()
    profiler.add_function(work)
    with profiler:
        work(1)
        assert profiler.count_calls(work.__code__)
    profiler.functions.clear()
    gone = ref(work.__code__)
    del work
    gc.collect()
    assert gone() is None
    register_and_call()
    [function] = profiler.get_stats().functions
    assert function.calls == 2
    assert [row.hits for row in function.rows if row.line > 1] == [1, 1]


def test_the_audit_before_a_call_may_ask_for_it(clock: Clock) -> None:
    tick = clock.tick

    def work() -> None:  # 0
        tick(5)  # 1

    profiler = new_profiler(work, clock=clock.capsule)
    names = ("line", "by_instruction", "call", "call_by_instruction")
    set_costs(core, Costs(**dict.fromkeys(names, 1000), max_small_int=256))
    profiler._session.calibration = Calibration()
    asked: list[bool] = []
    profiler.audit(lambda: asked.append(profiler.count_calls(work.__code__)), 1)
    with profiler:
        for _ in range(10):
            work()
    profiler.audit(None)
    assert asked[0]
    lines = lines_of(profiler, work)
    hits = lines[1][0] if 1 in lines else 0
    assert lines[0][0] == 0
    assert hits < 10
    raw = {row.line: row.raw_ns for row in profiler.get_stats().functions[0].rows}
    first = work.__code__.co_firstlineno
    assert raw[first] == 5 * (10 - hits)
