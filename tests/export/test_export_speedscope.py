"""Files for speedscope: valid by its schema, by function and by line."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import example_calls
import example_gpu
import pytest
from example_traces import SLICES, falling, sparse, steps, trace, traced

from lineprof.export import EXPORTS, encoding
from lineprof.export.timeline import MAX_DEPTH
from lineprof.model.call_graph import line_self_ns
from lineprof.model.gpu import numbers_of_lines, totals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lineprof.line_stats import LineStats

    Profile = dict[str, Any]

pytestmark = pytest.mark.once  # files of fixed profiles

SPEEDSCOPE = EXPORTS["speedscope"]
UNITS = {"bytes", "microseconds", "milliseconds", "nanoseconds", "none", "seconds"}


def exported(stats: LineStats) -> dict[str, Any]:
    """Return the file, checked by the schema and by further rules."""
    file: dict[str, Any] = json.loads(b"".join(SPEEDSCOPE.content(stats)))
    assert file["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert {*file} == {
        *("$schema", "profiles", "shared", "name", "activeProfileIndex", "exporter")
    }
    assert isinstance(file["name"], str)
    assert isinstance(file["exporter"], str)
    assert {*file["shared"]} == {"frames"}
    for frame in file["shared"]["frames"]:
        assert isinstance(frame["name"], str)
        assert isinstance(frame.get("file", ""), str)
        assert isinstance(frame.get("line", 0), int)
        assert {*frame} <= {"name", "file", "line", "col"}
    assert 0 <= file["activeProfileIndex"] < len(file["profiles"])
    for profile in file["profiles"]:
        check_profile(profile, len(file["shared"]["frames"]))
    return file


def check_profile(profile: Profile, frames: int) -> None:
    common = {"type", "name", "unit", "startValue", "endValue"}
    assert profile["unit"] in UNITS
    assert isinstance(profile["name"], str)
    if profile["type"] == "sampled":
        assert {*profile} == {*common, "samples", "weights"}
        assert len(profile["samples"]) == len(profile["weights"])
        assert all(0 <= one < frames for stack in profile["samples"] for one in stack)
        width = profile["endValue"] - profile["startValue"]
        assert sum(profile["weights"]) == width
        return
    assert profile["type"] == "evented"
    assert {*profile} == {*common, "events"}
    last, opened = profile["startValue"], []
    for event in profile["events"]:
        assert last <= event["at"] <= profile["endValue"]
        last = event["at"]
        assert 0 <= event["frame"] < frames
        if event["type"] == "O":
            opened.append(event["frame"])
        else:
            assert event["type"] == "C"
            assert opened.pop() == event["frame"]
    assert opened == []


def weights(file: dict[str, Any], what: str) -> Counter[tuple[str, int]]:
    """Return the time of each leaf (file, line) in profiles of a name."""
    found: Counter[tuple[str, int]] = Counter()
    for profile in file["profiles"]:
        if profile["name"].endswith(f": {what}"):
            for stack, weight in zip(profile["samples"], profile["weights"]):
                frame = file["shared"]["frames"][stack[-1]]
                found[frame.get("file", frame["name"]), frame.get("line", 0)] += weight
    return found


def test_by_line_each_leaf_has_the_lines_self_time() -> None:
    stats = example_calls.example()
    expected = Counter(
        {
            (key[0], line): ns
            for key, lines in line_self_ns(stats).items()
            for line, ns in lines.items()
            if ns
        }
    )
    expected["builtins.len", 0] = 60
    assert weights(exported(stats), "by line") == expected


def test_by_function_each_leaf_has_the_functions_self_time() -> None:
    stats = example_calls.example()
    expected: Counter[tuple[str, int]] = Counter()
    for node in stats.calls.nodes:
        file, line, name = node.function
        expected[file or name, line] += node.self_ns
    assert weights(exported(stats), "by function") == expected


def test_each_thread_has_two_profiles_and_each_device_its_work() -> None:
    stats = example_calls.example()
    file = exported(stats)
    assert [one["name"] for one in file["profiles"]] == [
        "MainThread (4711): by function",
        "worker 1 (4712): by function",
        "MainThread (4711): by line",
        "worker 1 (4712): by line",
        "NVIDIA H200 (0): GPU time by line",
        "NVIDIA H200 (0): copies by line",
    ]
    assert file["activeProfileIndex"] == 0
    gpu = [one for one in file["profiles"] if "GPU time" in one["name"]]
    assert sum(map(sum, (one["weights"] for one in gpu))) == totals(stats.gpu).gpu_ns


def test_gpu_time_of_a_line_is_as_in_the_table() -> None:
    stats = example_gpu.example()
    file = exported(stats)
    frames = file["shared"]["frames"]
    found: Counter[tuple[str, int]] = Counter()
    for profile in file["profiles"]:
        if profile["name"].endswith("GPU time by line"):
            for stack, ns in zip(profile["samples"], profile["weights"]):
                places = {(frames[i].get("file"), frames[i].get("line")) for i in stack}
                found.update({place: ns for place in places if place[0]})
    expected = {
        (key[0], line): one.gpu_ns
        for key, lines in numbers_of_lines(stats.gpu).items()
        for line, one in lines.items()
        if one.gpu_ns
    }
    assert found == expected


def intervals(file: dict[str, Any], name: str) -> Iterator[tuple[str, int, int]]:
    """Yield (frame's name, start, ns) of an evented profile."""
    (profile,) = (one for one in file["profiles"] if one["name"] == name)
    opened = []
    for event in profile["events"]:
        if event["type"] == "O":
            opened.append(event["at"])
        else:
            start = opened.pop()
            frame = file["shared"]["frames"][event["frame"]]
            yield frame["name"], start, event["at"] - start


def test_a_trace_is_in_time_order() -> None:
    file = exported(steps())
    by_thread = defaultdict(list)
    for one in SLICES:
        line = f":{one.line}" if one.line else ""
        by_thread[one.thread].append((f"{one.function[2]}{line}", one.start_ns, one.ns))
    for thread, name in enumerate(("MainThread (4711)", "uploader (4720)")):
        lines = sorted(intervals(file, f"{name}: by line"))
        assert lines == sorted(by_thread[thread])
        functions = sorted(intervals(file, f"{name}: by function"))
        assert functions == [one for one in lines if ":" not in one[0]]
    kinds = [one["type"] for one in file["profiles"]]
    assert kinds == ["evented"] * 4 + ["sampled"] * 4  # those of two devices


def test_more_events_than_the_memory_limit_are_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = exported(steps())
    monkeypatch.setattr(encoding, "_MAX_IN_MEMORY", 100)
    monkeypatch.setattr(encoding, "_READ", 7)
    assert exported(steps()) == expected


@pytest.mark.parametrize(
    "make",
    [lambda: falling(5_000), lambda: example_calls.deep(2_000)],
    ids=["traced", "summed"],
)
def test_deep_stacks_are_cut(make: Callable[[], LineStats]) -> None:
    file = exported(make())
    for profile in file["profiles"]:
        if profile["type"] == "sampled":
            assert max(map(len, profile["samples"])) <= 256
        else:
            assert len(profile["events"]) == 2 * (MAX_DEPTH + 1)
    assert "..." in {frame["name"] for frame in file["shared"]["frames"]}


@pytest.mark.parametrize("stats", sparse())
def test_exports_of_all_kinds_of_profiles_are_valid(stats: LineStats) -> None:
    assert exported(stats)["profiles"]


def test_sums_instead_of_time_order_are_remarked_on() -> None:
    first, *_ = SPEEDSCOPE.remarks(example_calls.example())
    assert "choose Left Heavy or Sandwich in speedscope" in first
    assert list(SPEEDSCOPE.remarks(steps())) == []
    stats = traced(trace(SLICES, left_out=3))
    assert "3 slices are not in the trace" in "\n".join(SPEEDSCOPE.remarks(stats))
