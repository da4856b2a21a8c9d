"""Collapsed stacks: each call path once, with the self time of its last function."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from example_calls import FIB, FORWARD, MAIN, deep, example, wide
from export_shapes import content, remarks, shapes

from lineprof.line_stats import LineStats
from lineprof.model.call_graph import function_totals, line_self_ns
from lineprof.model.records import FunctionStats, ThreadLine

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.once  # files of fixed profiles


def collapsed(stats: LineStats) -> dict[tuple[str, ...], int]:
    """Return the stacks as scripts read them: the number follows the last blank."""
    found = {}
    for line in content(stats, "collapsed").decode().splitlines():
        path, number = line.rsplit(" ", 1)
        frames = tuple(path.split(";"))
        assert frames not in found
        found[frames] = int(number)
    return found


@pytest.mark.parametrize("shape", list(shapes()))
def test_the_sum_is_the_time_of_the_profile(shape: str) -> None:
    stats = shapes()[shape]
    own = sum(sum(lines.values()) for lines in line_self_ns(stats).values())
    of_c = sum(n.self_ns for n in stats.calls.nodes if not n.function[0])
    if shape == "deep":
        lines = content(stats, "collapsed").decode().splitlines()
        assert sum(int(line.rsplit(" ", 1)[1]) for line in lines) == own
    else:
        found = collapsed(stats)
        assert sum(found.values()) == own + of_c
        assert min(found.values(), default=1) > 0


def test_functions_have_the_self_time_of_the_table() -> None:
    times, below = Counter[str](), Counter[str]()
    for frames, ns in collapsed(example()).items():
        times[frames[-1]] += ns
        below.update(dict.fromkeys(frames, ns))
    numbers = function_totals(example())
    for key, shown in (
        (MAIN, "main (main.py:6)"),
        (FORWARD, "Model.forward (model.py:12)"),
        (FIB, "fib (solve.py:1)"),
    ):
        assert times[shown] == numbers[key].self_ns
        assert below[shown] == numbers[key].total_ns
    assert times["builtins.len"] == 60


def test_names_contain_no_line_or_frame_separators() -> None:
    cells = (ThreadLine(2, -1, 1, 7),)
    functions = [
        FunctionStats("/p/a;b\n.py", "f;\r\n\x00\udcff \u2028", 1, cells),
        FunctionStats("/p/x.py", "main", 1, cells),
    ]
    stats = LineStats.from_functions(functions)
    assert collapsed(stats) == {
        ("f,\\r\\n\\x00\\udcff \\u2028 (a,b\\n.py:1)",): 7,
        ("main (x.py:1)",): 7,
    }


def test_deep_stacks_are_cut_in_the_middle() -> None:
    lines = content(deep(300), "collapsed").decode().splitlines()
    assert len(lines) == 300
    frames = lines[-1].rsplit(" ", 1)[0].split(";")
    assert len(frames) == 256
    assert (frames[0], frames[64]) == ("f0 (deep.py:1)", "...")
    assert frames[-1] == "f299 (deep.py:599)"


def test_the_unit_of_the_numbers_is_remarked_on() -> None:
    assert remarks(example(), "collapsed") == [
        "the numbers are nanoseconds",
        "GPU time is left out: --metric gpu has it",
    ]
    assert "each function is a root" in remarks(shapes()["no tree"], "collapsed")[0]


def test_gprof2dot_reads_the_file(tmp_path: Path) -> None:
    gprof2dot = pytest.importorskip("gprof2dot")
    (tmp_path / "out").write_bytes(content(example(), "collapsed"))
    with (tmp_path / "out").open(encoding="utf-8") as stream:
        profile = gprof2dot.CollapseParser(stream).parse()
    assert profile[gprof2dot.SAMPLES] == 7_826_348
    functions = {f.name: f for f in profile.functions.values()}
    numbers = function_totals(example())
    for key in (MAIN, FORWARD, FIB):
        found = functions[key[2]]
        assert found[gprof2dot.SAMPLES] == numbers[key].self_ns
        assert found[gprof2dot.TOTAL_SAMPLES] == numbers[key].total_ns


def test_many_functions_and_call_paths_are_all_written() -> None:
    assert sum(collapsed(wide(200, 10_000)).values()) == 10_000_000
