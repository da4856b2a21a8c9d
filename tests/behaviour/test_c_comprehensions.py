"""C functions called by comprehensions: the caller is the comprehension's line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from as_python import kernprof, write
from c_events import needs_c_events

from lineprof import load_stats
from lineprof.model.call_graph import edges
from lineprof.model.time_split import line_time_splits

if TYPE_CHECKING:
    from pathlib import Path

    from lineprof import LineStats

pytestmark = needs_c_events

CALLS = """
def plain(n):
    return [abs(n) for _ in range(3)], abs(n)

@profile
def counted(n):
    return [abs(n) for _ in range(5)]

def fails(n):
    return int("x") if n else n

@profile
def work():
    a = [abs(n) for n in (1, 2)]
    b = {abs(n) for n in (1, 2, 3)}
    c = {abs(n): hash(n) for n in (1, 2, 3, 4)}
    d = [[abs(n) for n in (m, m)] for m in (1, 2, 3) if hash(m)]
    e = [(plain(n), abs(n)) for n in (1, 2)]
    f = [(counted(n), abs(n)) for n in (1, 2)]
    try:
        g = [[abs(n), fails(n), int("x")] for n in (0, 1)]
    except ValueError:
        h = abs(1)
    return [sorted([2, 1], key=lambda n: [abs(n) for n in (n, n)]) for _ in "ab"]

work()
"""
WORK = 14  # the line of the first comprehension
DIGESTS = """
import hashlib

@profile
def work():
    data = b"x" * 1_000_000
    a = [hashlib.sha256(data).digest() for _ in range(8)]
    b = {hashlib.sha256(data).digest() for _ in range(8)}
    c = {n: hashlib.sha256(data).digest() for n in range(8)}

work()
"""


def profiled(text: str, flag: str, folder: Path) -> LineStats:
    """Run a program under kernprof with `flag`, and return its profile."""
    write(folder, "x.py", text)
    ran = kernprof("-lqo", "x.lprof", flag, "x.py", cwd=folder)
    assert (ran.status, ran.err) == (0, "")
    return load_stats(folder / "x.lprof")


def calls_of(stats: LineStats, callee: str) -> dict[tuple[str, int], int]:
    """Return the calls of a C function, by caller and line."""
    return {
        (edge.caller[2], edge.line): edge.calls
        for edge in edges(stats.calls)
        if edge.caller and edge.callee[2] == callee
    }


def test_calls_in_comprehensions_count_on_their_line(tmp_path: Path) -> None:
    stats = profiled(CALLS, "--builtins", tmp_path)
    assert calls_of(stats, "builtins.abs") == {
        ("work", WORK): 2,
        ("work", WORK + 1): 3,
        ("work", WORK + 2): 4,
        ("work", WORK + 3): 6,
        ("work", WORK + 4): 2,
        ("work", WORK + 5): 2,
        ("work", WORK + 7): 1,
        ("work", WORK + 9): 1,
        ("counted", 7): 10,
    }
    assert calls_of(stats, "builtins.hash") == {
        ("work", WORK + 2): 4,
        ("work", WORK + 3): 3,
    }
    assert calls_of(stats, "builtins.sorted") == {("work", WORK + 10): 2}


@pytest.mark.serial
def test_time_of_c_functions_in_comprehensions_is_native(tmp_path: Path) -> None:
    stats = profiled(DIGESTS, "--split", tmp_path)
    ((key, lines),) = line_time_splits(stats).items()
    assert key[2] == "work"
    for line in (7, 8, 9):
        one = lines[line]
        assert one.native_ns > one.python_ns
