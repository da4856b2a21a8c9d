"""`lineprof view --tree`: the call tree by cost, at any depth."""

from __future__ import annotations

import io
import re

import pytest
from example_calls import deep, example, function
from example_stats import example as without_calls
from view_text import lines_of

from lineprof.console.terminal import PLAIN, Terminal, terminal_of
from lineprof.line_stats import LineStats
from lineprof.model.records import NO_NODE, CallNode, CallTree

pytestmark = pytest.mark.once  # text of fixed profiles

SHOWN = """\
Time (us)   Share  Calls  Function, and its hottest line
 6292.469  80.4 %      1  module main  → 29: main()
 6242.436  79.8 %      1  └─ :29 main (main.py:6)  → 9: model.forward(step)
 4564.877  58.3 %      3     └─ :9 Model.forward (model.py:12)  → 15: return total\
 + weights(self.sizes)
"""


def tree(stats: LineStats, **options: object) -> list[str]:
    """Return the lines below the titles."""
    return lines_of(stats, "tree", **options)[1:]


def words(line: str) -> str:
    """Return the label of a row, after its numbers."""
    return re.sub(r"^ *[\d.]+ +[\d.]+ % +\d+  ", "", line)


def times(stats: LineStats, **options: object) -> list[float]:
    """Return the times of all rows, in the unit of the view."""
    return [float(line.split()[0]) for line in tree(stats, **options)]


def test_the_tree_is_drawn_with_the_hottest_line_of_each_function() -> None:
    assert lines_of(example(), "tree")[:4] == SHOWN.splitlines()


def test_only_the_given_number_of_levels_is_shown() -> None:
    shown = [words(line) for line in tree(example(), depth=2)]
    assert [line.split("  →")[0] for line in shown] == [
        *("module main", "└─ :29 main (main.py:6)"),
        *("work (main.py:17)", "└─ :18 Model.forward (model.py:12)"),
    ]


def test_roots_add_up_to_the_total_of_all_threads() -> None:
    roots = times(example(), depth=1)
    assert sum(roots) == pytest.approx(7826.348, abs=1e-9)


def test_small_calls_are_left_out_unless_min_percent_is_0() -> None:
    assert len(tree(example())) == 7
    rows = tree(example(), min_percent=50.0)
    assert len(rows) == 5
    assert rows[4].split() == ["1533.879", "19.6", "%", "1", "…", "1", "more"]
    assert len(tree(example(), min_percent=0.0)) == 25  # all nodes


def test_recursion_is_marked_and_its_time_counts_once() -> None:
    rows = tree(example(), min_percent=0.0)
    marked = [words(row).split("  →")[0].strip("│├└─ ") for row in rows]
    fib, even = "2 fib (solve.py:1)", "10 is_even (solve.py:5)"
    assert sorted(text for text in marked if text.endswith("(recursion)")) == [
        *(f":{even} (recursion)", f":{even} (recursion)"),
        *(f":{fib} (recursion)", f":{fib} (recursion)"),
    ]
    odd = next(row for row in rows if "is_odd (" in row)
    assert odd.split()[0] == "7.700"  # 4,200 of self time and 3,500 below


def star(leaves: int) -> LineStats:
    """Return a profile of a function that calls `leaves` others, one from each line."""
    root = ("/p/s.py", 1, "root")
    keys = [("/p/s.py", 1000 + i, f"leaf{i}") for i in range(leaves)]
    nodes = [CallNode(NO_NODE, 0, root, 0, 1, 1, 0, leaves * 1000, leaves * 1000)]
    nodes += [
        CallNode(0, 2 + i, k, 0, 1, 1, 1000, 1000, 1000) for i, k in enumerate(keys)
    ]
    return LineStats.from_functions(
        map(function, (root, *keys)), calls=CallTree((*nodes,))
    )


def test_many_small_calls_that_add_up_are_one_row() -> None:
    rows = tree(star(200))
    assert [words(row) for row in rows] == ["root (s.py:1)", "└─ … 200 more"]
    assert rows[1].split()[:4] == ["200.000", "100.0", "%", "200"]


def test_a_chain_of_50000_levels_is_a_few_rows() -> None:
    rows = [words(row).split("  →")[0] for row in tree(deep(50_000))]
    assert rows == [
        "f0 (deep.py:1)",
        "└─ :2 f1 (deep.py:3)",
        "   └─ :4 f2 (deep.py:5)",
        "      └─ … 49495 levels, one call each",
        "         └─ :98996 f49498 (deep.py:98997)",
        "            └─ :98998 f49499 (deep.py:98999)",
        "               └─ :99000 f49500 (deep.py:99001)",
    ]


def test_all_levels_of_such_a_chain_are_readable() -> None:
    rows = tree(deep(20_000), min_percent=0.0)
    *rows, blank, note = rows
    assert len(rows) == 20_000
    assert max(map(len, rows)) < 130
    assert re.search(r"  \[19\d\d\d\] ", rows[-1])
    assert (blank, note[:8]) == ("", "[12] is ")


def test_without_calls_functions_are_roots() -> None:
    rows = [words(row).split(" (")[0] for row in tree(without_calls(), min_percent=0.0)]
    assert rows == ["load", "fib", "Model.fit", "Model.size", "never"]


def test_a_narrow_encoding_gets_a_tree_in_ascii() -> None:
    for encoding, can in (("ascii", False), ("latin-1", False), ("utf-8", True)):
        stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        assert terminal_of(stream).boxes is can
    assert terminal_of(io.StringIO()) == PLAIN
    rows = tree(example(), terminal=Terminal(boxes=False), depth=2)
    assert words(rows[1]).startswith("`- :29 main (main.py:6)  -> 9: model")


def test_rows_are_as_wide_as_the_terminal() -> None:
    rows = tree(example(), terminal=Terminal(is_terminal=True, width=60))
    assert max(map(len, rows)) == 60


def test_rows_are_coloured_by_their_share_and_files_are_dim() -> None:
    title, *rows = lines_of(
        example(), "tree", terminal=Terminal(is_terminal=True, colour=True)
    )
    assert title.startswith("\x1b[1mTime")
    for row in rows:
        share = float(re.search(r"([\d.]+) %", row)[1])  # type: ignore[index]
        look = {0: "", 1: "\x1b[32m", 2: "\x1b[1;33m", 3: "\x1b[1;31m"}
        step = sum(share >= least for least in (5, 20, 50))
        assert row.startswith(f"{look[step]} ") or share >= 100, row
    assert any("main \x1b[2m(main.py:6)\x1b[0m" in row for row in rows)
