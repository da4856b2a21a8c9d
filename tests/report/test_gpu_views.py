"""The views --gpu-summary, --gpu-trace and --api-trace."""

from __future__ import annotations

import csv
import io
from array import array
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from example_gpu import (
    BACKWARD,
    EVIL,
    GEMM,
    IN_RELU,
    ORIGIN_NS,
    PROCESS,
    SUMS,
    TOTAL_COPY_NS,
    TOTAL_GPU_NS,
    WORKER,
    example,
    packed_columns,
    without_gpu,
)
from view_text import text_of

from lineprof.model.gpu import NO_GPU, NO_PATH, Gpu, GpuDevice, GpuSum
from lineprof.model.timelines import Timeline, pack_events
from lineprof.report import VIEWS
from lineprof.report.gpu_format import (
    microseconds,
    milliseconds,
    quoted,
    rate_text,
    size_text,
    time_text,
)
from lineprof.report.options import Options
from lineprof.source import Sources

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.line_stats import LineStats
    from lineprof.model.timelines import GpuEvent

pytestmark = pytest.mark.once  # text of fixed profiles

GOLDEN = Path(__file__).parents[1] / "golden"
GOLDENS: list[tuple[str, str, dict[str, object]]] = [
    ("gpu_summary.txt", "gpu-summary", {}),
    ("gpu_summary.csv", "gpu-summary", {"csv": True}),
    ("gpu_trace.txt", "gpu-trace", {}),
    ("gpu_trace.csv", "gpu-trace", {"csv": True}),
    ("gpu_trace_occupancy.txt", "gpu-trace", {"occupancy": True}),
    ("gpu_trace_occupancy.csv", "gpu-trace", {"occupancy": True, "csv": True}),
    ("api_trace.txt", "api-trace", {}),
    ("api_trace.csv", "api-trace", {"csv": True}),
]
GPU_VIEWS = ("gpu-summary", "gpu-trace", "api-trace")
KERNEL, MEMCPY, DRIVER, MIGRATION, ALLOC, GRAPH = 1, 2, 6, 7, 8, 10


def lines(stats: LineStats, view: str, **options: object) -> Iterator[str]:
    made = Options(**options)  # type: ignore[arg-type]
    return iter(VIEWS[view].render(stats, Sources(stats.sources), made))


def notes(stats: LineStats, view: str, **options: object) -> list[str]:
    return list(VIEWS[view].notes(stats, Options(**options)))  # type: ignore[arg-type]


def table(stats: LineStats, view: str, **options: object) -> list[dict[str, str]]:
    """Return the rows of the CSV, without the row of units."""
    text = text_of(stats, view, csv=True, **options)
    titles, units, *rows = csv.reader(io.StringIO(text))
    assert {len(row) for row in (units, *rows)} == {len(titles)}
    return [dict(zip(titles, row)) for row in rows]


def with_gpu(**parts: Any) -> LineStats:
    stats = example()
    stats.gpu = stats.gpu._replace(**parts)
    return stats


def with_sums(*sums: GpuSum) -> LineStats:
    return with_gpu(sums=sums)


def timeline_of(*rows: tuple[int, ...], process: int = 0) -> Timeline:
    return replace(
        example().gpu.timelines[0],
        process=process,
        count=len(rows),
        batches=pack_events(packed_columns(rows)),
    )


def an_event(kind: int, *, start: int = 0, ns: int = 1, **more: int) -> tuple[int, ...]:
    names = ("name", "path", "origin", "device", "context", "stream")
    rest = ("correlation", "bytes", "launch", "memory", "thread")
    head = [kind, more.get("name", 0), start, ns]
    return (*head, *[more.get(name, 0) for name in (*names[1:], *rest)])


@pytest.mark.parametrize(("name", "view", "options"), GOLDENS)
def test_views_are_the_same_as_the_golden_files(
    name: str, view: str, options: dict[str, object]
) -> None:
    golden = (GOLDEN / name).read_text(encoding="utf-8")
    assert text_of(example(), view, **options) == golden


def test_the_summary_adds_up_to_the_devices_total() -> None:
    rows = table(example(), "gpu-summary")
    gpu = [row for row in rows if row["Type"] == "GPU activities"]
    whole = sum(round(float(row["Time"]) * 1e6) for row in gpu)
    assert whole == TOTAL_GPU_NS + TOTAL_COPY_NS
    assert sum(float(row["Time(%)"]) for row in gpu) == pytest.approx(100)
    count = sum(one.count for one in SUMS if one.kind in {"kernel", "memcpy", "memset"})
    assert sum(int(row["Calls"]) for row in gpu) == count


