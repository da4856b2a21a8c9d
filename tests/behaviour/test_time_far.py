"""Time of a line far down in a long function."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from as_python import kernprof, write
from check_time import check_times

from lineprof import load_stats

if TYPE_CHECKING:
    from pathlib import Path

    from settable_clock import Clock

FAR = "\n" * 400  # lines of nothing, but lines
MANY = "".join(f"            a{i} = i + {i}\n" for i in range(150))
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


@pytest.mark.usefixtures("hook")
def test_far_lines_have_the_time_until_the_next_line(clock: Clock) -> None:
    check_times(
        f"""
        @profile
        def far():
            for i in range(10):
                if tick(1000): #= 10000
                    {FAR}
                    i = 0
                tick(100) #= 1000
                tick(10) #= 100

        @profile
        def steps():
            for i in range(10):
                if tick(1000): #= 10000
                    {FAR}
                    i = 0
                yield tick(100) #= 1000

        far()
        for _ in steps():
            tick(1)
        """,
        clock,
    )


@pytest.mark.serial
def test_a_short_line_far_down_keeps_its_time(tmp_path: Path) -> None:
    many = MANY.replace("            ", "    ") * 20
    write(tmp_path, "far.py", FAR_SUM.replace("    ...\n", many))
    ran = kernprof("-lqo", "far.lprof", "far.py", cwd=tmp_path)
    assert (ran.status, ran.err) == (0, "")
    (function,) = load_stats(tmp_path / "far.lprof").functions
    row = next(row for row in function.rows if row.hits == 2000)
    assert row.time_ns / row.hits > float(ran.out) / 2
    assert function.total_ns >= row.time_ns
