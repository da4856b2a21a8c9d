"""Tracers that switch line events off for a frame, where lineprof still counts."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
from running import hits_of, new_profiler

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.usefixtures("hook")


def work(n: int) -> int:
    for _ in range(n):
        n += 1
    return n


def steps(n: int) -> Iterator[int]:
    for i in range(n):
        yield -i
    n = 0


class Tracer:
    """A tracer that records events, and switches line events off in one function."""

    def __init__(self, *, off: str, until: int = 0) -> None:
        self.off = off  # the name of that function
        self.until = until  # after so many line events
        self.seen: list[str] = []

    def __call__(self, frame: Any, event: str, _: object) -> Any:
        if frame.f_code.co_name == self.off:
            self.seen.append(f"{event} {frame.f_trace_lines}")
            if self.seen.count("line True") >= self.until:
                frame.f_trace_lines = False
        return self


def traced(tracer: Tracer, function: Any, *arguments: object) -> object:
    """Call a function with a tracer in place, as a debugger would."""
    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        return function(*arguments)
    finally:
        sys.settrace(before)


def counts(function: Any, tracer: Tracer, *arguments: object) -> list[int]:
    """Return the hits of the lines of a function that is called under a tracer."""
    profiler = new_profiler()
    traced(tracer, profiler(function), *arguments)
    (hits,) = hits_of(profiler).values()
    return list(hits.values())


@pytest.mark.parametrize("until", [0, 2])
def test_lines_count_although_a_tracer_switched_them_off(until: int) -> None:
    alone = Tracer(off="work", until=until)
    traced(alone, work, 5)
    beside = Tracer(off="work", until=until)
    assert counts(work, beside, 5) == [6, 5, 1]
    assert beside.seen == alone.seen


def test_lines_are_still_off_in_a_resumed_generator() -> None:
    alone = Tracer(off="steps")
    traced(alone, lambda: list(steps(3)))
    beside = Tracer(off="steps")
    profiler = new_profiler()
    decorated = profiler(steps)
    traced(beside, lambda: list(decorated(3)))
    (hits,) = hits_of(profiler).values()
    assert list(hits.values()) == [4, 3, 1]
    assert beside.seen == alone.seen


def test_a_tracer_may_switch_lines_on_again() -> None:
    class Fickle(Tracer):
        def __call__(self, frame: Any, event: str, arg: object) -> Any:
            if frame.f_code.co_name == "inner" and event == "return":
                frame.f_back.f_trace_lines = True
            return super().__call__(frame, event, arg)

    def inner() -> None:
        pass

    def outer() -> int:
        x = 1
        inner()
        x += 1
        return x

    alone = Fickle(off="outer", until=1)
    traced(alone, outer)
    beside = Fickle(off="outer", until=1)
    assert counts(outer, beside) == [1, 1, 1, 1]
    assert beside.seen[-1].split()[0] == "return"
    assert beside.seen[:2] == alone.seen[:2]


def fails(tracer: Tracer) -> None:
    raise KeyError(tracer.off)


def leaves(_: Tracer) -> None:
    sys.settrace(None)


@pytest.mark.parametrize("end", [fails, leaves])
def test_a_tracer_that_ends_after_switching_lines_off(end: Any) -> None:
    class Gone(Tracer):
        def __call__(self, frame: Any, event: str, arg: object) -> Any:
            if frame.f_code.co_name == self.off and event == "exception":
                end(self)
                return None
            return super().__call__(frame, event, arg)

    def outer() -> int:
        x = 1
        try:
            x += int("x")
        except (KeyError, ValueError):
            x += 1
        x += 1
        return x

    assert counts(outer, Gone(off="outer")) == [1, 1, 1, 1, 1, 1, 1]


def test_a_tracer_that_removes_itself_and_switches_lines_off() -> None:
    class Restores(Tracer):
        def __call__(self, frame: Any, event: str, arg: object) -> Any:
            if frame.f_code.co_name == "outer" and event == "line":
                sys.settrace(None)
                frame.f_trace_lines = False
                return None
            return super().__call__(frame, event, arg)

    def outer() -> object:
        return sys._getframe().f_trace_lines

    profiler = new_profiler()
    assert traced(Restores(off=""), outer) is False
    assert traced(Restores(off=""), profiler(outer)) is False
    (hits,) = hits_of(profiler).values()
    assert list(hits.values()) == [1]
