"""The tab Summary of a report: the first screen of a program, as numbers of a page."""

from __future__ import annotations

from typing import Any

import example_calls
import example_memory
import example_stats
import example_whole
import pytest
from example_advice import FILE, made
from example_whole import MS
from report_page import Page
from view_text import text_of

from lineprof.line_stats import LineStats
from lineprof.model.records import (
    LOCK,
    NO_NODE,
    CallNode,
    CallTree,
    FunctionStats,
    ThreadLine,
    Wait,
)
from lineprof.report import overview
from lineprof.report.options import Options
from lineprof.source import Sources

APP = "/project/app.py"
LIBRARY = "/v/lib/python3.13/site-packages/maths/core.py"
MAIN, SOLVE = (APP, 1, "main"), (APP, 9, "solve")
ENTRY, INNER = (LIBRARY, 1, "entry"), (LIBRARY, 20, "inner")


def page_of(profile: LineStats) -> Page:
    return Page(text_of(profile, "html"))


def calls_of(page: Page) -> list[dict[str, Any]]:
    """Return the rows of the folded calls, with names of functions."""
    columns = page.data["summary"]["calls"]
    rows = [dict(zip(columns, row)) for row in zip(*columns.values(), strict=True)]
    names = page.data["functions"]["name"]
    return [row | {"function": names[row["function"]]} for row in rows]


def with_library() -> LineStats:
    """Return a program that calls a library, which calls itself and the program.

    main 2 -> solve 10 -> entry -> inner (30 ms), and inner 21 -> solve (5 ms).
    """
    nodes = (
        CallNode(NO_NODE, 0, MAIN, 0, 1, 1, 10 * MS, 60 * MS, 60 * MS),
        CallNode(0, 2, SOLVE, 0, 2, 2, 5 * MS, 50 * MS, 50 * MS),
        CallNode(1, 10, ENTRY, 0, 3, 3, 10 * MS, 45 * MS, 45 * MS),
        CallNode(2, 5, INNER, 0, 4, 4, 30 * MS, 35 * MS, 35 * MS),
        CallNode(3, 21, SOLVE, 0, 6, 0, 5 * MS, 5 * MS, 0),
    )
    own = {MAIN: 10, SOLVE: 10, ENTRY: 10, INNER: 30}
    functions = [
        FunctionStats(*_stats(key), (ThreadLine(key[1] + 1, 0, 1, ns * MS),), calls=1)
        for key, ns in own.items()
    ]
    process = example_whole.PROCESS._replace(wall_ns=70 * MS, overhead_ns=MS)
    return LineStats.from_functions(
        functions, processes=[process], calls=CallTree(nodes)
    )


def _stats(key: tuple[str, int, str]) -> tuple[str, str, int]:
    return key[0], key[2], key[1]


def test_calls_within_a_library_are_folded_into_the_one_that_enters_it() -> None:
    page = page_of(with_library())
    rows = [
        tuple(row[name] for name in ("parent", "line", "function", "calls", "time"))
        for row in calls_of(page)
    ]
    assert rows == [
        (-1, 0, "main", 1, 60 * MS),
        (0, 2, "solve", 2, 50 * MS),
        (1, 10, "entry", 3, 45 * MS),
        (2, 0, "solve", 6, 5 * MS),
    ]
    entry = calls_of(page)[2]
    assert (entry["folded"], entry["library"]) == (1, "maths")
    assert entry["self"] == 40 * MS, "with that of the folded functions"


def test_callees_below_a_thousandth_of_the_run_are_counted() -> None:
    profile = with_library()
    long = [one._replace(wall_ns=100_000 * MS) for one in profile.processes]
    profile = LineStats.from_functions(
        profile.functions, processes=long, calls=profile.calls
    )
    (row,) = calls_of(page_of(profile))[:1]
    assert row["function"] == "main"
    assert row["more"] == 1


@pytest.mark.parametrize(
    "example", [example_whole.example, with_library, example_calls.example]
)
def test_the_parts_of_the_run_add_up_to_its_time(example: Any) -> None:
    run = page_of(example()).data["run"]
    parts = {name: ns for name, _, ns in run["parts"]}
    measuring = parts.pop("measuring_ns", 0)
    assert measuring in {0, run["measuring"]}
    least = 0.005 * (run["ns"] + run["measuring"])
    assert run["ns"] - 6 * least <= sum(parts.values()) <= run["ns"]


def test_the_whole_is_that_of_the_first_screen() -> None:
    profile = example_whole.example()
    page = page_of(profile)
    first, *_ = overview.render(profile, Sources(profile.sources), Options())
    sentence = page.data["summary"]["sentence"]
    assert sentence == first
    assert page.data["run"]["ns"] == 105 * MS
    ran = [line for line in page.rows("lines") if line["hits"]]
    functions = page.rows("functions")
    assert sentence == (
        f"plan.py ran 105.0 ms: {len(ran)} lines of {len(functions)} functions"
    )


def test_shares_of_advice_are_of_the_same_whole() -> None:
    page = page_of(example_whole.example())
    for one in page.data["advice"]["findings"]:
        assert one["share"] == pytest.approx(one["cost"] / page.data["run"]["ns"])


def test_chosen_functions_have_no_summary() -> None:
    profile = example_whole.example(is_whole=False)
    assert "summary" not in page_of(profile).data
    assert "summary" not in page_of(example_stats.example()).data


def test_findings_about_memory_have_bytes_and_a_share_of_the_peak() -> None:
    [one] = page_of(example_memory.leak()).data["advice"]["findings"]
    assert (one["bytes"], one["share"]) == (6_400_000, 6.4 / 7.5)


def test_the_advice_to_begin_with_is_an_import_only_without_others() -> None:
    waits = Wait((FILE, 1, "<module>"), 2, 0, LOCK, 250 * MS)
    lines = {1: (1, 500 * MS), 2: (1, 250 * MS)}
    text = "import numpy\nread()\n"
    for more, kind in (({"waits": [waits]}, "waiting"), ({}, "import")):
        advice = page_of(made(text, {"<module>": (1, lines)}, **more)).data["advice"]
        assert advice["findings"][advice["first"]]["kind"] == kind
    assert page_of(example_whole.example()).data["advice"]["first"] == -1


def test_modules_have_the_name_by_which_they_are_imported() -> None:
    page = page_of(example_whole.example())
    names = page.data["functions"]["name"]
    modules = {names[int(index)]: name for index, name in page.data["modules"].items()}
    assert modules == {"<module>": "module plan"}
