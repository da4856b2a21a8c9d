"""Memory in the HTML report: its numbers are those of the profile."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import example_calls
import pytest
from example_stats import PROCESS
from report_page import Page, source_of
from view_text import text_of

from lineprof.line_stats import LineStats
from lineprof.model.host_memory import (
    HostMemory,
    MemoryCurve,
    MemoryNumbers,
    MemoryPath,
    MemoryRun,
    MemorySum,
    memory_of_functions,
    memory_of_lines,
    outside_memory,
    total_memory,
)
from lineprof.model.records import FunctionStats, SourceFile, ThreadLine
from lineprof.report.diff import difference_of
from lineprof.report.html import comparison
from lineprof.server import pages

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lineprof.model.records import Key

FILE = "/project/shop.py"
TEXT = """\
def main():
    rows = load(3)
    return report(rows)
def load(depth):
    kept = [bytes(1000)]
    return load(depth - 1) if depth else kept
def report(rows):
    text = str(rows)
    return text
"""
MAIN, LOAD, REPORT = (FILE, 1, "main"), (FILE, 4, "load"), (FILE, 7, "report")
GONE: tuple[str, int, str] = ("/gone.py", 1, "gone")  # of which there are no lines
TO_LOAD = ((MAIN, 2), (LOAD, 6))
PATHS = (
    MemoryPath(0, ()),
    MemoryPath(0, ((MAIN, 2), (LOAD, 5))),
    MemoryPath(0, (*TO_LOAD, (LOAD, 5))),
    MemoryPath(0, ((MAIN, 3), (REPORT, 8))),
    MemoryPath(0, ((GONE, 2), (MAIN, 3))),
    MemoryPath(1, ((MAIN, 2), (LOAD, 5))),
)
SUMS = (
    MemorySum(0, 1, 50, 0, 0, 50),
    MemorySum(1, 2, 2000, 1000, 0, 2000),
    MemorySum(2, 6, 6000, 0, 0, 6000),
    MemorySum(3, 4, 900, 900, 800, 0),
    MemorySum(4, 1, 70, 70, 0, 70),
    MemorySum(5, 3, 300, 300, 300, 100),
)
RUNS = (
    MemoryRun(0, 8120, 30, side_bytes=64, sample_bytes=512),
    MemoryRun(1, 100, 7, is_native=False),
)
CURVES = (MemoryCurve(0, (0, 30), (50, 8120), ((LOAD, 5),), ((0, 8000),)),)
MEMORY = HostMemory(PATHS, SUMS, RUNS, CURVES)

COLUMNS = {
    "hostPeak": "peak_bytes",
    "hostLive": "live_bytes",
    "hostAlloc": "alloc_bytes",
    "hostAllocs": "allocs",
    "hostFreed": "freed_bytes",
    "hostTemp": "temp_bytes",
}


def example(memory: HostMemory = MEMORY, text: str = TEXT) -> LineStats:
    """Return a profile of two processes in which line 8 has memory, but no time."""
    rows = {MAIN: (2, 3), LOAD: (5, 6), REPORT: (9,)}
    functions = [
        FunctionStats(
            *(key[0], key[2], key[1]),
            tuple(ThreadLine(line, 0, 1, 10) for line in lines),
            calls=1,
        )
        for key, lines in rows.items()
    ]
    return LineStats.from_functions(
        functions,
        processes=[PROCESS._replace(pid=number) for number in (1, 2)],
        sources={FILE: SourceFile(FILE, text, "")},
        memory=memory,
    )


def page_of(profile: LineStats) -> Page:
    return Page(text_of(profile, "html"))


def numbers_of(row: Mapping[str, Any], ending: str = "") -> tuple[int, ...]:
    return tuple(row.get(f"{name}{ending}", 0) for name in COLUMNS)


def expected(numbers: MemoryNumbers) -> tuple[int, ...]:
    return tuple(getattr(numbers, field) for field in COLUMNS.values())


def keys_of(page: Page) -> list[Key]:
    paths = page.data["files"]["path"]
    return [
        (paths[row["file"]], row["line"], row["name"]) for row in page.rows("functions")
    ]


def paths_of(page: Page) -> list[dict[str, Any]]:
    """Return the rows of the call paths of all processes, parents moved."""
    rows: list[dict[str, Any]] = []
    for one in page.data["memory"]:
        first = len(rows)
        columns = one["paths"]
        for values in zip(*columns.values(), strict=True):
            row = dict(zip(columns, values))
            row["parent"] += first if row["parent"] >= 0 else 0
            rows.append(row)
    return rows


@pytest.mark.parametrize("alone", [False, True])
def test_bytes_of_lines_are_those_of_the_profile(*, alone: bool) -> None:
    page = page_of(example())
    keys = keys_of(page)
    found = {
        (keys[row["function"]], row["line"]): numbers_of(row, "Own" if alone else "")
        for row in page.rows("lines")
    }
    known = {
        (key, line): expected(numbers)
        for key, lines in memory_of_lines(MEMORY, alone=alone).items()
        for line, numbers in lines.items()
        if key != GONE
    }
    assert {place: one for place, one in found.items() if any(one)} == known
    assert found[LOAD, 5] == (8100, 7000, 8300, 11, 1300, 300)
    assert found[MAIN, 2] == ((0,) * 6 if alone else (8100, 7000, 8300, 11, 1300, 300))
    assert found[REPORT, 8] == (0, 0, 900, 4, 900, 800), "it has no time"


@pytest.mark.parametrize("alone", [False, True])
def test_bytes_of_functions_are_those_of_the_profile(*, alone: bool) -> None:
    page = page_of(example())
    known = memory_of_functions(MEMORY, alone=alone)
    for key, row in zip(keys_of(page), page.rows("functions"), strict=True):
        found = numbers_of(row, "Own" if alone else "")
        assert found == expected(known.get(key, MemoryNumbers()))


def test_call_paths_add_up_to_the_profile() -> None:
    rows = paths_of(page_of(example()))
    total = expected(total_memory(MEMORY))
    assert tuple(map(sum, zip(*map(numbers_of, rows)))) == total
    outside = [row for row in rows if row["function"] == 1 - 2**31]
    assert [numbers_of(row) for row in outside] == [expected(outside_memory(MEMORY))]
    assert all(row["parent"] < index for index, row in enumerate(rows))


def test_call_paths_below_a_line_have_its_bytes() -> None:
    """Each path has its own bytes; those of a line with callees are in all below."""
    page = page_of(example())
    rows, keys = paths_of(page), keys_of(page)
    totals = [numbers_of(row) for row in rows]
    for index in reversed(range(len(rows))):
        above = rows[index]["parent"]
        if above >= 0:
            totals[above] = tuple(map(sum, zip(totals[above], totals[index])))
    found: dict[tuple[Key, int], tuple[int, ...]] = {}
    for row, numbers in zip(rows, totals):
        caller = rows[row["parent"]]["function"] if row["parent"] >= 0 else -1
        if caller >= 0:
            place = (keys[caller], row["line"])
            found[place] = tuple(map(sum, zip(found.get(place, (0,) * 6), numbers)))
    known = memory_of_lines(MEMORY)
    assert found == {
        (key, line): expected(lines[line])
        for key, lines in known.items()
        for line in lines
        if key != GONE
    }


def test_each_process_has_its_peak_and_its_curve() -> None:
    first, second = page_of(example()).data["memory"]
    assert (first["process"], second["process"]) == (0, 1)
    assert first["run"] == RUNS[0]._asdict()
    assert second["run"] == RUNS[1]._asdict()
    load = page_of(example()).data["functions"]["name"].index("load")
    assert first["curve"] == {
        "times": [0, 30],
        "live": [50, 8120],
        "function": [load],
        "line": [5],
        "bytes": [[0, 8000]],
    }
    assert second["curve"] is None
    assert sum(second["paths"]["hostAlloc"]) == 300


def test_the_holder_of_the_peak_is_the_line_of_the_program() -> None:
    """It has the bytes of the libraries that it called, as on a terminal."""
    library = ("/v/lib/python3.13/site-packages/maths/core.py", 1, "solve")
    memory = HostMemory(
        (
            MemoryPath(0, ((MAIN, 2), (library, 5))),
            MemoryPath(0, ((MAIN, 2), (library, 6))),
            MemoryPath(0, ((MAIN, 3),)),
            MemoryPath(1, ()),
        ),
        (
            MemorySum(0, 1, 40, 0, 0, 40),
            MemorySum(1, 1, 30, 0, 0, 30),
            MemorySum(2, 1, 60, 0, 0, 60),
            MemorySum(3, 1, 5, 0, 0, 5),
        ),
        (MemoryRun(0, 130, 1), MemoryRun(1, 5, 1)),
    )
    page = page_of(example(memory))
    main = keys_of(page).index(MAIN)
    first, second = (one["holder"] for one in page.data["memory"])
    assert first == {"function": main, "line": 2, "bytes": 70}
    assert second == {"function": -1, "line": 0, "bytes": 5}


def test_processes_that_were_added_up_have_their_paths_in_common() -> None:
    memory = MEMORY._replace(
        paths=tuple(one._replace(process=-1) for one in PATHS),
        runs=RUNS,
    )
    page = page_of(example(memory))
    first, second, shared = page.data["memory"]
    assert (first["process"], second["process"], shared["process"]) == (0, 1, -1)
    assert first["paths"]["parent"] == second["paths"]["parent"] == []
    assert first["holder"] == second["holder"] == shared["holder"]
    assert sum(shared["paths"]["hostPeak"]) == 8220
    assert (first["run"]["peak_bytes"], shared["run"]) == (8120, None)


def test_a_profile_without_memory_has_nothing_of_it() -> None:
    page = page_of(example_calls.example())
    assert "memory" not in page.data
    columns = [*page.data["lines"], *page.data["functions"]]
    assert not [name for name in columns if name.startswith("host")]
    assert "class MemoryView" not in page.scripts[-1]
    assert ".moment" not in page.styles[0]


@pytest.mark.parametrize(
    "memory", [HostMemory(runs=RUNS), HostMemory(PATHS, SUMS)], ids=["runs", "sums"]
)
def test_parts_of_memory_are_enough(memory: HostMemory) -> None:
    page = page_of(example(memory))
    assert len(page.data["memory"]) == 2
    assert [one["curve"] for one in page.data["memory"]] == [None, None]


def test_the_policy_allows_the_scripts_of_memory() -> None:
    page = page_of(example())
    loader, script = page.scripts
    assert "class MemoryView" in script
    assert page.allowed["script-src"] == f"{source_of(loader)} {source_of(script)}"
    assert page.allowed["style-src"] == source_of(page.styles[0])
    assert page.addresses() == []


@pytest.mark.parametrize("has_memory", [False, True])
def test_the_server_lets_pages_run_with_and_without_memory(*, has_memory: bool) -> None:
    text = text_of(example(MEMORY if has_memory else HostMemory()), "html")
    rules = dict(pages.report(text.encode(), is_comparison=False).headers)
    assert rules["Content-Security-Policy"].startswith(f"{Page(text).policy};")


EVIL = (
    "</script><script>alert(1)</script><!--",
    "<img src=x onerror=alert(1)>",
    "\x1b[2J\u202e\u2066\ud800",
)


@pytest.mark.parametrize("text", EVIL)
def test_names_in_memory_are_nowhere_in_the_markup(text: str) -> None:
    key = (f"/project/{text}.py", 1, text)
    function = FunctionStats(key[0], text, 1, (ThreadLine(1, -1, 2, 3),), calls=1)
    memory = HostMemory(
        (MemoryPath(0, ((key, 1),)),),
        (MemorySum(0, 1, 10, 0, 0, 10),),
        (MemoryRun(0, 10, 1),),
        (MemoryCurve(0, (1,), (10,), ((key, 1),), ((10,),)),),
    )
    shown = text_of(LineStats.from_functions([function], memory=memory), "html")
    assert text not in shown
    page = Page(shown)
    tags = [tag for tag, _ in page.elements]
    assert tags.count("script") == 3, "loader, scripts and numbers"
    assert "img" not in tags
    assert page.data["memory"][0]["paths"]["hostPeak"] == [0, 10]
    zlib.decompress(page.blocks["data"]).decode("utf-8", "surrogatepass")


# Comparisons.


def compared(before: Iterable[LineStats], after: Iterable[LineStats]) -> Page:
    difference = difference_of([*before], [*after])
    return Page("\n".join(comparison.render(difference, ["before"], ["after"])))


def moved(memory: HostMemory) -> LineStats:
    """Return the example with a line more at its start, and other memory."""

    def below(key: Key) -> Key:
        return (key[0], key[1] + 1, key[2])

    profile = example(memory)
    paths = tuple(
        one._replace(lines=tuple((below(key), line + 1) for key, line in one.lines))
        for one in memory.paths
    )
    return LineStats.from_functions(
        [
            FunctionStats(
                *(one.file, one.name, one.line + 1),
                tuple(cell._replace(line=cell.line + 1) for cell in one.thread_lines),
                calls=1,
            )
            for one in profile.functions
        ],
        processes=profile.processes,
        sources={FILE: SourceFile(FILE, f"import os\n{TEXT}", "")},
        memory=memory._replace(paths=paths),
    )


def test_a_comparison_has_the_bytes_of_lines_on_both_sides() -> None:
    half = MEMORY._replace(
        sums=tuple(
            one._replace(peak_bytes=one.peak_bytes // 2) if one.path == 2 else one
            for one in SUMS
        ),
        runs=(RUNS[0]._replace(peak_bytes=5120), RUNS[1]),
    )
    memory = compared([example()], [moved(half)]).data["memory"]
    assert memory["peaks"] == [8220, 5220]
    columns = memory["lines"]
    rows = [dict(zip(columns, row)) for row in zip(*columns.values(), strict=True)]
    by_line = {(row["before"], row["after"]): row for row in rows}
    load = by_line[5, 6]
    assert (load["hostPeakOwn0"], load["hostPeakOwn1"]) == (8100, 5100)
    assert (load["hostAllocsOwn0"], load["hostAllocsOwn1"]) == (11, 11)
    main = by_line[2, 3]
    assert (main["hostPeakOwn0"], main["hostPeak0"], main["hostPeak1"]) == (
        *(0, 8100),
        5100,
    )
    assert load["place"].startswith("shop.py:5")
    assert load["text"] == "kept = [bytes(1000)]"


def test_a_comparison_has_the_means_of_several_runs() -> None:
    memory = compared([example(), example()], [example()]).data["memory"]
    assert memory["peaks"] == [8220, 8220]
    lines = memory["lines"]
    assert lines["hostPeak0"] == lines["hostPeak1"]


def test_a_comparison_with_a_profile_without_memory_has_none() -> None:
    page = compared([example()], [example(HostMemory())])
    assert "memory" not in page.data
