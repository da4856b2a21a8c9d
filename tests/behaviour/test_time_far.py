"""Lines far down in a function, which Pythons before 3.11 take long to find."""

from __future__ import annotations

import builtins
import sys
from array import array
from types import CodeType
from typing import TYPE_CHECKING

import pytest
from as_python import kernprof, write
from check_time import measure
from running import plain

import lineprof._core as core
from lineprof import load_stats
from lineprof.bytecode.instructions import lookups

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from settable_clock import Clock

FROM_START = sys.version_info < (3, 10)
LOOKS_UP = sys.version_info < (3, 11)
START = 0  # of the table
LONG_WORK = 1_000_000
MANY = "".join(f"            a{i} = i + {i}\n" for i in range(150))
LOOP = f"""
set_costs()
@profile
def far():
    for i in range(10):
        if tick({LONG_WORK}):
{MANY}
        tick({LONG_WORK})
        tick({LONG_WORK})

far()
"""
STEPS = f"""
set_costs()
@profile
def far():
    for i in range(10):
        if tick({LONG_WORK}):
{MANY}
        yield tick({LONG_WORK})

list(far())
"""
FAR_SUM = """
import time

@profile
def far(data):
    i = 0
    ...
    for _ in range(2000):
        sum(data)

def near(data):
    start = time.perf_counter_ns()
    for _ in range(200):
        sum(data)
    return (time.perf_counter_ns() - start) / 200

data = list(range(50))
far(data)
print(min(near(data) for _ in range(50)))
"""


@pytest.fixture
def a_nanosecond_a_step(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give programs what makes each entry that is gone by take a ns, and no more."""
    costs = (0, 0, 0, core.COST_ONE, 0, 0, 0, 0)
    monkeypatch.setattr(
        builtins, "set_costs", lambda: core.set_costs(*costs), raising=False
    )
    yield
    core.set_costs(*[0] * len(costs))


def code_of(text: str) -> CodeType:
    """Compile a program and return the code of its function."""
    constants = compile(plain(text), "far.py", "exec").co_consts
    return next(one for one in constants if isinstance(one, CodeType))


def entries_before(code: CodeType, line: int) -> int:
    """Count the entries of the table of lines before where `line` begins."""
    if line == START:
        return 0
    table = code.co_lnotab if FROM_START else code.co_linetable
    offset, number = 0, code.co_firstlineno
    for place, (length, byte) in enumerate(zip(table[::2], table[1::2])):
        step = byte - 256 if byte > 127 else byte
        if not FROM_START and byte == 128:  # instructions without a line
            step = 0
        if FROM_START and number == line:
            return place
        number += step
        if not FROM_START and number == line and length:
            return place
        offset += length
    return len(table) // 2


def steps(was: int, now: int) -> int:
    """Count the steps that lp_python.h says."""
    if FROM_START:
        return now + 16 * (now >= 16)
    way = now - was if now >= was else (was - now) * 5 // 2
    return way + 16 if way >= 16 else 0


def check(text: str, clock: Clock, ways: dict[int, list[tuple[int, int]]]) -> None:
    """Compare what is taken out of lines with the ways from line to line in them."""
    code = code_of(text)
    stats = measure(plain(text), clock)
    rows = {row.line: row for function in stats.functions for row in function.rows}
    for line, pairs in ways.items():
        row = rows[line]
        assert (row.hits, row.raw_ns) == (10, 10 * LONG_WORK)
        way = sum(
            steps(*(entries_before(code, place) for place in pair)) for pair in pairs
        )
        assert row.raw_ns - row.time_ns == (10 * way if LOOKS_UP else 0), line


@pytest.mark.usefixtures("hook", "a_nanosecond_a_step")
def test_the_way_to_the_next_line_is_no_time_of_the_one_before(clock: Clock) -> None:
    check(LOOP, clock, {5: [(5, 157)], 157: [(157, 158)], 158: [(158, 4)]})


@pytest.mark.usefixtures("hook", "a_nanosecond_a_step")
def test_the_way_to_where_a_generator_goes_on_is_none_of_its_time(
    clock: Clock,
) -> None:
    resumed = [(START, 157)] if FROM_START else []  # later ones go before it begins
    check(STEPS, clock, {5: [(5, 157)], 157: [*resumed, (157, 4)]})


@pytest.mark.skipif(not LOOKS_UP, reason="lines are found at once")
def test_short_functions_weigh_by_line() -> None:
    code = code_of("def near():\n    a = 1\n    b = 2\n")
    made = lookups(code, [(0, 4, 2), (4, 8, 3)], 1, 3)
    expected = [0, entries_before(code, 2), entries_before(code, 3)]
    assert made == (
        False,
        array("H", expected).tobytes() if FROM_START else None,
    )


def test_a_short_line_far_down_keeps_its_time(tmp_path: Path) -> None:
    many = MANY.replace("            ", "    ") * 20
    write(tmp_path, "far.py", FAR_SUM.replace("    ...\n", many))
    ran = kernprof("-lqo", "far.lprof", "far.py", cwd=tmp_path)
    assert (ran.status, ran.err) == (0, "")
    (function,) = load_stats(tmp_path / "far.lprof").functions
    row = next(row for row in function.rows if row.hits == 2000)
    assert row.time_ns / row.hits > float(ran.out) / 2
    assert function.total_ns >= row.time_ns
