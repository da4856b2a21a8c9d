"""Other frame evaluators (PEP 523), as ``torch.compile`` has one: in any order.

From 3.12 on ours is not needed, and theirs must not mind us.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from compiled_doubles import double
from frame_evaluator import Evaluator
from running import hits_of, hook_name, new_profiler

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lineprof import LineProfiler

pytestmark = pytest.mark.usefixtures("hook")


def inc(n: int) -> int:
    return n + 1


FIRST = inc.__code__.co_firstlineno


def deep(n: int) -> int:
    return deep(n - 1) + 1 if n else 0


def calls(profiler: LineProfiler) -> int:
    """Hits of the line of `inc`."""
    return hits_of(profiler)[FIRST, "inc"].get(FIRST + 1, 0)


@pytest.fixture(scope="module")
def library(shared_folder: Path) -> Evaluator:
    return Evaluator(double(shared_folder, "python/evaluator.c"))


@pytest.fixture
def other(library: Evaluator) -> Iterator[Evaluator]:
    assert library.is_none(), "an evaluator is here before the test"
    yield library
    library.go()
    inc(0)  # whoever was told to go while another was first goes with a frame
    assert library.is_none(), "left behind: a frame evaluator"


def counted_by(other: Evaluator) -> bool:
    """Does the other one see calls?"""
    before = other.frames()
    inc(0)
    return other.frames() > before


def test_one_that_came_before_us(other: Evaluator) -> None:
    other.come()
    profiler = new_profiler()
    function = profiler(inc)
    assert counted_by(other)
    assert function(1) == 2
    assert calls(profiler) == 1
    del profiler, function
    assert other.is_first(), "it is not where it was"


def test_one_that_came_after_us(other: Evaluator) -> None:
    profiler = new_profiler()
    function = profiler(inc)
    other.come()
    assert counted_by(other)
    assert function(1) == 2
    other.go()
    assert function(1) == 2
    assert calls(profiler) == 2


def test_one_that_comes_and_goes_in_a_profiled_call(other: Evaluator) -> None:
    profiler = new_profiler()
    function = profiler(inc)

    @profiler
    def around() -> int:
        other.come()
        n = function(0)
        other.go()
        return n + function(0)

    assert around() == 2
    assert calls(profiler) == 2
    hits = [n for function in hits_of(profiler).values() for n in function.values()]
    assert sum(hits) == 4 + 2


def test_a_profiler_that_ends_while_another_is_first(other: Evaluator) -> None:
    profiler = new_profiler(inc)
    profiler.enable()
    other.come()
    profiler.disable()
    inc(0)
    assert other.is_first()
    other.go()
    inc(0)
    assert other.is_none(), "we stayed though nobody wants us"
    profiler.enable()
    inc(0)
    profiler.disable()
    assert calls(profiler) == 1


def test_one_that_puts_back_what_it_found_before_us(other: Evaluator) -> None:
    profiler = new_profiler(inc)
    other.come()
    profiler.enable()
    inc(0)
    other.go()  # with us, where we stood before it
    profiler.disable()
    profiler.enable()
    inc(0)
    profiler.disable()
    assert calls(profiler) == 2


def test_a_profiler_enabled_anew_under_one_that_put_us_out(other: Evaluator) -> None:
    profiler = new_profiler(inc)
    for _ in range(3):  # a compiled function that enables the profiler each time
        other.come()
        profiler.enable()
        inc(0)
        other.go()
        profiler.disable()
    assert calls(profiler) == 3


def test_one_that_comes_a_second_time_while_we_stand_before_it(
    other: Evaluator,
) -> None:
    profiler = new_profiler(inc)
    other.come()  # for one thread
    profiler.enable()
    other.come()  # for another
    assert counted_by(other)
    inc(0)
    other.go()
    inc(0)
    profiler.disable()
    inc(0)
    assert calls(profiler) == 3
    other.go()


def test_deep_recursion_under_another_one(other: Evaluator) -> None:
    depth = sys.getrecursionlimit() - 300
    profiler = new_profiler(deep)
    profiler.enable()
    other.come()
    assert deep(depth) == depth
    assert other.is_first()
    other.go()
    assert deep(depth) == depth
    profiler.disable()
    if hook_name() == "settrace" and sys.version_info < (3, 12):
        assert other.is_none()
    first = deep.__code__.co_firstlineno
    assert hits_of(profiler)[first, "deep"] == {first + 1: 2 * (depth + 1)}


def test_calls_that_went_uncounted_because_of_another_one_are_told_of(
    other: Evaluator,
) -> None:
    profiler = new_profiler(inc)
    other.come()
    profiler.enable()
    other.go()
    inc(0)
    warnings = profiler.get_stats().warnings
    inc(0)
    profiler.disable()
    if hook_name() == "settrace" and sys.version_info < (3, 12):
        assert [text.partition(" (")[0] for text in warnings] == [
            "another frame evaluator"
        ]
        assert calls(profiler) == 1
    else:
        assert warnings == ()
        assert calls(profiler) == 2


def test_a_profiler_made_afterwards_has_nothing_to_tell(other: Evaluator) -> None:
    profiler = new_profiler(inc)
    other.come()
    profiler.enable()
    other.go()
    profiler.disable()
    del profiler
    later = new_profiler(inc)
    with later:
        inc(0)
    assert later.get_stats().warnings == ()
