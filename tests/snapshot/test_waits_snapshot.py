"""Waits and breakdowns of lines, from the core's rows."""

from __future__ import annotations

import pytest

from lineprof.model.records import (
    C_SYSTEM,
    C_WAIT,
    CAUSES,
    IO,
    LOCK,
    OTHER,
    RUNNABLE,
    SLEEP,
    SYSTEM,
    UNKNOWN_THREAD,
    WAIT,
    FunctionStats,
    LineBreakdown,
    ThreadLine,
    Wait,
)
from lineprof.snapshot.profile import WaitRow, own_times_of, waits_of, warnings_of

KEY = ("x.py", 1, "f")
SERIAL = 7  # of the function's code object
UNSEEN = len(CAUSES)  # the core's number of an unknown cause; then come the parts
LINE_NS = 1_000


def row(cause: int, ns: int, *, line: int = 2, thread: int = 0) -> WaitRow:
    return WaitRow(SERIAL, line, thread, cause, ns)


def cause(name: str, ns: int, *, line: int = 2, thread: int = 0) -> WaitRow:
    return row(CAUSES.index(name), ns, line=line, thread=thread)


def function(*lines: ThreadLine) -> FunctionStats:
    return FunctionStats(*KEY[::2], KEY[1], lines)


def waits(*rows: WaitRow) -> dict[tuple[int, int, str], int]:
    """Return the time by line, thread and cause; lines 2 and 3 took LINE_NS each."""
    lines = [ThreadLine(n, thread, 1, LINE_NS) for n in (2, 3) for thread in (0, 1)]
    found = waits_of(rows, {SERIAL: KEY}, lambda one: one, [function(*lines)])
    return {(one.line, one.thread, one.cause): one.ns for one in found}


def test_waits_of_unknown_cause_are_divided_as_the_known_ones_of_the_line() -> None:
    assert waits(cause(LOCK, 30), cause(IO, 10), row(UNSEEN, 40)) == {
        (2, 0, LOCK): 60,
        (2, 0, IO): 20,
    }


def test_the_division_is_as_on_all_threads_of_the_line() -> None:
    assert waits(row(UNSEEN, 40), cause(SLEEP, 5, thread=1)) == {
        (2, 0, SLEEP): 40,
        (2, 1, SLEEP): 5,
    }


def test_without_a_known_cause_on_its_line_a_wait_has_another_one() -> None:
    """The times of runnable threads say nothing about those of blocked ones."""
    rows = (row(UNSEEN, 40), cause(RUNNABLE, 7), cause(IO, 5, line=3))
    assert waits(*rows) == {(2, 0, OTHER): 40, (2, 0, RUNNABLE): 7, (3, 0, IO): 5}


def test_waits_are_never_longer_than_their_line() -> None:
    assert waits(cause(LOCK, 3 * LINE_NS), cause(IO, LINE_NS)) == {
        (2, 0, LOCK): 750,
        (2, 0, IO): 250,
    }


def test_each_part_of_a_breakdown_has_its_number() -> None:
    rows = [row(UNSEEN + 1 + part, 10 + part) for part in range(4)]
    found = own_times_of([*rows, row(UNSEEN, 99)], {SERIAL: KEY}, lambda _: 0)
    assert {one.part: one.ns for one in found} == {
        WAIT: 10,
        SYSTEM: 11,
        C_WAIT: 12,
        C_SYSTEM: 13,
    }


def test_a_breakdown_without_time_shows_that_it_was_asked_for() -> None:
    found = own_times_of([row(UNSEEN, 99)], {SERIAL: KEY}, lambda _: 0)
    assert found == (LineBreakdown(KEY, 1, UNKNOWN_THREAD, WAIT, 0),)
    assert own_times_of([], {}, lambda _: 0) == ()


@pytest.mark.parametrize(
    ("name", "ns", "warned"),
    [(OTHER, 100, True), (OTHER, 99, False), (LOCK, 500, False), (SLEEP, 500, False)],
)
def test_hidden_causes_give_a_warning_from_a_tenth_of_all_time(
    *, name: str, ns: int, warned: bool
) -> None:
    lines = [function(ThreadLine(2, 0, 1, LINE_NS))]
    found = [Wait(KEY, 2, 0, name, ns)]
    warnings = warnings_of(found, lines, unavailable=True)
    assert ["is not known" in line for line in warnings] == [True] * warned
    assert warnings_of(found, lines, unavailable=False) == []
