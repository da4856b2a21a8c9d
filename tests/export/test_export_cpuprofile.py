"""Profiles for Chrome's developer tools and VS Code: right sums in both readers."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import example_calls
import example_gpu
import pytest
from example_traces import SLICES, falling, sparse, steps, trace, traced

from lineprof.export import EXPORTS
from lineprof.export.timeline import MAX_DEPTH
from lineprof.line_stats import LineStats
from lineprof.model.call_graph import line_self_ns

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.once  # files of fixed profiles

CPUPROFILE = EXPORTS["cpuprofile"]
Node = dict[str, Any]


def exported(stats: LineStats) -> dict[str, Any]:
    """Return the file, whose nodes are one tree."""
    file: dict[str, Any] = json.loads(b"".join(CPUPROFILE.content(stats)))
    assert {*file} == {"nodes", "startTime", "endTime", "samples", "timeDeltas"}
    nodes = {one["id"]: one for one in file["nodes"]}
    assert list(nodes) == list(range(1, len(nodes) + 1))
    assert nodes[1]["callFrame"]["functionName"] == "(root)"
    children = [child for one in nodes.values() for child in one["children"]]
    assert sorted(children) == list(range(2, len(nodes) + 1))
    assert len(file["samples"]) == len(file["timeDeltas"])
    assert all(sample in nodes for sample in file["samples"])
    assert sum(file["timeDeltas"]) == file["endTime"] - file["startTime"]
    for node in nodes.values():
        assert {*node["callFrame"]} == {
            *("functionName", "scriptId", "url", "lineNumber", "columnNumber")
        }
    return file


def self_us(file: dict[str, Any]) -> Counter[int]:
    """Return the time of each node by hits, and by both readings of samples."""
    samples, deltas = file["samples"], file["timeDeltas"]
    v8: Counter[int] = Counter()
    for sample, after in zip(samples, deltas[1:]):
        v8[sample] += after
    vs_code: Counter[int] = Counter()
    for before, sample in zip(deltas, samples[1:]):
        vs_code[sample] += before
    hits = Counter({one["id"]: one["hitCount"] for one in file["nodes"]})
    assert +v8 == +vs_code == +hits
    return hits


def ticks(file: dict[str, Any]) -> Counter[tuple[str, int]]:
    """Return the ticks of each line, by the file's address."""
    found: Counter[tuple[str, int]] = Counter()
    for node in file["nodes"]:
        for one in node.get("positionTicks", ()):
            found[node["callFrame"]["url"], one["line"]] += one["ticks"]
    return found


def test_each_line_has_its_self_time_in_ticks_of_a_microsecond() -> None:
    stats = example_calls.example()
    found = ticks(exported(stats))
    expected = {
        (f"file://{key[0]}", line): ns
        for key, lines in line_self_ns(stats).items()
        for line, ns in lines.items()
        if ns
    }
    assert set(found) <= set(expected)
    paths = len(stats.calls.nodes)
    for place, ns in expected.items():
        assert abs(1000 * found[place] - ns) <= 500 * paths
    everything = sum(one.self_ns for one in stats.calls.nodes)
    assert abs(1000 * sum(found.values()) - everything) <= 2 * 500


def test_each_node_has_the_time_of_its_call_for_every_reader() -> None:
    stats = example_calls.example()
    file = exported(stats)
    spent = self_us(file)
    names = {one["id"]: one["callFrame"]["functionName"] for one in file["nodes"]}
    assert names[2] == "MainThread (4711)"
    found: Counter[str] = Counter()
    for node, us in spent.items():
        found[names[node]] += us
    expected: Counter[str] = Counter()
    for one in stats.calls.nodes:
        expected[one.function[2].replace("\udcff", "\\udcff")] += one.self_ns
    for name, ns in expected.items():
        assert abs(1000 * found[name] - ns) <= 4 * 1000, name
    assert sum(spent.values()) == file["endTime"]


def test_a_node_has_the_place_of_its_function() -> None:
    nodes = exported(example_calls.example())["nodes"]
    (main,) = (one for one in nodes if one["callFrame"]["functionName"] == "main")
    assert main["callFrame"] == {
        "functionName": "main",
        "scriptId": "1",
        "url": "file:///p/main.py",
        "lineNumber": 5,  # lines count from 0: line 6
        "columnNumber": 0,
    }
    (of_c,) = (one for one in nodes if "len" in one["callFrame"]["functionName"])
    assert of_c["callFrame"]["url"] == ""


def test_files_of_any_name_have_an_address() -> None:
    stats = LineStats({("/p/ä b%.py", 1, "f"): [(2, 1, 5000)]}, 1e-9)
    assert list(ticks(exported(stats))) == [("file:///p/%C3%A4%20b%25.py", 2)]
    stats = LineStats({("<ipython-input-1>", 1, "f"): [(2, 1, 5000)]}, 1e-9)
    assert list(ticks(exported(stats))) == [("<ipython-input-1>", 2)]


def test_a_trace_is_sampled_in_time_order() -> None:
    file = exported(traced(trace(one for one in SLICES if one.thread == 0)))
    nodes = {one["id"]: one["callFrame"]["functionName"] for one in file["nodes"]}
    order = [
        (nodes[sample], us)
        for sample, us in zip(file["samples"], file["timeDeltas"])
        if us
    ]
    assert order == [
        *(("fit", 50), ("fit", 10)),  # before line 34, and on line 34 before the call
        *(("step", 90), ("step", 100), ("step", 10)),
        *(("fit", 40), ("fit", 500), ("fit", 500), ("fit", 200)),
    ]
    assert ticks(file) == {
        ("file:///project/model.py", line): us
        for line, us in {21: 90, 22: 100, 34: 50, 36: 500, 37: 500}.items()
    }
    self_us(file)


def test_threads_of_a_trace_are_in_sequence() -> None:
    file = exported(steps())
    spent = self_us(file)
    assert sum(spent.values()) == 1_500 + 300
    assert "one after the other" in "\n".join(CPUPROFILE.remarks(steps()))


def test_time_outside_of_profiled_functions_is_of_the_program() -> None:
    gap = [SLICES[0], type(SLICES[0])(5_000_000, 1_000, 0, example_gpu.FIT, 0)]
    file = exported(traced(trace(gap)))
    (node,) = (
        one for one in file["nodes"] if one["callFrame"]["functionName"] == "(program)"
    )
    assert self_us(file)[node["id"]] == 2_600


@pytest.mark.parametrize(
    "make",
    [lambda: falling(3_000), lambda: example_calls.deep(20_000)],
    ids=["traced", "summed"],
)
def test_deep_chains_are_complete_and_no_deeper_than_readers_can_go(
    make: Callable[[], LineStats],
) -> None:
    file = exported(make())
    self_us(file)
    depths = {1: 0}
    for node in file["nodes"]:
        depths.update(dict.fromkeys(node["children"], depths[node["id"]] + 1))
    assert max(depths.values()) == MAX_DEPTH
    names = {one["callFrame"]["functionName"] for one in file["nodes"]}
    assert len(names) in {3_001, 20_001}  # with the root
    assert file["endTime"] in {60, 200}


@pytest.mark.parametrize("stats", sparse())
def test_exports_of_all_kinds_of_profiles_are_valid(stats: LineStats) -> None:
    self_us(exported(stats))
