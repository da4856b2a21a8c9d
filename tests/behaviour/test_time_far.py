"""Time of a line far down in a long function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from as_python import kernprof, write

from lineprof import load_stats

if TYPE_CHECKING:
    from pathlib import Path

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


def test_a_short_line_far_down_keeps_its_time(tmp_path: Path) -> None:
    many = MANY.replace("            ", "    ") * 20
    write(tmp_path, "far.py", FAR_SUM.replace("    ...\n", many))
    ran = kernprof("-lqo", "far.lprof", "far.py", cwd=tmp_path)
    assert (ran.status, ran.err) == (0, "")
    (function,) = load_stats(tmp_path / "far.lprof").functions
    row = next(row for row in function.rows if row.hits == 2000)
    assert row.time_ns / row.hits > float(ran.out) / 2
    assert function.total_ns >= row.time_ns
