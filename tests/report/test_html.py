"""The HTML report: its numbers are those of the other views, and it loads nothing."""

from __future__ import annotations

import json
import re
import zlib
from array import array
from typing import Any

import example_calls
import example_gpu
import example_ranks
import example_stats
import example_traces
import pytest
from hostile_files import full_profile
from report_page import Page, source_of
from view_text import text_of

from lineprof.line_stats import LineStats
from lineprof.model.records import FunctionStats, SourceFile, ThreadLine
from lineprof.model.timelines import Batch, slice_column

MAX_SMALL = 150_000  # bytes of the page of a small program


def page_of(profile: LineStats, **options: bool) -> Page:
    return Page(text_of(profile, "html", **options))


def as_json(profile: LineStats) -> dict[str, Any]:
    shown: dict[str, Any] = json.loads(text_of(profile, "json"))
    return shown


def everything() -> LineStats:
    return LineStats.of(full_profile())


EXAMPLES = {
    "lines": example_stats.example,
    "calls": example_calls.example,
    "gpu": example_gpu.example,
    "ranks": example_ranks.summed,
    "slices": example_traces.steps,
    "everything": everything,
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_policy_allows_the_texts_of_the_page_alone(
    name: str,
) -> None:
    text = text_of(EXAMPLES[name](), "html")
    page = Page(text)
    (loader, script), (style,) = page.scripts, page.styles
    assert page.allowed["script-src"] == f"{source_of(loader)} {source_of(script)}"
    assert page.allowed["style-src"] == source_of(style)
    assert page.allowed["default-src"] == "'none'"
    assert page.addresses() == []
    assert len(text.encode()) < MAX_SMALL


@pytest.mark.parametrize("name", ["lines", "calls", "gpu"])
def test_the_numbers_of_lines_are_those_of_the_json_view(name: str) -> None:
    profile = EXAMPLES[name]()
    page, shown = page_of(profile), as_json(profile)
    functions = page.rows("functions")
    lines = page.rows("lines")
    found = {
        (functions[line["function"]]["name"], line["line"]): (
            line["hits"],
            line["time"],
            line.get("await", 0),
            line.get("gpu", 0),
            line.get("copyBytes", 0),
        )
        for line in lines
    }
    expected = {
        (function["name"], line["line"]): (
            line["hits"],
            line["time_ns"],
            line["await_ns"],
            line.get("gpu_ns", 0),
            line.get("memcpy_bytes", 0),
        )
        for function in shown["functions"]
        for line in function["lines"]
    }
    assert found == expected
    places = [line["function"] for line in lines]
    assert places == sorted(places), "the lines of a function are neighbours"


def test_the_calls_are_those_of_the_json_view() -> None:
    profile = example_calls.example()
    page = page_of(profile)
    functions = page.rows("functions")

    def name(index: int) -> str | None:
        return functions[index]["name"] if index >= 0 else None

    found = {
        (name(edge["caller"]), edge["line"], name(edge["callee"])): (
            edge["calls"],
            edge["total"],
            edge["inclusive"],
            edge.get("gpu", 0),
        )
        for edge in page.rows("edges")
    }
    expected = {
        (
            edge["caller"][2] if edge["caller"] else None,
            edge["line"],
            edge["callee"][2],
        ): (
            edge["calls"],
            edge["total_ns"],
            edge["inclusive_ns"],
            edge.get("gpu_ns", 0),
        )
        for edge in as_json(profile)["calls"]
    }
    assert found == expected


def test_the_call_paths_have_all_time_of_profiled_functions() -> None:
    profile = example_calls.example()
    page = page_of(profile)
    tree = page.rows("tree")
    assert sum(path["self"] for path in tree) == sum(
        node.self_ns for node in profile.calls.nodes
    )
    assert all(path["parent"] < index for index, path in enumerate(tree))
    named = [(path["parent"], path["line"], path["function"]) for path in tree]
    assert len(set(named)) == len(named)


def test_functions_are_roots_of_a_profile_without_calls() -> None:
    profile = example_stats.example()
    page = page_of(profile)
    tree = page.rows("tree")
    assert [path["parent"] for path in tree] == [-1] * len(profile.functions)
    assert [path["self"] for path in tree] == [
        one.total_ns for one in profile.functions
    ]
    assert not page.data["hasCalls"]


def test_the_text_of_files_is_that_of_the_profile() -> None:
    profile = example_calls.example()
    page = page_of(profile)
    for path, text in zip(page.data["files"]["path"], page.data["files"]["text"]):
        source = profile.sources[path].text
        assert source is not None
        assert text.rstrip("\n") == source.rstrip("\n")


def test_the_work_of_gpus_has_the_time_of_the_json_view() -> None:
    profile = example_gpu.example()
    page, shown = page_of(profile), as_json(profile)
    gpu = page.data["gpu"]
    assert gpu["total"] == shown["gpu"]["total_ns"]
    names = {"kernel", "memset", "graph"}
    work = sum(
        ns for ns, kind in zip(gpu["sums"]["ns"], gpu["sums"]["kind"]) if kind in names
    )
    assert work == gpu["total"]
    in_tree = sum(gpu["tree"]["self"])
    assert in_tree == gpu["total"] + gpu["copies"]
    assert min(gpu["tree"]["function"]) == -1 - len(gpu["tree"]["names"])


def test_ranks_are_sorted_by_lost_time_and_have_a_matrix() -> None:
    page = page_of(example_ranks.summed())
    ranks = page.data["ranks"]
    assert ranks["numbers"] == [0, 1, 2, 3]
    lost = ranks["lines"]["lost"]
    assert lost == sorted(lost, reverse=True)
    for row, lost_ns in zip(ranks["matrix"], lost):
        assert max(row) * 4 - sum(row) == lost_ns


def test_slices_are_packed_as_the_profile_has_them() -> None:
    profile = everything()
    page = page_of(profile)
    (trace,), (kept,) = profile.traces, page.data["timeline"]["traces"]
    (batch,) = kept["batches"]
    block = page.blocks[f"blob-{batch['columns']['start']}"]
    packed = Batch(events=batch["count"], columns=(("start", block),))
    starts = slice_column([packed], "start")
    assert isinstance(starts, array)
    first = int(kept["origin"])
    assert sorted(start - first for start in starts) == [one.start_ns for one in trace]
    functions = page.rows("functions")
    names = [functions[index]["name"] for index in kept["functions"]]
    assert names == [key[2] for key in trace.functions]


EVIL = (
    "</script><script>alert(1)</script><!--",
    "</title><img src=x onerror=alert(1)>",
    "\x1b[2J\u202e\u2066\x00\ud800",
)


@pytest.mark.parametrize("text", EVIL)
def test_texts_of_a_profile_are_nowhere_in_the_markup(text: str) -> None:
    name = f"/project/{text}.py"
    function = FunctionStats(name, text, 1, (ThreadLine(1, -1, 2, 3),), calls=1)
    source = SourceFile(name, f"def f(): # {text}\n", "")
    shown = text_of(
        LineStats.from_functions([function], sources={name: source}, warnings=[text]),
        "html",
    )
    assert text not in shown
    page = Page(shown)
    tags = [tag for tag, _ in page.elements]
    assert tags.count("script") == 3, "loader, scripts and numbers"
    assert "img" not in [tag for tag, _ in page.elements]
    kept = text.replace("\ud800", "\udced\udca0\udc80")
    data = zlib.decompress(page.blocks["data"]).decode("utf-8", "surrogateescape")
    assert kept in json.loads(data)["functions"]["name"][0]


@pytest.mark.parametrize("given", ["", "x-mine:{path}#{line}", "</script>", "\udcff"])
def test_a_page_has_the_editor_that_the_environment_names(
    given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEPROF_EDITOR", given)
    shown = text_of(example_stats.example(), "html")
    page = Page(shown)
    assert [tag for tag, _ in page.elements].count("script") == 3, "none is added"
    assert page.data["editor"] == given


def test_scripts_have_no_comments() -> None:
    for script in page_of(example_stats.example()).scripts:
        found = [
            line for line in script.splitlines() if re.search(r"(^|[;{}]) *//", line)
        ]
        assert found == []


def test_a_page_of_an_empty_profile_says_why_it_is_empty() -> None:
    page = page_of(LineStats({}, 1e-9))
    assert page.rows("functions") == []
    assert page.data["notes"] == [LineStats({}, 1e-9).why_empty]


def test_raw_times_leave_own_times_as_they_are() -> None:
    """Callees are known without the cost of measuring alone, and so is the run."""

    def costly(cell: ThreadLine) -> ThreadLine:
        return cell._replace(raw_ns=10 * cell.time_ns)

    profile = example_calls.example()
    costs = profile.with_functions(
        one._replace(thread_lines=tuple(map(costly, one.thread_lines)))
        for one in profile.functions
    )
    page, raw = page_of(LineStats.of(costs)), page_of(LineStats.of(costs), raw=True)
    assert raw.data["lines"]["self"] == page.data["lines"]["self"]
    assert raw.data["run"] == page.data["run"]
    times = [10 * ns for ns in page.data["lines"]["time"]]
    assert raw.data["lines"]["time"] == times


def test_raw_times_include_the_cost_of_measuring() -> None:
    profile = example_stats.example()
    measured = {
        (function.name, row.line): max(row.time_ns, row.raw_ns)
        for function in profile.functions
        for row in function.rows
    }
    page = page_of(profile, raw=True)
    names = page.data["functions"]["name"]
    for line in page.rows("lines"):
        place = (names[line["function"]], line["line"])
        assert line["time"] >= measured[place]
