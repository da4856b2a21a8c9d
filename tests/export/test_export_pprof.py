"""pprof files: time, hits and calls at their places in the profile."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import example_gpu
import pytest
from example_calls import FORWARD, LEN, MAIN, MODEL_TEXT, PROCESS, example, wide
from export_shapes import MANY, STEPS, content, shapes
from pprof_file import Profile, Sample, parsed_by_protobuf, read

from lineprof.model.call_graph import function_totals, line_self_ns
from lineprof.model.gpu import NO_PATH, Gpu, GpuSum
from lineprof.model.records import Thread
from lineprof.model.timelines import pack_events

if TYPE_CHECKING:
    from pathlib import Path

    from lineprof.line_stats import LineStats

pytestmark = pytest.mark.once  # files of fixed profiles


def pprof(stats: LineStats) -> Profile:
    return read(content(stats, "pprof"))


def sums(samples: list[Sample], value: str) -> dict[tuple[str, int, int], int]:
    """Return the values of leaf lines by (file, first line of the function, line)."""
    found = Counter[tuple[str, int, int]]()
    for sample in samples:
        file, _, start, line = sample.frames[-1]
        found[file, start, line] += sample.values[value]
    return +found


@pytest.mark.parametrize("shape", list(shapes()))
def test_lines_have_their_self_time_and_their_hits(shape: str) -> None:
    stats = shapes()[shape]
    profile = pprof(stats)
    own = Counter[tuple[str, int, int]]()
    for (file, start, _), lines in line_self_ns(stats).items():
        own.update({(file, start, line): ns for line, ns in lines.items()})
    own.update({("", 0, 0): 60} if stats is shapes()["calls"] else {})
    assert sums(profile.samples, "time") == +own
    hits = Counter(
        {
            (function.file, function.line, row.line): row.hits
            for function in stats.functions
            for row in function.rows
        }
    )
    assert sums(profile.samples, "hits") == +hits
    assert list(profile.units)[:3] == ["time", "hits", "calls"]
    units = {"nanoseconds", "count", *(["bytes"] if stats.memory.sums else [])}
    assert set(profile.units.values()) == units
    assert profile.default == "time"


def test_calls_are_those_of_the_functions() -> None:
    calls = Counter[object]()
    for sample in pprof(example()).samples:
        file, _, start, _ = sample.frames[-1]
        calls[file, start] += sample.values["calls"]
    numbers = function_totals(example())
    assert +calls == +Counter({key[:2]: one.calls for key, one in numbers.items()})


def test_frames_are_at_the_lines_of_the_calls() -> None:
    time = Counter[object]()
    for sample in pprof(example()).samples:
        for file, _, _, line in {frame for frame in sample.frames if frame[0]}:
            time[file, line] += sample.values["time"]
    for function in example().functions:
        if function.recursive_ns is None:  # other lines are open several times
            for row in function.rows:
                assert time[function.file, row.line] == row.time_ns


def test_samples_have_labels_of_their_thread_and_process() -> None:
    samples = pprof(example()).samples
    threads = Counter[str]()
    for sample in samples:
        threads[sample.labels.get("thread", "")] += sample.values["time"]
    assert threads == {
        "MainThread (4711)": 6_292_469,
        "worker 1 (4712)": 1_533_879,
        "": 0,
    }
    assert {sample.labels["process"] for sample in samples} == {"4711 on node-1"}
    assert len({s.labels["thread"] for s in pprof(shapes()["threads"]).samples}) == MANY


def test_ranks_are_labels() -> None:
    one, *_ = example().processes
    ranked = one._replace(rank=3)
    stats = example()
    stats.processes = (one, ranked)
    stats.threads = (stats.threads[0], Thread(1, 9, "b"))
    labels = [s.labels for s in pprof(stats).samples if "thread" in s.labels]
    assert {(one["thread"], one.get("rank")) for one in labels} == {
        ("MainThread (4711)", None),
        ("b (9)", "3"),
    }


def test_gpu_work_has_its_device_and_its_name() -> None:
    samples = [s for s in pprof(example()).samples if "work" in s.labels]
    assert [s.values["gpu"] for s in samples] == [600_000, 0, 200_000, 50_000]
    assert [s.values["gpu_copy"] for s in samples] == [0, 90_000, 0, 0]
    assert {s.labels["device"] for s in samples} == {"0: NVIDIA H200"}
    assert samples[0].labels["work"] == "kernel(float*, int)"
    assert [s.frames[-1][1] for s in samples][2:] == [
        *("launch", "[launched by no profiled line]"),
    ]
    whole = pprof(example_gpu.example()).samples
    assert sum(s.values["gpu"] for s in whole) == example_gpu.TOTAL_GPU_NS
    assert sum(s.values["gpu_copy"] for s in whole) == example_gpu.TOTAL_COPY_NS


def test_gpu_work_has_its_stream_if_all_events_are_known() -> None:
    events = (
        (1, 1, 1_000, 70, 1, 0, 1, 1, 7, 1, 0, 1, 0, 0),
        (1, 1, 1_100, 30, 1, 0, 1, 1, 9, 2, 0, 1, 0, 0),
        (1, 2, 1_200, 50, 1, 0, 1, 1, 9, 3, 0, 1, 0, 0),  # and one left out
        (5, 7, 1_300, 99, 1, 0, 0, 0, 0, 4, 0, 0, 0, 4711),
    )
    timeline = example_gpu.timeline()
    batches = pack_events(example_gpu.packed_columns(events))
    stats = example_gpu.example()
    stats.gpu = Gpu(
        paths=stats.gpu.paths,
        sums=(
            GpuSum(0, NO_PATH, "kernel", example_gpu.GEMM, 1, 2, 100, 30, 70),
            GpuSum(0, NO_PATH, "kernel", example_gpu.RELU, 1, 2, 60, 10, 50),
        ),
        devices=stats.gpu.devices,
        timelines=(replace(timeline, count=len(events), batches=batches),),
    )
    found = [s for s in pprof(stats).samples if "work" in s.labels]
    assert [(s.labels.get("stream"), s.values["gpu"]) for s in found] == [
        *(("7", 70), ("9", 30), (None, 60)),
    ]
    assert {s.labels["device"] for s in found} == {"1: NVIDIA L4"}


def test_a_million_steps_of_a_generator_are_few_samples() -> None:
    profile = pprof(shapes()["a generator"])
    assert len(profile.samples) < 10
    assert sum(sums(profile.samples, "hits").values()) == 2 * STEPS + 1


def test_the_run_is_described_in_comments() -> None:
    profile = pprof(example())
    assert profile.comments[1:] == ["main.py"]
    assert profile.time_ns == 1_700_000_000_000_000_000
    assert profile.duration_ns == 6_500_000
    (empty,) = pprof(shapes()["nothing"]).comments[1:]
    assert empty.startswith("the profile is empty")


def test_the_duration_is_from_the_first_start_to_the_last_end() -> None:
    stats = example()
    first = PROCESS._replace(start_unix_ns=1_000, wall_ns=500)
    later = PROCESS._replace(start_unix_ns=1_300, wall_ns=400, pid=4712)
    stats.processes = (later, first)
    profile = pprof(stats)
    start_and_duration = {"start": profile.time_ns, "duration": profile.duration_ns}
    assert start_and_duration == {"start": 1_000, "duration": 700}


def test_c_functions_have_no_file() -> None:
    frames = {sample.frames[-1] for sample in pprof(example()).samples}
    assert ("", LEN[2], 0, 0) in frames


@pytest.mark.parametrize("shape", list(shapes()))
def test_protobuf_reads_the_same_values(shape: str) -> None:
    data = content(shapes()[shape], "pprof")
    message, ours = parsed_by_protobuf(data), read(data)
    assert len(message.sample) == len(ours.samples)
    for theirs, mine in zip(message.sample, ours.samples):
        assert list(theirs.value) == list(mine.values.values())
        assert len(theirs.location_id) == len(mine.frames)
    message.DiscardUnknownFields()
    assert message.ByteSize() == len(message.SerializeToString())
    assert {place for s in message.sample for place in s.location_id} == {
        place.id for place in message.location
    }


def test_go_tool_pprof_shows_the_lines(tmp_path: Path) -> None:
    go = shutil.which("go")
    if go is None:
        pytest.skip("go does not come from the package index")
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "model.py").write_text(MODEL_TEXT, encoding="utf-8")
    (tmp_path / "out").write_bytes(content(example(), "pprof"))
    words = [go, "tool", "pprof", "-unit=ns", "-source_path=.", "-trim_path=/"]
    words += ["-list=^Model.forward$", "out"]
    run = subprocess.run(words, cwd=tmp_path, capture_output=True, check=False)
    text = run.stdout.decode()
    if run.returncode and "no such tool" in run.stderr.decode():
        pytest.skip("this go has no pprof")
    rows = {words[2]: words[:2] for words in map(str.split, text.splitlines()[4:])}
    assert rows["13:"] == ["2000ns", "61606ns"]
    assert rows["14:"] == ["1600ns", "35050ns"]
    assert rows["15:"] == ["1000ns", "6001000ns"]
    assert f"ROUTINE ======================== {FORWARD[2]}" in text


def test_many_functions_and_call_paths_are_all_written() -> None:
    profile = pprof(wide(200, 4_000))
    assert len(sums(profile.samples, "time")) == 4_000
    assert sum(sums(profile.samples, "time").values()) == 4_000_000


def test_names_that_are_not_utf_8_are_escaped() -> None:
    names = {frame[1] for sample in pprof(example()).samples for frame in sample.frames}
    assert 'weights "w"; größe\'s <損> & \\ %\\udcff' in names
    assert MAIN[2] in names