def test_the_summary_of_a_kernel_is_the_sum_of_its_launches() -> None:
    (row,) = [r for r in table(example(), "gpu-summary") if r["Name"][:5] == "gemm("]
    mine = [one for one in SUMS if one.name == GEMM]
    whole, count = sum(one.ns for one in mine), sum(one.count for one in mine)
    assert float(row["Time"]) == whole / 1e6
    assert int(row["Calls"]) == count
    assert float(row["Avg"]) == pytest.approx(whole / count / 1e3, abs=5e-4)
    assert float(row["Min"]) == min(one.min_ns for one in mine) / 1e3
    assert float(row["Max"]) == max(one.max_ns for one in mine) / 1e3
    assert row["Python Line"] == "/project/model.py:22"
    assert float(row["Line(%)"]) == pytest.approx(100 * 5_000_000 / whole)


def test_a_share_below_100_percent_is_never_rounded_to_100() -> None:
    sums = [
        GpuSum(place, NO_PATH, "kernel", "k", 0, 1, ns, ns, ns)
        for place, ns in ((0, 9_999), (1, 1))
    ]
    assert "model.py:21 (99%)" in text_of(with_sums(*sums), "gpu-summary")
    assert "model.py:21  " in text_of(with_sums(sums[0]), "gpu-summary")


def test_work_without_a_profiled_line_has_no_line() -> None:
    one = GpuSum(NO_PATH, NO_PATH, "kernel", "k", 0, 1, 5, 5, 5)
    (row,) = table(with_sums(one), "gpu-summary")
    assert row["Python Line"] == ""
    text = text_of(with_sums(one), "gpu-summary")
    assert (
        "       5ns         1       5ns       5ns       5ns  -            k\n" in text
    )


def test_kernels_of_a_graph_can_count_on_the_line_of_its_capture() -> None:
    rows = table(example(), "gpu-summary", graph_origin=True)
    (relu,) = [row for row in rows if "relu" in row["Name"]]
    assert (relu["Python Line"], relu["Line(%)"]) == (
        "/project/model.py:21",
        "100.000000",
    )
    replayed = table(example(), "gpu-trace")[6]
    assert replayed["Python Line"] == "/project/model.py:37"
    captured = table(example(), "gpu-trace", graph_origin=True)[6]
    assert captured["Python Line"] == "/project/model.py:22"
    assert (replayed["Range"], captured["Range"]) == ("5000037", "3000022")


def test_calls_that_were_not_recorded_are_reported_as_missing() -> None:
    stats = with_sums(*[one for one in SUMS if one.kind not in {"runtime", "driver"}])
    text = text_of(stats, "gpu-summary")
    assert text.endswith(
        "      API calls: not recorded; kernprof -l --gpu-api records them\n"
    )
    assert notes(stats, "gpu-summary", csv=True) == [
        "API calls were not recorded; kernprof -l --gpu-api records them"
    ]
    assert notes(stats, "api-trace", csv=True) == notes(stats, "gpu-summary", csv=True)
    stats.gpu = stats.gpu._replace(timelines=())
    assert text_of(stats, "api-trace") == (
        "API calls were not recorded; kernprof -l --gpu-api records them\n"
    )


@pytest.mark.parametrize("view", GPU_VIEWS)
def test_a_profile_without_gpu_data_has_a_line_with_the_cause(view: str) -> None:
    why = "No GPU activity was recorded: there is no NVIDIA device"
    assert text_of(without_gpu(), view) == f"{why}\n"
    assert notes(without_gpu(), view) == []
    assert notes(without_gpu(), view, csv=True) == [why]
    assert len(text_of(without_gpu(), view, csv=True).split("\n")) == 3
    stats = with_gpu()
    stats.gpu = NO_GPU
    assert text_of(stats, view) == "No GPU activity was recorded\n"


def test_a_timeline_that_was_full_or_missing_is_reported() -> None:
    full = (
        "The timeline was full: 4 records are in --gpu-summary alone;"
        " kernprof -l --gpu-events N keeps more"
    )
    for view in ("gpu-trace", "api-trace"):
        assert text_of(example(), view).split("\n")[-2] == full
        assert notes(example(), view, csv=True) == [full]
        assert notes(example(), view) == []
        without = text_of(with_gpu(timelines=(), runs=()), view)
        assert without == "The profile has no timeline; --gpu-summary shows the sums\n"


def test_kernels_can_be_chosen_by_mangled_and_demangled_names() -> None:
    for pattern in ("_Z4gemm*", "gemm(float*"):
        names = [row["Name"] for row in table(example(), "gpu-trace", kernel=pattern)]
        assert [name[:4] for name in names] == [
            "[CUD",
            "gemm",
            *["[CUD"] * 2,
            *["gemm"] * 2,
        ]
        rows = table(example(), "gpu-summary", kernel=pattern)
        gpu = [row["Name"][:4] for row in rows if row["Type"] == "GPU activities"]
        assert gpu == ["gemm", *["[CUD"] * 4]


