"""Traces for Chrome and Perfetto: each slice has its track and its time."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import example_calls
import example_gpu
import pytest
from example_traces import SLICES, falling, sparse, steps, trace, traced

from lineprof.export import EXPORTS
from lineprof.export.timeline import MAX_DEPTH
from lineprof.line_stats import LineStats
from lineprof.model.call_graph import function_totals
from lineprof.model.gpu import Gpu
from lineprof.model.records import FunctionStats, ThreadLine
from lineprof.model.timelines import Slice, Timeline, pack_events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Event = dict[str, Any]

pytestmark = pytest.mark.once  # files of fixed profiles

CHROME = EXPORTS["chrome"]
SUMMED = "Calls, summed: not in time order"


class File:
    """Exported file, parsed; times in ns."""

    def __init__(self, stats: LineStats) -> None:
        document = json.loads(b"".join(CHROME.content(stats)))
        assert document["displayTimeUnit"] == "ns"
        self.events: list[Event] = document["traceEvents"]
        for event in self.events:
            for name in ("ts", "dur"):
                if name in event:
                    event[name] = round(event[name] * 1000)
        self.rows = {
            (event["pid"], event["tid"]): event["args"]["name"]
            for event in self.events
            if event["name"] == "thread_name"
        }
        self.processes = {
            event["pid"]: event["args"]["name"]
            for event in self.events
            if event["name"] == "process_name"
        }

    def phase(self, phase: str) -> list[Event]:
        return [event for event in self.events if event.get("ph") == phase]

    def row(self, event: Event) -> str:
        return str(self.rows[event["pid"], event["tid"]])

    def on(self, name: str) -> list[Event]:
        """Return the slices on the tracks whose names end in `name`."""
        return [one for one in self.phase("X") if self.row(one).endswith(name)]

    def depths(self) -> dict[tuple[int, int], list[int]]:
        """Return the depth of each slice; on a track all are nested."""
        found = defaultdict(list)
        ends: dict[tuple[int, int], list[int]] = defaultdict(list)
        for event in self.phase("X"):
            place, start = (event["pid"], event["tid"]), event["ts"]
            mine = ends[place]
            while mine and mine[-1] <= start:
                mine.pop()
            assert not mine or start + event["dur"] <= mine[-1], event
            found[place].append(len(mine))
            mine.append(start + event["dur"])
        return found


def with_events(*rows: tuple[int, ...]) -> LineStats:
    """Return the example with a timeline of `rows`: see example_gpu.EVENTS."""
    stats = example_gpu.example()
    columns = pack_events(example_gpu.packed_columns(rows))
    line = replace(example_gpu.timeline(), count=len(rows), batches=columns)
    stats.gpu = stats.gpu._replace(timelines=(line,))
    return stats


def test_each_slice_of_the_trace_has_its_exact_time() -> None:
    file = File(steps())
    found = Counter(
        (event["ts"], event["dur"], event["cat"])
        for event in file.phase("X")
        if event["cat"] in {"function", "line"}
    )
    zero = 0  # the first slice is not at 0: times count from the process' start
    assert found == Counter(
        (zero + one.start_ns, one.ns, "line" if one.line else "function")
        for one in SLICES
    )
    assert [one["name"] for one in file.on(": Lines")] == [
        *("model.py:34", "model.py:21", "model.py:22", "model.py:36", "model.py:37")
    ]
    file.depths()


def test_tracks_are_those_of_nvidias_profilers() -> None:
    file = File(steps())
    assert set(file.processes.values()) == {
        "model.py (4711)",
        "NVIDIA H200 (0), model.py (4711)",
        "NVIDIA L4 (1), model.py (4711)",
    }
    assert set(file.rows.values()) == {
        "Profiling overhead: the sum",
        "MainThread (4711)",
        "MainThread (4711): Lines",
        "MainThread (4711): Runtime API",
        "MainThread (4711): Driver API",
        "uploader (4720)",
        *(f"Context 1: MemCpy ({name})" for name in ("HtoD", "DtoH")),
        *(f"Context 1: {row}" for row in ("Compute", "Memset")),
        *(f"Context 1: Stream {stream}" for stream in (7, 9, 13)),
        *(f"Context 2: {row}" for row in ("Compute", "Stream 8")),
    }


def test_tracks_are_in_the_order_of_nvidias_profilers() -> None:
    file = File(steps())
    places = {
        (event["pid"], event["tid"]): event["args"]["sort_index"]
        for event in file.events
        if event["name"] == "thread_sort_index"
    }
    names: dict[int, list[str]] = defaultdict(list)
    for place in sorted(places, key=places.__getitem__):
        names[place[0]].append(file.rows[place].rpartition(": ")[2])
    assert names[4711] == [
        *("the sum", "MainThread (4711)", "Lines", "Runtime API", "Driver API"),
        "uploader (4720)",
    ]
    (device,) = (pid for pid, name in file.processes.items() if "H200" in name)
    assert names[device] == [
        *("MemCpy (HtoD)", "MemCpy (DtoH)", "Memset", "Compute"),
        *("Stream 7", "Stream 9", "Stream 13"),
    ]


def test_gpu_work_is_on_its_stream_and_on_the_track_of_its_kind() -> None:
    stats = steps()
    file = File(stats)
    (timeline,) = stats.gpu.timelines
    expected = Counter(
        (one.start_ns, one.ns)
        for one in timeline
        if one.kind in {"kernel", "memcpy", "memset"}
    )
    for rows in (("Stream",), ("Compute", "MemCpy", "Memset")):
        assert expected == Counter(
            (event["ts"], event["dur"])
            for event in file.phase("X")
            if any(f": {row}" in file.row(event) for row in rows)
        )
    (relu,) = (one for one in file.on("Compute") if "relu" in one["name"])
    assert relu["args"]["Python line"] == "model.py:21"
    assert (relu["args"]["grid"], relu["args"]["correlation"]) == ("64x1x1", 10)


def arrows(file: File) -> Iterator[tuple[str, str, str]]:
    """Yield the first and the last slice of each flow, with their tracks."""
    ends = {one["id"]: one for one in file.phase("f")}
    starts = {one["id"]: one for one in file.phase("s")}
    assert ends.keys() == starts.keys()
    assert len(ends) == len(file.phase("f")) == len(file.phase("s"))
    for number, start in sorted(starts.items()):
        end = ends[number]
        assert end["bp"] == "e"
        assert start["ts"] <= end["ts"]
        places = [[one[name] for name in ("pid", "tid", "ts")] for one in (start, end)]
        source, target = (
            [
                one
                for one in file.phase("X")
                if [one["pid"], one["tid"], one["ts"]] == at
            ]
            for at in places
        )
        yield source[-1]["name"], file.row(start), target[-1]["name"]


def test_arrows_go_from_the_call_or_the_line_to_the_launched_work() -> None:
    file = File(steps())
    lines, stream = "MainThread (4711): Lines", "gemm(float const*, float const*"
    found = [(name, row, end.split(", float*")[0]) for name, row, end in arrows(file)]
    assert found == [
        ("cuLaunchKernel", "MainThread (4711): Driver API", found[0][2]),
        ("model.py:22", lines, stream),
        ("model.py:22", lines, found[2][2]),
        ("cudaMemcpyAsync", "MainThread (4711): Runtime API", "[CUDA memcpy DtoH]"),
        ("model.py:37", lines, stream),
    ]
    assert all("Stream" in file.row(one) for one in file.phase("f"))


def test_a_graph_launch_has_an_arrow_to_each_of_its_kernels() -> None:
    call = (5, 7, 1_000, 50, 1, 0, 0, 0, 0, 30, 0, 0, 0, 4711)
    kernels = [
        (1, 1, 2_000 + 100 * i, 90, 1, 0, 0, 1, 7, 30, 0, 1, 0, 0) for i in range(3)
    ]
    file = File(with_events(call, *kernels))
    assert [name for name, _, _ in arrows(file)] == ["cudaMemcpyAsync"] * 3


def test_kernels_that_overlap_on_one_stream_are_all_written() -> None:
    """Perfetto drops slices that overlap on one track and are not nested."""
    starts = (0, 50, 60, 100, 150)
    rows = [
        (1, 1, at, 100, 0, 0, 0, 1, 7, i, 0, 1, 0, 0) for i, at in enumerate(starts)
    ]
    file = File(with_events(*rows))
    for name in ("Stream 7", "Compute"):
        assert sorted(one["ts"] for one in file.on(name)) == list(starts)
    streams = {one["tid"] for one in file.on("Stream 7")}
    assert len(streams) == 3
    of_gpu = {(one["pid"], one["tid"]) for one in file.on("Stream 7")}
    assert {max(file.depths()[place]) for place in of_gpu} == {0}


def test_memory_is_counted_up_and_down() -> None:
    rows = [
        (8, 0, 10, 0, 0, 0, 0, 1, 0, 1, 4096, 0, 0, 0),
        (8, 0, 20, 0, 0, 0, 0, 1, 0, 2, 100, 0, 0, 0),
        (9, 0, 30, 0, 0, 0, 0, 1, 0, 3, 4096, 0, 0, 0),
    ]
    counted = File(with_events(*rows)).phase("C")
    assert [(one["ts"], one["args"]["bytes"]) for one in counted] == [
        *((10, 4096), (20, 4196), (30, 100))
    ]


def test_memory_that_was_allocated_before_the_recording_is_not_below_zero() -> None:
    rows = [
        (9, 0, 10, 0, 0, 0, 0, 1, 0, 1, 4096, 0, 0, 0),
        (8, 0, 20, 0, 0, 0, 0, 1, 0, 2, 100, 0, 0, 0),
    ]
    counted = File(with_events(*rows)).phase("C")
    assert [(one["ts"], one["args"]["bytes"]) for one in counted] == [
        (10, 0),
        (20, 100),
    ]


def test_without_a_trace_calls_have_the_length_of_their_total_time() -> None:
    stats = example_calls.example()
    file = File(stats)
    totals: Counter[tuple[str, int]] = Counter()
    for row in {(one["pid"], one["tid"]) for one in file.on(SUMMED)}:
        totals += outermost(file, row)
    expected = {
        key[1:]: one.total_ns
        for key, one in function_totals(stats).items()
        if one.total_ns
    }
    assert totals == {
        (line, name.replace("\udcff", "\\udcff")): total
        for (line, name), total in expected.items()
    }
    file.depths()
    assert any(
        "its place on the time axis has no meaning" in text
        for text in CHROME.remarks(stats)
    )


def outermost(file: File, row: tuple[int, int]) -> Counter[tuple[str, int]]:
    """Return each function's time without slices nested in one of its own."""
    totals: Counter[Any] = Counter()
    stack: list[tuple[int, str]] = []
    for event in file.phase("X"):
        if (event["pid"], event["tid"]) != row:
            continue
        while stack and stack[-1][0] <= event["ts"]:
            stack.pop()
        key = (event["args"].get("line", 0), event["name"])
        if key not in [one for _, one in stack]:
            totals[key] += event["dur"]
        stack.append((event["ts"] + event["dur"], key))
    return totals


