"""Other frame evaluators (PEP 523), such as torch.compile's, installed in any order.

From 3.12 on lineprof needs none of its own, and others must work as without lineprof.
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
    """Return the hits of the line of `inc`."""
    return hits_of(profiler)[FIRST, "inc"].get(FIRST + 1, 0)


@pytest.fixture(scope="module")
def library(shared_folder: Path) -> Evaluator:
    return Evaluator(double(shared_folder, "python/evaluator.c"))


@pytest.fixture
def other(library: Evaluator) -> Iterator[Evaluator]:
    assert library.is_none(), "an evaluator is installed before the test"
    yield library
    library.go()
    inc(0)  # an evaluator that was not first when it was removed goes at the next frame
    assert library.is_none(), "left behind: a frame evaluator"


def counted_by(other: Evaluator) -> bool:
    """Return whether the other evaluator counts calls."""
    before = other.frames()
    inc(0)
    return other.frames() > before


def test_an_evaluator_installed_before_lineprofs(other: Evaluator) -> None:
    other.come()
    profiler = new_profiler()
    function = profiler(inc)
    assert counted_by(other)
    assert function(1) == 2
    assert calls(profiler) == 1
    del profiler, function
    assert other.is_first(), "the other evaluator is no longer first"


def test_an_evaluator_installed_after_lineprofs(other: Evaluator) -> None:
    profiler = new_profiler()
    function = profiler(inc)
    other.come()
    assert counted_by(other)
    assert function(1) == 2
    other.go()
    assert function(1) == 2
    assert calls(profiler) == 2


def test_an_evaluator_installed_and_removed_in_a_profiled_call(
    other: Evaluator,
) -> None:
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
    assert other.is_none(), "left behind: the frame evaluator of lineprof"
    profiler.enable()
    inc(0)
    profiler.disable()
    assert calls(profiler) == 1


def test_an_evaluator_that_restores_the_one_before_lineprofs(other: Evaluator) -> None:
    profiler = new_profiler(inc)
    other.come()
    profiler.enable()
    inc(0)
    other.go()  # also removes lineprof's, which was called before it
    profiler.disable()
    profiler.enable()
    inc(0)
    profiler.disable()
    assert calls(profiler) == 2


def test_a_profiler_enabled_again_after_its_evaluator_was_removed(
    other: Evaluator,
) -> None:
    profiler = new_profiler(inc)
    for _ in range(3):  # like a compiled function that enables the profiler
        other.come()
        profiler.enable()
        inc(0)
        other.go()
        profiler.disable()
    assert calls(profiler) == 3


def test_an_evaluator_installed_again_while_lineprofs_is_first(
    other: Evaluator,
) -> None:
    profiler = new_profiler(inc)
    other.come()  # on one thread
    profiler.enable()
    other.come()  # on another one
    assert counted_by(other)
    inc(0)
    other.go()
    inc(0)
    profiler.disable()
    inc(0)
    assert calls(profiler) == 3
    other.go()


def test_deep_recursion_under_another_evaluator(other: Evaluator) -> None:
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


def test_calls_uncounted_because_of_another_evaluator_give_a_warning(
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


def test_a_profiler_created_afterwards_has_no_warning(other: Evaluator) -> None:
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
