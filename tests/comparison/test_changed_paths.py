"""The call paths of a comparison's page: those of both sides, matched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from report_page import Page
from versions import MS, version

from lineprof.model.records import NO_NODE, RUNNABLE
from lineprof.report.diff import difference_of
from lineprof.report.html.comparison import render

if TYPE_CHECKING:
    from lineprof.line_stats import LineStats

BEFORE = """\
def leaf(n):
    return n * n


def gone(n):
    return n


def main():
    leaf(1)
    gone(2)
"""

# The lines of `main` that call stand lower, and one was edited.
AFTER = """\
def leaf(n):
    return n + n


def fresh(n):
    return n


def main():
    print("start")
    leaf(1)
    fresh(2)
"""


def before(leaf_ms: int = 60, **options: Any) -> LineStats:
    numbers = {
        "leaf": {"return n * n": (1, leaf_ms * MS)},
        "gone": {"return n": (1, 20 * MS)},
        "main": {"leaf(1)": (1, (leaf_ms + 1) * MS), "gone(2)": (1, 21 * MS)},
    }
    paths = (
        (NO_NODE, "", "main", 1, 2 * MS),
        (0, "leaf(1)", "leaf", 1, leaf_ms * MS),
        (0, "gone(2)", "gone", 1, 20 * MS),
    )
    return version(BEFORE, numbers, paths=paths, **options)


def after() -> LineStats:
    numbers = {
        "leaf": {"return n + n": (3, 20 * MS)},
        "fresh": {"return n": (1, 30 * MS)},
        "main": {
            "print(": (1, 0),
            "leaf(1)": (1, 21 * MS),
            "fresh(2)": (1, 31 * MS),
        },
    }
    paths = (
        (NO_NODE, "", "main", 1, 2 * MS),
        (0, "leaf(1)", "leaf", 3, 20 * MS),
        (0, "fresh(2)", "fresh", 1, 30 * MS),
    )
    return version(AFTER, numbers, paths=paths)


def flame(ones: list[LineStats], others: list[LineStats]) -> dict[str, Any]:
    difference = difference_of(ones, others)
    page = Page("\n".join(render(difference, ["one"], ["other"])))
    found: dict[str, Any] = page.data["flame"]
    return found


def rows(table: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(table, row)) for row in zip(*table.values(), strict=True)]


def paths_of(found: dict[str, Any]) -> dict[str, tuple[object, ...]]:
    """Return the calls and the times (ms) of each path, by its functions and lines."""
    lines, names = rows(found["lines"]), found["functions"]["name"]
    shown: list[str] = []
    numbers = {}
    for path in rows(found["paths"]):
        words = names[path["function"]]
        if path["parent"] != NO_NODE:
            line = lines[path["line"] - 1]
            text = " ".join(filter(None, (line["text0"], line["text1"])))
            ends = f"{line['before']}-{line['after']} {text}"
            words = f"{shown[path['parent']]} > {ends} > {words}"
        shown.append(words)
        numbers[words] = (
            path["calls0"],
            path["calls1"],
            path["self0"] / MS,
            path["self1"] / MS,
        )
    return numbers


def test_paths_of_both_sides_meet_at_lines_that_match() -> None:
    assert paths_of(flame([before()], [after()])) == {
        "main": (1, 1, 2, 2),
        "main > 10-11 leaf(1) > leaf": (1, 3, 60, 20),
        "main > 11-12 gone(2) fresh(2) > gone": (1, 0, 20, 0),
        "main > 11-12 gone(2) fresh(2) > fresh": (0, 1, 0, 30),
    }


def test_a_function_changed_if_its_own_time_did_beyond_the_noise() -> None:
    found = rows(flame([before()], [after()])["functions"])
    assert {
        one["name"]: (one["changed"], one["before"] / MS, one["after"] / MS)
        for one in found
    } == {
        "main": (0, 2, 2),
        "leaf": (1, 60, 20),
        "gone": (1, 20, 0),
        "fresh": (1, 0, 30),
    }
    (leaf,) = (one for one in found if one["name"] == "leaf")
    assert leaf["verdict"] == "3 times faster"
    assert leaf["place"] == "work.py:1"


def test_times_of_several_runs_are_means() -> None:
    found = paths_of(flame([before(60), before(40)], [after()]))
    assert found["main > 10-11 leaf(1) > leaf"] == (1, 3, 50, 20)
    assert found["main > 11-12 gone(2) fresh(2) > gone"] == (1, 0, 20, 0)


def test_waits_for_a_processor_are_no_part_of_the_times_of_paths() -> None:
    waits = {"leaf": {"return n * n": {RUNNABLE: 15 * MS}}}
    found = paths_of(flame([before(waits=waits)], [after()]))
    assert found["main > 10-11 leaf(1) > leaf"] == (1, 3, 45, 20)


def test_without_calls_on_a_side_there_is_no_tree() -> None:
    assert flame([before(calls=False)], [after()]) is None