def test_without_callers_lines_of_a_recursive_function_are_within_its_slice() -> None:
    """Recursive calls count in the time of their lines, and not in the total time."""
    line = ThreadLine(2, 0, 3, 100)
    functions = [
        FunctionStats("a.py", "f", 1, (line,), calls=3, recursive_ns=40),
        FunctionStats("a.py", "g", 5, (line._replace(line=6),), calls=1),
    ]
    file = File(LineStats.from_functions(functions))
    slices = sorted((one["ts"], one["dur"]) for one in file.phase("X"))
    assert slices == [(0, 100), (0, 100), (100, 100), (100, 100)]


def test_without_callers_functions_are_in_sequence_with_their_lines() -> None:
    stats = LineStats({("a.py", 1, "f"): [(2, 1, 5), (3, 2, 10)]}, 1e-9)
    file = File(stats)
    found = [(one["name"], one["ts"], one["dur"]) for one in file.on(SUMMED)]
    assert found == [("f", 0, 15), ("a.py:3", 0, 10), ("a.py:2", 10, 5)]


@pytest.mark.parametrize(
    "make",
    [lambda: falling(2_000), lambda: example_calls.deep(20_000)],
    ids=["traced", "summed"],
)
def test_slices_nested_too_deep_for_a_viewer_are_cut_and_remarked_on(
    make: Callable[[], LineStats],
) -> None:
    stats = make()
    file = File(stats)
    (depths,) = (depths for depths in file.depths().values() if max(depths) > 0)
    assert max(depths) == MAX_DEPTH
    deepest = [one for one in file.phase("X") if one["name"] == "..."]
    assert len(deepest) == 1
    said = "\n".join(CHROME.remarks(stats))
    assert stats.traces or f"more than {MAX_DEPTH} deep are cut" in said