def test_migrations_are_shown_unless_switched_off() -> None:
    one = GpuSum(0, NO_PATH, "migration", "HtoD", 0, 3, 5_000, 1, 2, 2_000_000)
    event = an_event(MIGRATION, ns=5_000, name=4, bytes=2_000_000, memory=0x35)
    stats = with_gpu(sums=(one,), timelines=(timeline_of(event),))
    for view in ("gpu-summary", "gpu-trace"):
        (row,) = table(stats, view)
        assert row["Name"] == "[Unified Memory Memcpy HtoD]"
        assert table(stats, view, uvm=False) == []
    assert (row["SrcMemType"], row["DstMemType"]) == ("Managed", "Device")


def test_only_work_of_a_device_is_an_activity() -> None:
    kinds = [KERNEL, MEMCPY, ALLOC, 4, 5, 6, 9, GRAPH, 77]
    rows = [an_event(kind, start=place) for place, kind in enumerate(kinds)]
    stats = with_gpu(timelines=(timeline_of(*rows),))
    names = [row["Name"] for row in table(stats, "gpu-trace")]
    assert names == ["[CUDA kernel]", "[CUDA memcpy ]", "[CUDA graph]"]
    assert [row["Start"] for row in table(stats, "api-trace")] == [
        "0.000004",
        "0.000005",
    ]


def test_names_are_escaped_and_break_no_row() -> None:
    bad = '\x1b[2J\x07\x9b\n\r\t\u202e"'
    sums = [
        GpuSum(0, NO_PATH, kind, f"{kind}{bad}", 0, 1, 5, 5, 5)
        for kind in ("kernel", "memcpy", "migration", "graph", "runtime")
    ]
    kinds = {"kernel": 1, "memcpy": 2, "migration": 7, "graph": 10, "runtime": 5}
    rows = [an_event(kind, name=place) for place, kind in enumerate(kinds.values())]
    timeline = replace(timeline_of(*rows), names=tuple(one.name for one in sums))
    devices = (GpuDevice(0, 0, f"H{bad}", 1, True),)
    stats = with_gpu(sums=tuple(sums), timelines=(timeline,), devices=devices)
    stats.processes = (PROCESS._replace(host=bad),)
    for view in GPU_VIEWS:
        for as_csv in (False, True):
            for line in lines(stats, view, csv=as_csv):
                assert not set("\x1b\x07\x9b\n\r\t\u202e") & set(line)
        assert any("\\x1b[2J" in row["Name"] for row in table(stats, view))
        assert all('"' in row["Name"] for row in table(stats, view))


def test_rows_are_in_order_of_their_start() -> None:
    starts = [float(row["Start"]) for row in table(example(), "gpu-trace")]
    assert starts == sorted(starts)
    assert starts[0] == 1.0


def test_processes_are_shown_one_after_the_other() -> None:
    first = timeline_of(an_event(KERNEL, name=1, start=7))
    second = timeline_of(an_event(KERNEL, name=2, start=-3 + 8), process=1)
    stats = with_gpu(timelines=(first, timeline_of(), second))
    stats.processes = (PROCESS, PROCESS._replace(pid=99, host="node-2", rank=3))
    text = text_of(stats, "gpu-trace").split("\n")
    assert text[0] == "Process 4711 on node-1:"
    assert text[3:5] == ["", "Process 99 on node-2, rank 3:"]
    assert text[5] == text[1]
    assert [row["Process"] for row in table(stats, "gpu-trace")] == ["4711", "99"]
    assert "  (0) " in text[6]  # a device that is not in the profile


def test_rows_are_generated_lazily() -> None:
    event = next(iter(example().gpu.timelines[0]))

    class Endless:
        process, count = 0, 10**18

        def __iter__(self) -> Iterator[GpuEvent]:
            while True:
                yield event

    stats = with_gpu(timelines=(Endless(),))
    for as_csv in (False, True):
        rows = islice(lines(stats, "gpu-trace", csv=as_csv), 1000)
        assert len(set(rows)) <= 3


def test_starts_before_the_origin_and_huge_numbers_are_shown() -> None:
    largest = 2**63 - 1
    columns = packed_columns([an_event(MEMCPY, name=4, ns=largest, bytes=largest)])
    columns["start"] = array("Q", [ORIGIN_NS - 1_500]).tobytes()
    timeline = replace(timeline_of(), count=1, batches=pack_events(columns))
    (row,) = table(with_gpu(timelines=(timeline,)), "gpu-trace")
    assert row["Start"] == "-0.001500"
    assert row["Size"] == str(largest)
    text = text_of(with_gpu(timelines=(timeline,)), "gpu-trace")
    assert text.split("\n")[1].startswith("-1.5000us ")


