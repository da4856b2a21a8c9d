"""Waits of lines without the waits of their callees: exact, or between bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lineprof.line_stats import LineStats
from lineprof.model.own_waits import OwnWait, own_waits
from lineprof.model.records import (
    IO,
    LOCK,
    NO_NODE,
    SLEEP,
    WAIT,
    CallNode,
    CallTree,
    FunctionStats,
    LineBreakdown,
    ThreadLine,
    Wait,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lineprof.model.records import Key

MAIN, HELPER = ("/a.py", 1, "main"), ("/a.py", 20, "helper")
LINE, OTHER_LINE = (MAIN, 2), (MAIN, 3)


def profile(
    *waits: Wait,
    calls: Iterable[tuple[int, Key, int]] = (),
    times: tuple[int, int] = (1_000, 1_000),
    breakdowns: Iterable[LineBreakdown] = (),
) -> LineStats:
    """Return a profile of `main`, whose lines 2 and 3 took `times`.

    `calls` have the calling line of `main`, the callee and its time.
    """
    calls = list(calls)
    own = sum(times) - sum(took for _, _, took in calls)
    main = CallNode(NO_NODE, 0, MAIN, -1, 1, 1, own, sum(times), sum(times))
    nodes = [CallNode(0, line, key, -1, 1, 1, ns, ns, ns) for line, key, ns in calls]
    helper_ns = sum(ns for _, key, ns in calls if key == HELPER)
    lines = tuple(ThreadLine(2 + i, -1, 1, ns) for i, ns in enumerate(times))
    return LineStats.from_functions(
        [
            FunctionStats("/a.py", "main", 1, lines, 1),
            FunctionStats("/a.py", "helper", 20, (ThreadLine(21, -1, 1, helper_ns),)),
        ],
        calls=CallTree((main, *nodes)),
        waits=waits,
        breakdowns=breakdowns,
    )


def own(stats: LineStats) -> OwnWait:
    return own_waits(stats, [LINE])[LINE]


def test_a_line_without_calls_waited_itself() -> None:
    found = own(profile(Wait(MAIN, 2, -1, IO, 700), Wait(MAIN, 2, -1, LOCK, 200)))
    assert found == OwnWait(min_ns=900, max_ns=900, cause=IO)
    assert own(profile(Wait(MAIN, 3, -1, IO, 700))) == OwnWait(0, 0)


def test_the_wait_of_a_callee_that_only_this_line_calls_is_taken_off() -> None:
    stats = profile(
        Wait(MAIN, 2, -1, SLEEP, 600),
        Wait(MAIN, 2, -1, IO, 200),
        Wait(HELPER, 21, -1, SLEEP, 500),
        calls=[(2, HELPER, 700)],
    )
    assert own(stats) == OwnWait(min_ns=300, max_ns=300, cause=IO)
    assert own(stats).is_known


def test_a_line_whose_callee_did_all_the_waiting_has_none() -> None:
    stats = profile(
        Wait(MAIN, 2, -1, SLEEP, 500),
        Wait(HELPER, 21, -1, SLEEP, 500),
        calls=[(2, HELPER, 700)],
    )
    assert own(stats) == OwnWait(0, 0)


def test_the_wait_of_a_callee_of_several_lines_has_bounds() -> None:
    stats = profile(
        Wait(MAIN, 2, -1, SLEEP, 700),
        Wait(HELPER, 21, -1, SLEEP, 500),
        calls=[(2, HELPER, 600), (3, HELPER, 400)],
    )
    # The helper waited 500 in all, at least 100 of them in the calls of line 2.
    found = own(stats)
    assert found == OwnWait(min_ns=200, max_ns=400, cause=SLEEP)  # of 400 of its own
    assert not found.is_known


def test_a_callee_that_hardly_waited_leaves_no_doubt() -> None:
    stats = profile(
        Wait(MAIN, 2, -1, IO, 300),
        Wait(HELPER, 21, -1, IO, 3),
        calls=[(2, HELPER, 600), (3, HELPER, 400)],
    )
    found = own(stats)
    assert (found, found.is_known) == (OwnWait(297, 300, IO), True)


def test_a_c_function_may_have_waited_for_all_its_time_and_a_recursive_one_not() -> (
    None
):
    stats = profile(
        Wait(MAIN, 2, -1, IO, 300), calls=[(2, ("", 0, "recv"), 250)], times=(500, 0)
    )
    assert own(stats) == OwnWait(min_ns=50, max_ns=250, cause=IO)
    again = CallNode(1, 21, HELPER, -1, 1, 0, 0, 0, 100)
    once = profile(
        Wait(MAIN, 2, -1, IO, 300),
        Wait(HELPER, 21, -1, IO, 200),
        calls=[(2, HELPER, 250)],
        times=(600, 0),
    )
    once.calls = CallTree((*once.calls.nodes, again))
    # The inner call waited for 100 at most, and the helper's lines for 200 in both.
    assert own(once) == OwnWait(min_ns=100, max_ns=200, cause=IO)


def test_a_profile_of_split_has_the_own_wait() -> None:
    stats = profile(
        Wait(MAIN, 2, -1, SLEEP, 700),
        Wait(HELPER, 21, -1, SLEEP, 500),
        calls=[(2, HELPER, 600), (3, HELPER, 400)],
        breakdowns=[LineBreakdown(MAIN, 2, -1, WAIT, 350)],
    )
    assert own(stats) == OwnWait(min_ns=350, max_ns=350, cause=SLEEP)


@pytest.mark.parametrize("lines", [[], [LINE, OTHER_LINE]])
def test_a_profile_without_waits_knows_none(lines: list[tuple[Key, int]]) -> None:
    assert own_waits(profile(), lines) == {}