def test_processes_of_one_host_share_a_clock_and_others_the_time_of_day() -> None:
    stats = example_gpu.without_gpu()
    first = stats.processes[0]
    later = first.start_unix_ns + 7_000_000
    stats.processes = (
        first,
        first._replace(pid=4712, rank=1, start_unix_ns=later),
        first._replace(host="node-2", rank=2, start_unix_ns=later),
    )
    slices = [Slice(100, 50, -1, example_gpu.FIT, 0)]
    origins = (5_000, 7_005_042, 99)
    traces = [trace(slices, process=i, origin_ns=at) for i, at in enumerate(origins)]
    file = File(traced(*traces, stats=stats))
    found = {
        file.processes[one["pid"]]: one["ts"]
        for one in file.phase("X")
        if one["cat"] == "function"
    }
    assert found == {
        "model.py (4711)": 100,
        "model.py (4712, rank 1)": 7_000_142,
        "model.py (4711, rank 2)": 7_000_100,
    }
    assert len(file.processes) == 3  # two of which have the same number


@pytest.mark.parametrize("apart", [1_000_000, -1_000_000])
def test_two_traces_of_one_process_are_in_the_order_of_their_origins(
    apart: int,
) -> None:
    one, other = (SLICES[0]._replace(ns=ns) for ns in (10, 20))
    origin = example_gpu.ORIGIN_NS + apart
    stats = traced(trace([one]), trace([other], origin_ns=origin))
    stats.gpu = Gpu()  # whose timeline has an origin of its own
    starts = {event["dur"]: event["ts"] for event in File(stats).phase("X")}
    first = min(0, apart)
    assert starts[10] == one.start_ns - first
    assert starts[20] == one.start_ns + apart - first


