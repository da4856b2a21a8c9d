"""The GPU fields of --json, as docs/json.md describes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import example_gpu
import example_stats
from example_gpu import FIT, QUIET, UPLOAD
from view_text import lines_of

from lineprof.line_stats import LineStats
from lineprof.model.gpu import NO_DEVICE, NO_PATH, Gpu, GpuRun, GpuSum

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lineprof.model.records import Key


def shown(stats: LineStats, **options: bool) -> Any:
    lines = lines_of(stats, "json", **options)
    assert not any("\n" in line for line in lines)
    return json.loads("\n".join(lines))


def documented(names: Iterable[str]) -> list[str]:
    text = (Path(__file__).parents[2] / "docs" / "json.md").read_text(encoding="utf-8")
    return [name for name in names if f"`{name}`" not in text]


def function(profile: Any, key: Key) -> Any:
    return next(one for one in profile["functions"] if one["name"] == key[2])


def line(profile: Any, key: Key, number: int) -> Any:
    lines = function(profile, key)["lines"]
    return next(one for one in lines if one["line"] == number)


def test_every_field_is_documented() -> None:
    profile = shown(example_gpu.example())
    assert list(profile)[-2:] == ["warnings", "gpu"]
    gpu = profile["gpu"]
    for part in (
        *(profile, gpu, gpu["devices"][0], gpu["runs"][0], gpu["totals"]),
        *(gpu["unattributed"], function(profile, FIT), line(profile, FIT, 34)),
    ):
        assert documented(part) == []


def test_a_line_and_a_function_have_their_gpu_fields() -> None:
    profile = shown(example_gpu.example())
    assert line(profile, UPLOAD, 8) == {
        "line": 8,
        "hits": 12,
        "time_ns": 1_080_000,
        "await_ns": 0,
        "raw_ns": 1_081_200,
        "gpu_ns": 0,
        "gpu_self_ns": 0,
        "gpu_adopted_ns": 0,
        "kernels": 0,
        "max_kernel_ns": 0,
        "memsets": 0,
        "memset_ns": 0,
        "memcpy_ns": 840_000,
        "memcpy_bytes": 50_331_648,
        "memcpy_ns_by_direction": {"HtoD": 840_000},
        "memcpy_bytes_by_direction": {"HtoD": 50_331_648},
        "waits": 0,
        "wait_ns": 0,
        "load_ns": 0,
        "alloc_bytes": 0,
        "free_bytes": 0,
        "migration_ns": 0,
        "migration_bytes": 0,
        "source": '    batch = batch.to("cuda", non_blocking=True)',
    }
    fit = function(profile, FIT)
    assert (fit["gpu_ns"], fit["gpu_self_ns"]) == (12_200_000, 4_000_000)
    assert fit["gpu_adopted_ns"] == line(profile, FIT, 35)["gpu_ns"] == 3_000_000
    assert line(profile, FIT, 36)["wait_ns"] == 4_100_000


def test_lines_and_functions_without_gpu_data_have_no_gpu_fields() -> None:
    profile = shown(example_gpu.example())
    usual = {"line", "hits", "time_ns", "await_ns", "raw_ns", "source"}
    assert set(line(profile, FIT, 33)) == usual
    assert "gpu_ns" not in function(profile, QUIET)


def test_a_line_with_gpu_data_alone_is_in_order() -> None:
    profile = shown(example_gpu.example())
    found = line(profile, UPLOAD, 9)
    assert (found["hits"], found["time_ns"], found["gpu_ns"]) == (0, 0, 50_000)
    assert [one["line"] for one in function(profile, UPLOAD)["lines"]] == [7, 8, 9, 10]


def test_functions_with_gpu_data_alone_are_not_left_out() -> None:
    stats = example_gpu.example()
    stats.functions = tuple(
        type(one)(one.file, one.name, one.line, ()) for one in stats.functions
    )
    names = [one["name"] for one in shown(stats, skip_zero=True)["functions"]]
    assert names == ["upload", "tree", "step", "fit"]


def test_self_times_and_unattributed_time_add_up_to_the_total() -> None:
    profile = shown(example_gpu.example())
    own = sum(
        one.get("gpu_self_ns", 0) for of in profile["functions"] for one in of["lines"]
    )
    gpu = profile["gpu"]
    assert own + gpu["unattributed_ns"] == gpu["total_ns"] == 12_502_000
    assert gpu["unattributed"]["gpu_ns"] == gpu["unattributed_ns"]
    assert gpu["totals"]["memcpy_ns"] == 900_000


def test_runs_and_devices_have_all_fields() -> None:
    gpu = shown(example_gpu.example())["gpu"]
    assert gpu["busy_ns"] == 11_000_000
    lost = [gpu[name] for name in ("dropped", "invalid", "outstanding", "left_out")]
    assert lost == [2, 1, 3, 4]
    assert gpu["devices"][0]["attributes"]["sms"] == 132
    assert gpu["devices"][1] == {
        "process": 0,
        "device": 1,
        "name": "NVIDIA L4",
        "busy_ns": 1_100_000,
        "busy_exact": False,
        "attributes": {},
    }
    (run,) = gpu["runs"]
    assert (run["backend"], run["present"], run["version"]) == ("cupti", True, 130001)


def test_a_profile_without_gpu_data_has_no_gpu_fields() -> None:
    assert "gpu" not in shown(example_stats.example())
    assert "gpu" not in shown(example_gpu.without_gpu())


def test_a_gpu_that_could_not_be_measured_is_reported() -> None:
    stats = example_stats.example()
    for run in (GpuRun(0, "none", "why", True), GpuRun(0, "nvtx", "why", False)):
        stats.gpu = Gpu(runs=(run,))
        gpu = shown(stats)["gpu"]
        assert gpu["runs"] == [run._asdict()]
        assert (gpu["total_ns"], gpu["devices"]) == (0, [])


def test_raw_times_have_the_same_gpu_data() -> None:
    stats = example_gpu.example()
    assert shown(stats, raw=True)["gpu"] == shown(stats)["gpu"]
    assert line(shown(stats, raw=True), FIT, 34)["gpu_ns"] == 8_150_000


def test_big_and_odd_values_are_valid_json() -> None:
    big = GpuSum(NO_PATH, NO_PATH, "memcpy", "\udcff\x1b", NO_DEVICE, 1, 2**70, 0, 0, 1)
    stats = LineStats.from_functions([], gpu=Gpu(sums=(big,)))
    gpu = shown(stats)["gpu"]
    assert gpu["totals"]["memcpy_ns_by_direction"] == {"\udcff\x1b": 2**70}
