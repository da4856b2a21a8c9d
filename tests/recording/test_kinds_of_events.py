"""Each kind of event is charged with its own cost: the kinds and costs are forced."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

import lineprof._core as core
from lineprof import LineProfiler
from lineprof.recording.calibration import Calibration, Costs, set_costs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from settable_clock import Clock

CORES = ["settrace"]
if sys.version_info >= (3, 12):
    CORES += ["monitoring-line", "monitoring-instruction"]
COST = 100  # ns of the events of one kind; all others have none


def of_kind(kind: str, by: str) -> str:
    """Return the name of the cost of events of this kind with the core `by`."""
    is_by_instruction = by == "monitoring-instruction"
    return f"{kind}_by_instruction" if is_by_instruction else kind


def charged(clock: Clock, by: str, kind: str, *functions: Callable[..., object]) -> int:
    """Run the last function; return the ns charged to the lines of the first."""
    profiler = LineProfiler(*functions, core=by, clock=clock.capsule)
    set_costs(core, Costs(**{kind: COST * core.COST_ONE}, max_small_int=256))
    profiler._session.calibration = Calibration()
    with profiler:
        functions[-1]()
    name = functions[0].__qualname__
    found = next(f for f in profiler.get_stats().functions if f.name == name)
    return sum(row.raw_ns - row.time_ns for row in found.rows)


# Callers tick in the line that calls: no line is shorter than the calls in it.


@pytest.mark.parametrize("by", CORES)
def test_a_generator_has_the_cost_of_its_start_and_of_each_later_step(
    clock: Clock, by: str
) -> None:
    def steps(_: object) -> Iterator[int]:
        yield 1
        yield 2

    def consume() -> None:
        for _ in range(4):
            list(steps(clock.tick(10_000)))

    def charge(kind: str) -> int:
        return charged(clock, by, kind, consume, steps, consume)

    assert charge(of_kind("start", by)) == 4 * COST
    assert charge("resume") == 4 * 2 * COST  # the second step, and the end


@pytest.mark.parametrize("by", CORES)
def test_a_call_of_a_function_does_not_have_the_cost_of_a_generator(
    clock: Clock, by: str
) -> None:
    def called(_: object) -> None:
        pass

    def call() -> None:
        called(clock.tick(10_000))
        called(clock.tick(10_000))

    assert charged(clock, by, of_kind("call", by), call, called, call) == 2 * COST
    assert charged(clock, by, of_kind("start", by), call, called, call) == 0


@pytest.mark.parametrize("by", CORES)
def test_steps_cost_more_in_a_profiled_consumer(clock: Clock, by: str) -> None:
    def steps(count: int) -> Iterator[int]:
        yield from range(count)
        clock.tick(10_000)

    def consume() -> None:
        for _ in steps(2 + (clock.tick(10_000) or 0)):
            pass

    kind = of_kind("consumed", by)
    assert charged(clock, by, kind, consume, steps, consume) == 3 * COST
    assert charged(clock, by, kind, steps, consume) == 0


@pytest.mark.parametrize("by", CORES)
def test_a_loop_within_its_line_has_the_cost_of_its_jumps(
    clock: Clock, by: str
) -> None:
    def loop() -> None:
        for _ in range(5): clock.tick(10_000)  # fmt: skip  # noqa: E701

    def loop_over_lines() -> None:
        for _ in range(5):
            clock.tick(10_000)

    kind = of_kind("jump", by)
    assert charged(clock, by, kind, loop, loop) == 5 * COST
    assert charged(clock, by, kind, loop_over_lines, loop_over_lines) == 0