def test_the_file_is_written_in_parts() -> None:
    taken = 0

    def slices() -> Iterable[Slice]:
        nonlocal taken
        for i in range(100_000):
            taken += 1
            yield Slice(10 * i, 10, 0, example_gpu.FIT, 0)

    stats = traced(replace(trace([]), make=slices), stats=example_gpu.without_gpu())
    chunks = iter(CHROME.content(stats))
    next(chunks)
    assert 0 < taken < 2_000
    assert max(map(len, chunks)) < 200_000
    assert taken == 100_000


@pytest.mark.parametrize("stats", sparse())
def test_exports_of_all_kinds_of_profiles_are_valid(stats: LineStats) -> None:
    File(stats).depths()


def test_missing_data_is_remarked_on() -> None:
    stats = traced(trace(SLICES, left_out=7))
    text = "\n".join(CHROME.remarks(stats))
    assert "7 slices are not in the trace" in text
    assert "4 GPU records are not in the timeline" in text
    assert "summed" not in text
    sums = [one for one in stats.gpu.sums if one.kind not in {"runtime", "driver"}]
    stats.gpu = stats.gpu._replace(sums=tuple(sums))
    assert "kernprof -l --gpu-api" in "\n".join(CHROME.remarks(stats))


def test_threads_outside_of_the_profile_have_tracks_of_their_own() -> None:
    call = (5, 7, 1_000, 50, 0, 0, 0, 0, 0, 30, 0, 0, 0, 140_000_000_000)
    file = File(with_events(call))
    assert "Thread 140000000000: Runtime API" in file.rows.values()
    assert all(0 < tid < 2**31 for _, tid in file.rows)


def test_an_empty_timeline_counts_as_no_timeline() -> None:
    empty = Timeline(0, 0, 5, 0, (), (), ())
    stats = LineStats.from_functions([], gpu=Gpu(timelines=(empty,)))
    assert File(stats).phase("X") == []