def test_occupancy_is_empty_if_the_device_is_unknown() -> None:
    rows = table(example(), "gpu-trace", occupancy=True)
    assert [row["Warps Per Block"] for row in rows] == [
        "",
        "8",
        "8",
        "8",
        "",
        "",
        "8",
        "",
    ]
    assert [row["Occupancy"] for row in rows[1:3]] == ["100.0", "12.5"]
    assert rows[-1]["Occupancy"] == ""


def test_a_thread_is_named_by_its_call_path_or_its_number() -> None:
    calls = [
        an_event(DRIVER, start=place, path=path + 1, thread=thread)
        for place, (path, thread) in enumerate(
            [(WORKER, 1), (IN_RELU, 1), (BACKWARD, 1), (NO_PATH, 4720), (NO_PATH, 2)]
        )
    ]
    rows = table(with_gpu(timelines=(timeline_of(*calls),)), "api-trace")
    names = [row["Thread"] for row in rows]
    assert names == ["uploader", "MainThread", "1", "uploader", "2"]


@pytest.mark.parametrize(
    ("name", "shown_as"),
    [
        ("cudaMemcpyAsync_v3020", "cudaMemcpyAsync"),
        ("cudaLaunchKernel_ptsz_v7000", "cudaLaunchKernel_ptsz"),
        ("cuMemAlloc_v2", "cuMemAlloc"),
        ("cuLaunchKernel", "cuLaunchKernel"),
        ("a_v", "a_v"),
        ("_v2", "_v2"),
        ("cu_void", "cu_void"),
        ("", ""),
    ],
)
def test_names_of_calls_have_no_version_suffix(name: str, shown_as: str) -> None:
    one = GpuSum(0, NO_PATH, "runtime", name, -1, 1, 5, 5, 5)
    (row,) = table(with_sums(one), "gpu-summary")
    assert row["Name"] == shown_as
    event = replace(timeline_of(an_event(DRIVER)), names=(name,))
    (row,) = table(with_gpu(timelines=(event,)), "api-trace")
    assert row["Name"] == shown_as


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0ns"),
        (999, "999ns"),
        (999.6, "1000ns"),
        (1_000, "1.0000us"),
        (12_039, "12.039us"),
        (135_780, "135.78us"),
        (3_703_700, "3.7037ms"),
        (1_243_410_000, "1.24341s"),
        (86_400 * 10**9, "86400.000s"),
        (-1_500, "-1.5000us"),
    ],
)
def test_times_are_formatted_like_those_of_nvprof(ns: float, text: str) -> None:
    assert time_text(ns) == text


def test_sizes_and_rates_are_formatted_like_those_of_nvprof() -> None:
    sizes = [0, 4, 999, 8_192, 409_600, 33_554_432, 5 * 10**9, 7 * 10**12]
    assert [size_text(size) for size in sizes] == [
        *("0B", "4B", "999B", "8.1920KB", "409.60KB", "33.554MB"),
        *("5.0000GB", "7.0000TB"),
    ]
    assert rate_text(409_600, 135_780) == "3.0166GB/s"


def test_csv_is_exact() -> None:
    assert milliseconds(9_007_199_254_740_991) == "9007199254.740991"
    assert microseconds(1) == "0.001"
    assert quoted('a "b"') == '"a ""b"""'


def test_the_gpu_views_are_like_other_views() -> None:
    for name in GPU_VIEWS:
        assert {option.attribute for option in VIEWS[name].options} >= {"csv"}
    assert Gpu() == NO_GPU
    assert EVIL in {one.name for one in SUMS}


def test_views_of_gpu_work_have_limits() -> None:
    for view, text in (
        ("gpu-summary", " more"),
        ("gpu-trace", "the first 2 rows"),
    ):
        whole = text_of(example(), view).splitlines()
        part = text_of(example(), view, limit=2).splitlines()
        assert len(part) < len(whole)
        assert any(text in line for line in part)
        rows = [line for line in part if text not in line]
        assert set(rows) <= set(whole)
    csv = text_of(example(), "gpu-trace", limit=2, csv=True).splitlines()
    assert len(csv) == 4  # with titles and units
    assert csv == text_of(example(), "gpu-trace", csv=True).splitlines()[:4]
    shares = text_of(example(), "gpu-summary", min_percent=50.0).splitlines()
    assert len(shares) < len(text_of(example(), "gpu-summary").splitlines())
