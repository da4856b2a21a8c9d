"""Memory in views: its columns, its totals, and `lineprof view --memory`."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING

import example_calls
import example_memory
import example_stats
import pytest
from as_python import run
from example_memory import KB, MB, REPLY, SERVE, leak, leak_memory, sums
from view_text import lines_of, rows_below, text_of

from lineprof.console.terminal import Terminal
from lineprof.model.host_memory import (
    HostMemory,
    MemoryCurve,
    MemoryPath,
    MemoryRun,
)
from lineprof.model.relation import NONE
from lineprof.report import VIEWS, default_view
from lineprof.report.markdown import DOCUMENT
from lineprof.report.memory import heights
from lineprof.report.notebook import html_of
from lineprof.report.notes import notes
from lineprof.report.options import Options
from lineprof.report.rows import as_csv, as_json
from lineprof.source import Sources

if TYPE_CHECKING:
    from lineprof.line_stats import LineStats

pytestmark = pytest.mark.once  # views of fixed profiles

EXAMPLE = Path(__file__).parents[2] / "examples" / "page_server.py"
GOLDEN = Path(__file__).parents[1] / "golden"
MS = example_memory.MS
TWO = [
    example_stats.PROCESS,
    example_stats.PROCESS._replace(pid=example_stats.PROCESS.pid + 1),
]


def of_two_processes() -> LineStats:
    """Return a profile of two processes, with peaks of 3 MB and 5 MB."""
    paths = (
        MemoryPath(0, ((REPLY, 7),)),
        MemoryPath(1, ((REPLY, 7),)),
        MemoryPath(1, ()),
    )
    return leak(
        HostMemory(
            paths=paths,
            sums=(
                sums(path=0, allocs=1, alloc_bytes=3 * MB, peak_bytes=3 * MB),
                sums(path=1, allocs=1, alloc_bytes=5 * MB, peak_bytes=4 * MB),
                sums(path=2, allocs=1, alloc_bytes=MB, peak_bytes=MB),
            ),
            runs=(
                MemoryRun(process=0, peak_bytes=3 * MB, peak_ns=10 * MS),
                MemoryRun(process=1, peak_bytes=5 * MB, peak_ns=20 * MS),
            ),
        ),
        processes=TWO,
    )


def sampled() -> LineStats:
    """Return the example as one of samples."""
    run = example_memory.LEAK_RUN._replace(sample_bytes=512 * KB)
    return leak(leak_memory()._replace(runs=(run,)))


def first_screen(stats: LineStats, terminal: Terminal | None = None) -> list[str]:
    """Return the first screen of a program that was profiled whole."""
    whole = [one._replace(is_whole=True) for one in stats.processes]
    profile = stats.with_processes(whole)
    options = Options(terminal=terminal or Terminal(width=110))
    sources = Sources(stats.sources)
    view = default_view(profile, sources, options._replace(terminal=DOCUMENT))
    return [*view.render(profile, sources, options)]


# Golden files.


@pytest.mark.parametrize(
    ("name", "view", "options"),
    [
        ("memory.txt", "memory", {"terminal": Terminal(width=100)}),
        ("memory_table.txt", "text", {}),
    ],
)
def test_the_views_are_the_same_as_the_golden_files(
    name: str, view: str, options: dict[str, object]
) -> None:
    golden = (GOLDEN / name).read_text(encoding="utf-8")
    assert text_of(leak(), view, **options) == golden


def test_a_profile_without_memory_has_no_column_of_it() -> None:
    for view in ("hot", "functions"):
        rows = VIEWS[view].rows
        assert rows is not None
        profile = example_calls.example()
        made = rows(profile, Sources(profile.sources), Options())
        assert not [name for name in made.columns if name.startswith("host_")]
    assert "Memory" not in text_of(example_calls.example())


# Tables of lines.


def test_every_column_can_be_chosen_with_callees_or_without() -> None:
    names = (
        *("host-alloc", "host-allocs", "host-freed", "host-live", "host-peak"),
        *("host-temp", "host-alloc-self", "host-live-self", "host-peak-self"),
    )
    lines = lines_of(leak(), "text", columns=names)
    [title] = {line for line in lines if line.startswith("Line #")}
    assert title.split("% Time")[1].split() == [
        *("Alloc", "Allocs", "Freed", "Live", "Peak", "Temp"),
        *("Alloc", "Self", "Live", "Self", "Peak", "Self", "Line", "Contents"),
    ]
    by_line = {line.split()[0]: line for line in lines if line[:6].strip().isdigit()}
    numbers = by_line["13"].partition("97.8")[2].split("reply")[0].split()
    assert numbers == [
        *("8.400", "MB", "300", "2.000", "MB", "6.400", "MB"),
        *("6.400", "MB", "2.000", "MB"),
    ]
    assert by_line["7"].split("CACHE")[0].split()[-6:] == ["6.400", "MB"] * 3


def test_the_columns_of_memory_stand_only_where_they_have_data() -> None:
    only = HostMemory(
        paths=(MemoryPath(0, ((SERVE, 11),)),),
        sums=(sums(path=0, allocs=3, alloc_bytes=48, freed_bytes=48, temp_bytes=48),),
    )
    lines = lines_of(leak(only), "text")
    titles = [line for line in lines if line.startswith("Line #")]
    assert "Alloc  Line Contents" in titles[0]
    assert "Alloc" not in titles[1]
    assert any("48 B" in line for line in lines)


def test_a_line_that_allocated_and_has_no_time_has_its_bytes() -> None:
    only = HostMemory(
        paths=(MemoryPath(0, ((SERVE, 14),)),),
        sums=(sums(path=0, allocs=1, alloc_bytes=5 * KB),),
    )
    [line] = [one for one in lines_of(leak(only), "text") if "return log" in one]
    assert line.split() == ["14", "5.000", "kB", "5.000", "kB", "return", "log"]


def test_estimates_are_marked() -> None:
    lines = lines_of(sampled(), "text")
    assert any("~6.400 MB" in line for line in lines)
    assert "~: memory is estimated from samples, one in 512.0 kB on average" in lines
    assert lines_of(sampled(), "memory")[0].startswith("Peak ~7.500 MB at 80.00 ms")
    assert any("~6.400 MB" in line for line in lines_of(sampled(), "hot"))


def test_chosen_columns_without_memory_say_how_to_record_it() -> None:
    text = text_of(example_calls.example(), columns=("host-peak",))
    assert "record it with kernprof -l --memory\n" in text


def test_a_notebook_shows_the_columns() -> None:
    page = html_of(leak())
    assert "<th>Peak</th>" in page
    assert "6.400 MB" in page


@pytest.mark.parametrize("order", ["host-alloc", "host-live", "host-peak"])
def test_functions_are_sorted_by_bytes(order: str) -> None:
    rows = rows_below(lines_of(leak(), "functions", sort_by=order), "Calls")
    assert [row[-1] for row in rows] == ["program.py:10(serve)", "program.py:4(reply)"]
    names = [
        line.split()[1]
        for line in lines_of(leak(), "text", sort_by=order)
        if line.startswith("Function:")
    ]
    assert names == (["serve", "reply"] if order == "host-live" else ["reply", "serve"])


# Views of functions and calls.


def test_the_functions_have_their_bytes_with_callees() -> None:
    lines = lines_of(leak(), "functions")
    serve, reply = rows_below(lines, "Calls")
    assert serve[-7:-1] == ["9.400", "MB", "6.400", "MB", "7.400", "MB"]
    assert reply[-7:-1] == ["8.400", "MB", "6.400", "MB", "6.400", "MB"]


def test_callees_and_callers_have_the_bytes_of_their_calls() -> None:
    lines = lines_of(leak(), "drill", targets=("serve",))
    [callee] = [line for line in lines if "| 100 calls of reply" in line]
    assert callee.endswith("55.6 % of the line, 8.400 MB allocated")
    rows = rows_below(lines_of(leak(), "callers", targets=("reply",)), "Calls")
    assert all("8.400 MB" in " ".join(row) for row in rows)


def test_rows_of_drill_have_the_bytes_of_lines_and_callees() -> None:
    rows = VIEWS["drill"].rows
    assert rows is not None
    stats = leak()
    made = rows(stats, Sources(stats.sources), Options(targets=("serve",)))
    assert [
        (one["line"], one["callee"], one["host_alloc_bytes"]) for one in made.rows
    ] == [
        (11, None, MB),
        (12, None, 0),
        (13, None, 8_400 * KB),
        (13, "reply", 8_400 * KB),
    ]


# The first screen.


def test_the_first_screen_has_the_peak_and_the_bytes_of_hot_lines() -> None:
    lines = first_screen(leak())
    assert "Memory: peak 7.500 MB at 80.00 ms: 85.3 % by program.py:7" in lines
    [row] = [line for line in lines if "program.py:7" in line and "CACHE" in line]
    assert row.split()[3:7] == ["6.400", "MB", "6.400", "MB"]
    assert any(line.startswith("  --memory ") for line in lines)
    assert any(line.startswith("growing-memory at program.py:7: ") for line in lines)


def test_a_narrow_first_screen_keeps_the_peak() -> None:
    lines = first_screen(leak(), Terminal(width=72))
    assert any(line.startswith("Memory: peak 7.500 MB") for line in lines)
    [row] = [line for line in lines if "CACHE[number] =" in line]
    assert "MB" not in row


def test_the_answer_in_a_few_words_has_the_peak() -> None:
    lines = lines_of(leak(), "brief", words=60)
    assert "memory: peak 7.500 MB at 80.00 ms: 85.3 % by program.py:7" in lines


def test_bytes_of_a_library_are_held_by_the_line_of_the_program() -> None:
    library = ("/usr/lib/python3.13/json/decoder.py", 340, "decode")
    only = HostMemory(
        paths=(MemoryPath(0, ((SERVE, 13), (library, 345))),),
        sums=(sums(path=0, allocs=1, alloc_bytes=MB, peak_bytes=MB),),
        runs=(example_memory.LEAK_RUN._replace(peak_bytes=MB),),
    )
    assert "100.0 % by program.py:13" in "\n".join(lines_of(leak(only), "text"))
    rows = rows_below(lines_of(leak(only), "memory"), "Peak   % Peak")
    assert "decoder.py:345" in rows[0]


def test_the_example_keeps_a_page_for_each_request() -> None:
    done = run([str(EXAMPLE)], cwd=None)
    assert done.out == "6,000 requests, 6.7 MB sent, 6,000 pages kept\n"


# --memory.


def test_the_rows_of_memory_have_all_numbers() -> None:
    rows = VIEWS["memory"].rows
    assert rows is not None
    stats = leak()
    made = rows(stats, Sources(stats.sources), Options())
    data = json.loads("".join(as_json("memory", made, [])))
    assert data["host_peak_bytes"] == 7_500 * KB
    assert data["host_live_bytes"] == 6_500 * KB
    assert data["runs"][0]["peak_ns"] == 80 * MS
    assert len(data["curves"][0]["live_bytes"]) == 100
    assert [(one["line"], one["host_self_peak_bytes"]) for one in data["rows"]] == [
        (7, 6_400 * KB),
        (11, MB),
        (None, 100 * KB),
        (6, 0),
    ]
    assert sum(one["host_self_alloc_bytes"] for one in data["rows"]) == 10 * MB
    assert data["rows"][0]["path"] == "program.py:13 -> program.py:7"
    [titles, first, *_] = csv.reader(as_csv(made))
    assert dict(zip(titles, first, strict=True))["host_live_bytes"] == f"{6_400 * KB}"


def test_limits_choose_the_rows_and_the_rest_is_summed() -> None:
    lines = lines_of(leak(), "memory", limit=1)
    assert "2 more lines: 1.100 MB" in lines
    lines = lines_of(leak(), "memory", min_percent=50.0)
    assert "2 more lines: 1.100 MB" in lines


def test_a_terminal_without_unicode_gets_a_curve_in_ascii() -> None:
    lines = lines_of(leak(), "memory", terminal=Terminal(boxes=False))
    assert all(line.isascii() for line in lines)
    assert sum(line.startswith("0 s |:") for line in lines) == 1
    assert not any(line.startswith("0 s |:") for line in lines_of(leak(), "memory"))


def test_a_curve_keeps_its_height_until_it_changes() -> None:
    curve = MemoryCurve(process=0, times_ns=(0, 30, 90), live_bytes=(1, 5, 2))
    run = MemoryRun(process=0, peak_bytes=8, peak_ns=60)
    assert heights(curve, run, 100, 10) == [1, 1, 1, 5, 5, 5, 8, 8, 8, 8]
    late = MemoryCurve(process=0, times_ns=(55,), live_bytes=(8,))
    assert heights(late, run._replace(peak_ns=55), 100, 4) == [0, 0, 8, 8]


def test_processes_have_peaks_of_their_own_and_sums_say_so() -> None:
    pids = [one.pid for one in TWO]
    lines = lines_of(of_two_processes(), "memory")
    assert lines[0] == (
        f"Peak 5.000 MB at 20.00 ms in process {pids[1]} (the peaks of 2 processes add"
        " up to 8.000 MB): 80.0 % by program.py:7"
    )
    assert lines[2:4] == [
        f"process {pids[1]}: 5.000 MB at 20.00 ms",
        f"process {pids[0]}: 3.000 MB at 10.00 ms",
    ]
    assert any(
        "sums over 2 processes; a line's peak is the sum" in one for one in lines
    )
    assert "At the peaks of 2 processes, by own bytes, 8.000 MB" in lines
    table = lines_of(of_two_processes(), "text")
    assert "Peak: a line's is the sum of its parts of 2 peaks" in table


def test_processes_that_were_added_up_have_the_lines_of_all() -> None:
    old = of_two_processes().memory
    paths = tuple(one._replace(process=NONE) for one in old.paths)
    stats = leak(old._replace(paths=paths), processes=TWO)
    assert lines_of(stats, "memory")[0].endswith(": 87.5 % by program.py:7")


def test_the_list_of_processes_has_their_peaks() -> None:
    lines = lines_of(of_two_processes(), "by", by="process")
    assert ["3.000 MB" in line or "5.000 MB" in line for line in lines[1:]] == [
        True
    ] * 2


def test_what_was_not_counted_is_said() -> None:
    run = example_memory.LEAK_RUN._replace(is_native=False, lost=3)
    text = text_of(leak(leak_memory()._replace(runs=(run,))), "memory")
    assert "blocks of Python's allocators alone" in text
    assert "Lost: 3 blocks, for which there was no room." in text
    assert "tables of live blocks: 400.0 kB" in text


def test_a_profile_without_memory_says_how_to_record_it() -> None:
    [line] = lines_of(example_calls.example(), "memory")
    assert line.startswith("The profile does not say what lines allocated")
    assert line.endswith("record it with kernprof -l --memory")


def test_a_document_has_tables_and_the_curve_as_text() -> None:
    lines = lines_of(leak(), "memory", terminal=DOCUMENT)
    assert lines[0] == "### Peak 7.500 MB at 80.00 ms: 85.3 % by `program.py:7`"
    text = "\n".join(lines)
    assert "```text\n0 s |" in text
    assert "| 6.400 MB | 85.3 % | 6.400 MB | `program.py:7` |" in text


@pytest.mark.parametrize(
    ("exits", "why"),
    [
        (["", "", "exception"], "they ran without --memory"),
        (["", "", "killed"], "they were killed, or ran without --memory; close()"),
    ],
)
def test_processes_without_memory_are_named(exits: list[str], why: str) -> None:
    processes = [
        TWO[0]._replace(pid=pid, exit=end) for pid, end in enumerate(exits, 100)
    ]
    stats = leak(of_two_processes().memory, processes=processes)
    said = [*notes(stats, Sources(stats.sources))]
    assert any(
        one.startswith(f"memory is that of 2 of 3 processes, without 102: {why}")
        for one in said
    )
